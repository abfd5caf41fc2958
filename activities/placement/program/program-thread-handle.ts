import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { stopwatch } from '../stopwatch.ts';
import { limits } from './limits.ts';
import { ProgramError } from './program-error.ts';
import type { ProgramCall, ProgramResult, ThreadMessage } from './protocol.ts';

/** TypeScript where this file is, JavaScript where it was built. */
const file = new URL(`./program-thread${extname(import.meta.url)}`, import.meta.url);

/** The thread of the interpreter, seen from outside. */
export class ProgramThread {
  readonly #worker: Worker;
  readonly #ready: Promise<void>;
  #hear: (message: ThreadMessage) => void = () => undefined;
  #fail: (cause: Error) => void = () => undefined;
  #isGone = false;

  constructor() {
    this.#worker = new Worker(file, {
      name: 'placement-program',
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: limits.threadHeapMb, stackSizeMb: limits.threadStackMb },
    });
    this.#worker.on('message', (message: ThreadMessage) => this.#hear(message));
    this.#worker.on('error', (cause) => this.#lose(cause instanceof Error ? cause : new Error(String(cause))));
    this.#worker.on('exit', (code) =>
      this.#lose(new Error(`the thread of placement programs ended with code ${code}`)),
    );
    this.#ready = this.#start();
  }

  /** It can't run another program. */
  get isGone(): boolean {
    return this.#isGone;
  }

  async run(call: ProgramCall): Promise<ProgramResult> {
    // A process may end while nothing runs, but not in the middle of a program.
    this.#worker.ref();
    try {
      await this.#ready;
      return await this.#result(call);
    } finally {
      this.#worker.unref();
    }
  }

  async end(): Promise<void> {
    this.#isGone = true;
    await this.#worker.terminate();
  }

  async #start(): Promise<void> {
    let late: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const problem = `the thread of placement programs is not ready after ${limits.startMs} ms`;
        late = setTimeout(() => reject(new Error(problem)), limits.startMs);
        this.#hear = () => resolve();
        this.#fail = reject;
      });
    } catch (err) {
      void this.end();
      throw err;
    } finally {
      clearTimeout(late);
    }
  }

  async #result(call: ProgramCall): Promise<ProgramResult> {
    let watch: NodeJS.Timeout | undefined;
    try {
      return await new Promise<ProgramResult>((resolve, reject) => {
        this.#fail = (cause) => reject(new ProgramError({ message: `it broke the interpreter: ${cause.message}` }));
        this.#hear = (message) => {
          if (message.kind === 'begun') watch = this.#endWhenLate(reject);
          else if (message.kind === 'done') resolve(message.result);
          else if (message.kind === 'failed') reject(new ProgramError(message.problem));
          else if (message.kind === 'broken') this.#lose(new Error(message.message));
        };
        this.#worker.postMessage(call);
      });
    } finally {
      clearInterval(watch);
    }
  }

  /** For what the interpreter can't interrupt. */
  #endWhenLate(reject: (err: Error) => void): NodeJS.Timeout {
    const spentMs = stopwatch();
    return setInterval(() => {
      if (spentMs() < limits.terminateMs) return;
      reject(new ProgramError({ message: `it took longer than ${limits.timeMs} ms` }));
      void this.end();
    }, limits.terminateMs / 4);
  }

  #lose(cause: Error): void {
    this.#fail(cause);
    if (!this.#isGone) void this.end();
  }
}
