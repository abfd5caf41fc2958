import assert from 'node:assert/strict';
import { errorSchema, outputSchema, type OutputKind } from '../../../client/output/schemas.ts';
import { nouns } from '../../../client/nouns.ts';
import { run } from '../../../client/program.ts';
import type { Runtime, Sink } from '../../../client/runtime.ts';
import { FakeGateway } from './fake-gateway.ts';
import { checkPrinted } from './printed-kinds.ts';

// Times of day are shown in local time.
process.env['TZ'] = 'UTC';

/** The time of every test: 13:20 UTC. */
export const now = '2026-03-01T13:20:00.000Z';

export interface CliResult {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly gateway?: FakeGateway;
  readonly runtime?: Partial<Runtime>;
  readonly env?: Readonly<Record<string, string>>;
  readonly isTerminal?: boolean;
}

class Captured implements Sink {
  text = '';
  readonly isTTY: boolean;
  readonly columns: number | undefined;

  constructor(isTTY: boolean) {
    this.isTTY = isTTY;
    this.columns = isTTY ? 100 : undefined;
  }

  write(text: string): void {
    this.text += text;
  }
}

/**
 * Runs one command line against a fake Temporal. Not a terminal unless asked for; the clock only moves in sleeps. Fails when what it
 * prints is not as published.
 */
export async function runCli(argv: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const isTerminal = options.isTerminal ?? false;
  const stdout = new Captured(isTerminal);
  const stderr = new Captured(isTerminal);
  let command = '';
  let clock = Date.parse(now);
  const runtime: Runtime = {
    stdout,
    stderr,
    env: { HOME: '/nonexistent', ...options.env },
    cwd: '/home/op',
    canAsk: isTerminal,
    now: () => new Date(clock),
    user: () => 'op',
    random: () => 'r4nd0m',
    sleep: (ms) => {
      clock += ms;
      return Promise.resolve();
    },
    ask: () => Promise.resolve(''),
    readText: (path) => Promise.reject(new Error(`ENOENT: ${path}`)),
    writeText: (path) => Promise.reject(new Error(`EACCES: ${path}`)),
    trace: (name, run) => {
      command = name;
      return run();
    },
    connect: () => Promise.resolve(options.gateway ?? new FakeGateway()),
    httpStatus: () => Promise.resolve(200),
    openBrowser: () => Promise.resolve(),
    onInterrupt: () => ({ signal: new AbortController().signal, dispose: () => undefined }),
    ...options.runtime,
  };
  const exit = await run(argv, nouns, runtime);
  const result = { exit, stdout: stdout.text, stderr: stderr.text };
  checkPrinted(argv, result, runtime, command);
  return result;
}

/** The one JSON document on standard output, checked against the published schema of its kind. */
export function documentOf(result: CliResult, kind: OutputKind): Record<string, unknown> {
  const document = JSON.parse(result.stdout) as Record<string, unknown>;
  const checked = outputSchema(kind).safeParse(document);
  assert.ok(checked.success, checked.error?.message);
  return document;
}

/** The error document on standard error, checked; nothing may be on standard output. */
export function errorOf(result: CliResult): { code: number; reason: string; message: string; hint?: string } {
  assert.equal(result.stdout, '');
  const last = result.stderr.trimEnd().split('\n').at(-1) ?? '';
  const { error } = errorSchema.parse(JSON.parse(last));
  assert.equal(error.code, result.exit);
  return error as { code: number; reason: string; message: string; hint?: string };
}

/** Text without the blanks of a template literal: leading newline and common indent. */
export function block(text: string): string {
  const lines = text
    .replace(/^\n/, '')
    .replace(/\n\s*$/, '\n')
    .split('\n');
  const indent = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return lines.map((line) => line.slice(indent)).join('\n');
}
