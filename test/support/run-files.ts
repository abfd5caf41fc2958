import { execFile } from 'node:child_process';
import { relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { promisify } from 'node:util';
import {
  createTally,
  filesToRunAgain,
  isRandomRun,
  mostSecondChances,
  passedOnlyAgain,
  settled,
  type FileOutcome,
  type Outcomes,
  type Totals,
} from './second-chances.ts';

const budgets = {
  /** A crash scenario with its heartbeat time-outs takes a minute or two; a test that takes this long hangs. */
  testMs: 5 * 60_000,
  /** A file with a dozen of these takes minutes; one that takes this long blocks its own event loop. */
  fileMs: 20 * 60_000,
  /** Stopping servers takes seconds; a file whose tests have been over for this long has left something open. */
  lingerMs: 60_000,
  /** Files at once: more only makes the machine's two cores the bottleneck of every wait. */
  files: 2,
} as const;

type Stream = ReturnType<typeof run>;

/** How a run ended, and what is to be said about it at the very end. */
export interface RunResult {
  readonly totals: Totals;
  readonly remarks: readonly string[];
}

/**
 * Runs test files (paths relative to the working directory) and prints what they report. A file with failures is run once more
 * when all others have ended, so with nothing beside it, and that counts; what random tests find counts at once.
 */
export async function runFiles(files: readonly string[], titles: readonly RegExp[]): Promise<RunResult> {
  const first = await runOnce(files, titles, budgets.files);
  const failed = [...first].filter(([file, outcome]) => outcome.failed > 0 && !isRandomRun(file));
  if (failed.length > mostSecondChances)
    console.log(`${failed.length} files have failures: too many for an accident, none is run again.`);
  const again = new Map<string, FileOutcome>();
  for (const file of filesToRunAgain(first)) {
    console.log(`\nrun again, alone: ${file}`);
    for (const entry of await runOnce([file], titles, 1)) again.set(...entry);
  }
  return { totals: settled(first, again), remarks: passedOnlyAgain(first, again) };
}

async function runOnce(files: readonly string[], titles: readonly RegExp[], concurrency: number): Promise<Outcomes> {
  const tally = createTally(files);
  if (files.length === 0) return tally.outcomes();
  const stream = run({
    files: files.map((file) => resolve(file)),
    concurrency,
    timeout: budgets.testMs,
    ...(titles.length > 0 ? { testNamePatterns: titles } : {}),
  });
  const nameOf = (name: string): string => (files.includes(fromHere(name)) ? fromHere(name) : name);
  stream.on('test:pass', (data) => {
    const { name, details, skip, todo } = data;
    const isSkipped = skip !== undefined || todo !== undefined;
    tally.add(fileOf(data), { name: nameOf(name), isSuite: details.type === 'suite', isSkipped });
  });
  stream.on('test:fail', (data) => {
    const { name, details, todo } = data;
    const { error, type } = details;
    const failureType = 'failureType' in error ? String(error.failureType) : 'unknown';
    tally.add(fileOf(data), {
      name: nameOf(name),
      isSuite: type === 'suite',
      isSkipped: todo !== undefined,
      failureType,
    });
  });
  killOverdue(stream, files);
  for await (const line of stream.compose(spec)) process.stdout.write(String(line));
  return tally.outcomes();
}

const fromHere = (path: string): string => relative(process.cwd(), path);

/** The test file that is run; `file` is where a test is written down, which may be a module that the file imports. */
function fileOf(data: { readonly file?: string | undefined; readonly entryFile?: unknown }): string {
  return fromHere(typeof data.entryFile === 'string' ? data.entryFile : (data.file ?? ''));
}

/** Node limits the time of tests only: a file that never ends, by a busy loop or by what it left open, is ended here. */
function killOverdue(stream: Stream, files: readonly string[]): void {
  const isFile = (name: string): boolean => files.includes(fromHere(name));
  const ends = new Map<string, NodeJS.Timeout>();
  const lingers = new Map<string, NodeJS.Timeout>();
  const open = new Map<string, number>();
  stream.on('test:dequeue', (data) => {
    const file = fileOf(data);
    if (isFile(data.name)) {
      ends.set(file, killAfter(file, budgets.fileMs, `is not done after ${budgets.fileMs / 60_000} minutes`));
    } else {
      open.set(file, (open.get(file) ?? 0) + 1);
      clearTimeout(lingers.get(file));
    }
  });
  stream.on('test:complete', (data) => {
    const file = fileOf(data);
    if (isFile(data.name)) {
      clearTimeout(ends.get(file));
      clearTimeout(lingers.get(file));
    } else {
      const left = (open.get(file) ?? 0) - 1;
      open.set(file, left);
      if (left === 0) {
        const why = `doesn't end although its tests have: it left a connection, timer or server open`;
        lingers.set(file, killAfter(file, budgets.lingerMs, why));
      }
    }
  });
}

function killAfter(file: string, ms: number, why: string): NodeJS.Timeout {
  return setTimeout(() => void killFile(file, why), ms);
}

async function killFile(file: string, why: string): Promise<void> {
  console.error(`${file} ${why}. It is killed.`);
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']);
  for (const line of stdout.split('\n')) {
    const [, pid, parent, args = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    if (Number(parent) === process.pid && args.endsWith(resolve(file))) process.kill(Number(pid), 'SIGKILL');
  }
}
