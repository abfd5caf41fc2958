import type { ProgramProblem } from './protocol.ts';

/** A program that is wrong, or did something wrong. Line and column from 1, where known. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError';
  /** The reason alone. */
  readonly problem: ProgramProblem;

  constructor(problem: ProgramProblem) {
    const { message, line, column } = problem;
    const at = line === undefined ? '' : ` (line ${line}${column === undefined ? '' : `, column ${column}`})`;
    super(`${message}${at}`);
    this.problem = problem;
  }
}
