import { setTimeout as sleep } from 'node:timers/promises';
import { appendRecords } from '../../activities/history/file.ts';
import type { ClosedRun, Past } from '../../activities/history/past.ts';
import { recordsOf } from '../../activities/history/records.ts';
import { causeOf } from '../../activities/kubernetes/classify.ts';
import type { WorkerLog } from '../log.ts';
import { FileLease } from './file-lease.ts';
import { HistoryState } from './history-state.ts';

export interface HistoryKeeperOptions {
  readonly file: string;
  readonly everyMs: number;
  readonly past: Past;
  /** Tells this process from all others. */
  readonly owner: string;
  /** After so long without a sign a writer is taken for dead, milliseconds. */
  readonly patienceMs?: number;
  readonly log: Pick<WorkerLog, 'info' | 'warn'>;
}

/**
 * Writes down who did what in runs that have ended, before retention or somebody removes them. Each look can be cut off at any line:
 * the next one, of whatever process, reads what is in the file and goes on after it.
 */
export class HistoryKeeper {
  readonly #options: HistoryKeeperOptions;
  readonly #lease: FileLease;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** Undefined while it has to be read from the disk: at first, after a failure, and after another has written. */
  #state: HistoryState | undefined;
  /** A failure is told once, until it works again. */
  #isFailing = false;

  constructor(options: HistoryKeeperOptions) {
    this.#options = options;
    this.#lease = new FileLease(options.file, options.owner, options.patienceMs);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#lease.release().catch(() => undefined); // it is taken over after a while
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.look().then(
        () => this.#works(),
        (error: unknown) => this.#fails(error),
      );
      await sleep(this.#options.everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Records what has ended since the last look. Another process may be the one that writes: then nothing is done. */
  async look(): Promise<void> {
    try {
      if (!(await this.#mayWrite())) return;
      const state = (this.#state ??= await HistoryState.load(this.#options.file));
      const closed: ClosedRun[] = [];
      for await (const page of this.#options.past.closedSince(state.from, this.#stopping.signal)) {
        closed.push(...page);
        if (!(await this.#mayWrite())) return;
      }
      const oldestFirst = closed.toSorted((a, b) => (a.closedAt < b.closedAt ? -1 : 1));
      for (const run of oldestFirst.filter((one) => !state.isDone(one))) {
        if (this.#stopping.signal.aborted || !(await this.#mayWrite())) return;
        await this.#record(run, state);
      }
      const newest = oldestFirst.at(-1);
      if (newest !== undefined && state.from === undefined) await state.advance(newest.closedAt);
    } catch (error) {
      this.#state = undefined;
      throw error;
    }
  }

  async #mayWrite(): Promise<boolean> {
    const isOurs = await this.#lease.hold();
    if (!isOurs) this.#state = undefined;
    return isOurs;
  }

  async #record(run: ClosedRun, state: HistoryState): Promise<void> {
    const { past, file, log } = this.#options;
    const read = await past.read(run, this.#stopping.signal);
    if (read === undefined)
      log.warn({ workflowId: run.workflowId, runId: run.runId }, 'A run was removed before it was recorded');
    const records = read === undefined ? [] : recordsOf(read).filter(({ id }) => !state.written.has(id));
    if (records.length > 0) {
      // The history may have taken its time.
      if (!(await this.#mayWrite())) return;
      await appendRecords(file, records);
    }
    await state.finish(run);
  }

  #works(): void {
    if (this.#isFailing) this.#options.log.info({}, 'The record of who did what is kept again');
    this.#isFailing = false;
  }

  #fails(error: unknown): void {
    const { log, file } = this.#options;
    if (!this.#isFailing && !this.#stopping.signal.aborted)
      log.warn({ file, error: causeOf(error) }, 'The record of who did what can not be kept; trying until it can');
    this.#isFailing = true;
  }
}
