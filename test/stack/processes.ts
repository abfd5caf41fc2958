import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createWriteStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { guard, release } from './watchdog.ts';

export interface ProcessOptions {
  /** What failure messages call it. */
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** True for the line of output that shows it is ready. Left out: ready at once. */
  readonly ready?: (line: string) => boolean;
  readonly readyWithinMs?: number;
  /** Also write all output to this file. */
  readonly logFile?: string;
  /** Called for each line of output. */
  readonly onLine?: (line: string) => void;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface SupervisedProcess {
  readonly pid: number;
  /** The last lines of output, for failure messages. */
  output(): string;
  /** Resolves when it has ended, for whatever reason. */
  readonly exited: Promise<Exit>;
  isRunning(): boolean;
  /** SIGTERM, and SIGKILL after the grace. */
  stop(graceMs?: number): Promise<void>;
  /** SIGKILL: nothing of it runs any more when this resolves. */
  kill(): Promise<void>;
  /** A `SIGSTOP` has taken effect when this returns. */
  signal(signal: NodeJS.Signals): void;
}

const keptLines = 200;
const children = new Set<ChildProcessWithoutNullStreams>();

/** Starts a child that never outlives this process and waits until it is ready. */
export async function startProcess(options: ProcessOptions): Promise<SupervisedProcess> {
  endChildrenWithUs();
  const child = spawn(options.command, options.args ?? [], {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined); // a child that ends closes its input first
  const lines: string[] = [];
  const process_ = supervise(child, lines);
  const ready = collect(child, lines, options);
  await spawned(child, options.name);
  await becomeReady(options, ready, process_);
  return process_;
}

async function spawned(child: ChildProcessWithoutNullStreams, name: string): Promise<void> {
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw new Error(`${name} could not be started.`, { cause: error });
  }
}

function supervise(child: ChildProcessWithoutNullStreams, lines: readonly string[]): SupervisedProcess {
  const closed = once(child, 'close').catch(() => undefined);
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      children.delete(child);
      if (child.pid !== undefined) release(child.pid);
      // Its last words come with `close`, unless a child of its own keeps the pipe.
      void Promise.race([closed, sleep(500, undefined, { ref: false })]).then(() => resolve({ code, signal }));
    });
  });
  if (child.pid !== undefined) {
    children.add(child);
    guard(child.pid);
  }
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return {
    pid: child.pid ?? 0,
    output: () => lines.join('\n'),
    exited,
    isRunning,
    kill,
    signal(signal) {
      child.kill(signal);
      if (signal === 'SIGSTOP' && child.pid !== undefined) untilStopped(child.pid);
    },
    async stop(graceMs = 5_000) {
      child.kill('SIGTERM');
      const grace = new AbortController();
      const ended = await Promise.race([
        exited.then(() => true),
        sleep(graceMs, false, { signal: grace.signal }).catch(() => false),
      ]);
      grace.abort();
      if (!ended) await kill();
    },
  };
}

/** Keeps the last lines and resolves when the ready line has come. */
function collect(child: ChildProcessWithoutNullStreams, lines: string[], options: ProcessOptions): Promise<void> {
  const log = options.logFile === undefined ? undefined : createWriteStream(options.logFile, { flags: 'a' });
  child.once('close', () => log?.end());
  return new Promise((resolve) => {
    if (!options.ready) resolve();
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        if (lines.length > keptLines) lines.shift();
        log?.write(`${line}\n`);
        options.onLine?.(line);
        if (options.ready?.(line)) resolve();
      });
    }
  });
}

async function becomeReady(options: ProcessOptions, ready: Promise<void>, child: SupervisedProcess): Promise<void> {
  const withinMs = options.readyWithinMs ?? 30_000;
  const timer = new AbortController();
  const failure = await Promise.race([
    ready.then(() => undefined),
    child.exited.then(({ code, signal }) => `ended with ${signal ?? `code ${code ?? '?'}`} before it was ready`),
    sleep(withinMs, `was not ready within ${withinMs} ms`, { signal: timer.signal }).catch(() => undefined),
  ]);
  timer.abort();
  if (failure === undefined) return;
  await child.kill();
  throw new Error(`${options.name} ${failure}. Its last output:\n${child.output()}`);
}

let isWatching = false;

/** A signal takes a moment to reach every thread: until then some may still answer. Where there is no `/proc`, nobody knows. */
function untilStopped(pid: number): void {
  const until = Date.now() + 2_000;
  const isStopped = (task: string): boolean =>
    /\) [TtXZ] /.test(readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8'));
  while (Date.now() < until) {
    try {
      if (readdirSync(`/proc/${pid}/task`).every(isStopped)) return;
    } catch {
      // Gone, or a thread that ended in between.
      if (!existsSync(`/proc/${pid}`)) return;
    }
  }
}

/** Children end with us, whether we end by ourselves or by a signal (the watchdog covers SIGKILL). */
function endChildrenWithUs(): void {
  if (isWatching) return;
  isWatching = true;
  const killAll = (): void => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.on('exit', killAll);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const onSignal = (): void => {
      if (process.listenerCount(signal) > 1) return; // somebody else decides what this signal means
      killAll();
      process.off(signal, onSignal);
      process.kill(process.pid, signal);
    };
    process.on(signal, onSignal);
  }
}

/** A port on loopback that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No free port on loopback.');
  return address.port;
}
