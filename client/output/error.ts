import type { CliError } from '../errors.ts';
import type { OutputFormat } from '../global-flags.ts';
import type { Paint } from './colors.ts';

/**
 * An error for standard error: as one JSON document with a machine-readable output, else as one screen of text in the
 * order what happened, why, what it means, what to do next, where to look.
 */
export function formatError(error: CliError, output: OutputFormat, paint: Paint, debug: boolean): string {
  if (output === 'json' || output === 'jsonl') return `${JSON.stringify({ error: errorDocument(error) })}\n`;
  const parts: [string, string | undefined][] = [
    ['why', error.why],
    ['state', error.state],
    ...error.next.map((next, i): [string, string] => [i === 0 ? 'next' : '', next]),
    ['link', error.link],
  ];
  const lines = [
    `${paint.red(paint.bold('error:'))} ${error.message}`,
    ...parts.flatMap(([label, text]) => (text === undefined ? [] : [labelled(label, text, paint)])),
  ];
  if (debug) lines.push('', stackOf(error));
  return `${lines.join('\n')}\n`;
}

/** The document of `-o json`: `{"error": …}` on standard error. */
export interface ErrorDocument {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly hint?: string;
  readonly link?: string;
}

function errorDocument(error: CliError): ErrorDocument {
  const message = [error.message, error.why, error.state].filter((part) => part !== undefined).join('; ');
  return {
    code: error.exit,
    reason: error.reason,
    message,
    ...(error.next.length === 0 ? {} : { hint: error.next.join('\n') }),
    ...(error.link === undefined ? {} : { link: error.link }),
  };
}

/** `  why     text`, further lines indented below. */
export function labelled(label: string, text: string, paint: Paint): string {
  return `  ${paint.dim(label.padEnd(8))}${text.replaceAll('\n', `\n${' '.repeat(10)}`)}`;
}

function stackOf(error: Error): string {
  const stack = error.stack ?? error.message;
  return error.cause instanceof Error ? `${stack}\ncaused by: ${stackOf(error.cause)}` : stack;
}
