import type { ExitCode } from './exit-codes.ts';
import type { Gateway } from './gateway.ts';
import type { Settings } from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A stream of the process, as narrow as it is needed. */
export interface Sink {
  readonly isTTY: boolean;
  /** Width of the terminal, when it is one. */
  readonly columns?: number | undefined;
  write(text: string): void;
}

/** Everything of the process that commands touch, so that tests can be one. */
export interface Runtime {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: Environment;
  readonly cwd: string;
  /** Whether a question can be asked and answered. */
  readonly canAsk: boolean;
  readonly now: () => Date;
  /** Who is at the keyboard; written into requests and decisions. */
  readonly user: () => string;
  /** A random word; tells two calls of the same command apart. */
  readonly random: () => string;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Asks one line on the terminal. */
  readonly ask: (question: string) => Promise<string>;
  /** Reads a file, or standard input for `-`. */
  readonly readText: (path: string) => Promise<string>;
  /** Makes the file anew with this text, or replaces what it held. */
  readonly writeText: (path: string, text: string) => Promise<void>;
  /** Runs a command, `template update` for example, so that the trace of it, where one is wanted, begins here. */
  readonly trace: (command: string, run: () => Promise<ExitCode>) => Promise<ExitCode>;
  readonly connect: (settings: Settings) => Promise<Gateway>;
  /** HTTP status of a URL; rejects when nothing answers. */
  readonly httpStatus: (url: string, timeoutMs: number) => Promise<number>;
  readonly openBrowser: (url: string) => Promise<void>;
  /** Aborts at the first Ctrl-C while something is followed; the second one ends the process at once. */
  readonly onInterrupt: () => { readonly signal: AbortSignal; readonly dispose: () => void };
}
