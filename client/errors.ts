import { exitCodes, type ExitCode, type ExitName } from './exit-codes.ts';

/** The parts of an error message in the order they are shown. Every part is a sentence or a command, without secrets. */
export interface ErrorParts {
  readonly exit: ExitName | ExitCode;
  /** Stable word for scripts, upper case with underscores. */
  readonly reason: string;
  /** What was attempted, on what, and what happened. */
  readonly message: string;
  /** The cause, in the words of the part that reported it. */
  readonly why?: string | undefined;
  /** What it means now: what was changed and what wasn't. */
  readonly state?: string | undefined;
  /** Commands ready to paste, or one sentence. */
  readonly next?: string | readonly string[] | undefined;
  readonly link?: string | undefined;
  readonly cause?: unknown;
}

/** The one error of the command line: it knows its exit code and what the person does next. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exit: ExitCode;
  readonly reason: string;
  readonly why: string | undefined;
  readonly state: string | undefined;
  readonly next: readonly string[];
  readonly link: string | undefined;

  constructor(parts: ErrorParts) {
    super(parts.message, { cause: parts.cause });
    this.exit = typeof parts.exit === 'number' ? parts.exit : exitCodes[parts.exit].code;
    this.reason = parts.reason;
    this.why = parts.why;
    this.state = parts.state;
    this.next = typeof parts.next === 'string' ? [parts.next] : (parts.next ?? []);
    this.link = parts.link;
  }

  /** The same error with more parts, for a caller that knows more about what was attempted. */
  with(more: Partial<ErrorParts>): CliError {
    return new CliError({
      exit: this.exit,
      reason: this.reason,
      message: this.message,
      why: this.why,
      state: this.state,
      next: this.next,
      link: this.link,
      cause: this.cause ?? this,
      ...more,
    });
  }
}

/** Wrong usage: exit 2. */
export function usageError(message: string, next?: string | readonly string[], reason = 'USAGE'): CliError {
  return new CliError({ exit: 'usage', reason, message, next });
}

/** One way in for everything that is thrown. */
export function toCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CliError({
    exit: 'failed',
    reason: 'UNEXPECTED',
    message: `unexpected error: ${message}`,
    next: 'run the same command with --debug to see where it happened',
    cause: error,
  });
}
