import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess, type Exit, type SupervisedProcess } from '../../stack/processes.ts';

export interface NativeCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly restart: 'unless-stopped' | 'on-failure';
  readonly prepare: () => Promise<void>;
}

/** Docker waits before a restart: 100 ms, and twice as long each time until a minute. */
const firstPauseMs = 100;
const longestPauseMs = 60_000;
/** What ran for so long starts again after the first pause. */
const stableMs = 10_000;

/** A program in place of a container: started again as its restart policy says. */
export class NativeService {
  /** True when it has ended well and is not started again, false when it was stopped. */
  readonly completed: Promise<boolean>;
  readonly #command: NativeCommand;
  #process: SupervisedProcess | undefined;
  #isStopping = false;
  #tellStopped = (): void => undefined;
  readonly #stopped = new Promise<void>((resolve) => (this.#tellStopped = resolve));
  #starts = 0;
  #held: Promise<void> = Promise.resolve();

  constructor(command: NativeCommand) {
    this.#command = command;
    this.completed = this.#run();
  }

  /** How often it was started. */
  get starts(): number {
    return this.#starts;
  }

  output(): string {
    return this.#process?.output() ?? '';
  }

  /** SIGKILL of everything in it, as `docker kill`. It is started again when `until` resolves. */
  async kill(until: Promise<void> = Promise.resolve()): Promise<void> {
    this.#held = until;
    const running = this.#process;
    if (running === undefined) throw new Error(`${this.#command.name} is not running.`);
    const inside = descendants(running.pid);
    await running.kill();
    for (const pid of inside) killIfThere(pid);
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    this.#tellStopped();
    await this.#process?.stop(graceMs);
    await this.completed;
  }

  async #run(): Promise<boolean> {
    let pauseMs = firstPauseMs;
    while (!this.#isStopping) {
      const startedAt = performance.now();
      const { code } = await this.#runOnce();
      if (code === 0 && this.#command.restart === 'on-failure') return true;
      await Promise.race([this.#held, this.#stopped]);
      if (performance.now() - startedAt > stableMs) pauseMs = firstPauseMs;
      await Promise.race([sleep(pauseMs), this.#stopped]);
      pauseMs = Math.min(2 * pauseMs, longestPauseMs);
    }
    return false;
  }

  async #runOnce(): Promise<Exit> {
    await this.#command.prepare();
    this.#starts += 1;
    this.#process = await startProcess(this.#command);
    return await this.#process.exited;
  }
}

/** Pids of all children, and of theirs. */
function descendants(root: number): readonly number[] {
  const parents = new Map<number, number>();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      // The name, in parentheses, may have anything in it.
      const [, , parent] = /^(.*\)) \S (\d+) /s.exec(readFileSync(`/proc/${entry}/stat`, 'utf8')) ?? [];
      parents.set(Number(entry), Number(parent));
    } catch {
      // It ended meanwhile.
    }
  }
  const below = (pid: number): number[] =>
    [...parents].filter(([, parent]) => parent === pid).flatMap(([child]) => [child, ...below(child)]);
  return below(root);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended with its parent.
  }
}
