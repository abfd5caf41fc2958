import type { Choice, Placeable } from '../choice.ts';

/** One run of a program. Without arguments it is only loaded, and looked at for its function. */
export interface ProgramCall {
  readonly source: string;
  readonly input?: ProgramInput;
}

export interface ProgramInput {
  /** What its calls may name. */
  readonly placeable: Placeable;
  /** Arguments of `placement`, each as JSON. */
  readonly args: readonly string[];
}

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly text: string;
}

export interface ProgramResult {
  /** In the order in which they were made. */
  readonly choices: readonly Choice[];
  readonly log: readonly LogLine[];
}

/** What is wrong with a program, and where in it if that is known, from 1. */
export interface ProgramProblem {
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

/** From the thread. `broken`: it ended otherwise than in the program's language, and the thread can't be used any more. */
export type ThreadMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'begun' }
  | { readonly kind: 'done'; readonly result: ProgramResult }
  | { readonly kind: 'failed'; readonly problem: ProgramProblem }
  | { readonly kind: 'broken'; readonly message: string };
