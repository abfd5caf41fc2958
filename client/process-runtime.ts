import { userInfo } from 'node:os';
import { isTracingWanted } from '../activities/tracing/wanted.ts';
import type { Runtime, Sink } from './runtime.ts';

/** The runtime of the real process. Modules that only some commands need are loaded when they do. */
export function processRuntime(): Runtime {
  return {
    stdout: sink(process.stdout),
    stderr: sink(process.stderr),
    env: process.env,
    cwd: process.cwd(),
    canAsk: process.stdin.isTTY && process.stderr.isTTY,
    now: () => new Date(),
    user,
    random: () => crypto.randomUUID(),
    sleep,
    ask,
    readText,
    writeText: async (path, text) => (await import('node:fs/promises')).writeFile(path, text),
    trace: async (command, run) =>
      isTracingWanted(process.env) ? (await import('./command-span.ts')).inCommandSpan(command, run) : run(),
    connect: async (settings) => (await import('./connection.ts')).connect(settings, process.env, user()),
    httpStatus: async (url, timeoutMs) => {
      const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs), redirect: 'manual' });
      await response.body?.cancel();
      return response.status;
    },
    openBrowser,
    onInterrupt,
  };
}

function user(): string {
  return process.env.VMFLOW_USER ?? userInfo().username;
}

/** A reader that goes away (`| head`) ends the program quietly, as in any pipeline. */
function sink(stream: NodeJS.WriteStream): Sink {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  return {
    isTTY: stream.isTTY,
    get columns() {
      return stream.isTTY ? stream.columns : undefined;
    },
    write: (text) => void stream.write(text),
  };
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const { setTimeout: wait } = await import('node:timers/promises');
  await wait(ms, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
    if (signal?.aborted !== true) throw error;
  });
}

async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

async function readText(path: string): Promise<string> {
  if (path !== '-') return (await import('node:fs/promises')).readFile(path, 'utf8');
  const { text } = await import('node:stream/consumers');
  return text(process.stdin);
}

async function openBrowser(url: string): Promise<void> {
  const { spawn } = await import('node:child_process');
  const command = process.platform === 'darwin' ? 'open' : process.platform === 'win32' ? 'explorer' : 'xdg-open';
  await new Promise<void>((resolve, reject) => {
    const child = spawn(command, [url], { stdio: 'ignore', detached: true });
    child.once('error', reject);
    child.once('spawn', () => {
      child.unref();
      resolve();
    });
  });
}

function onInterrupt(): { signal: AbortSignal; dispose: () => void } {
  const controller = new AbortController();
  const handler = (): void => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
  };
  process.on('SIGINT', handler);
  return { signal: controller.signal, dispose: () => void process.off('SIGINT', handler) };
}
