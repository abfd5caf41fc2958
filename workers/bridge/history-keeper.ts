import { setTimeout as sleep } from 'node:timers/promises';
import { appendRecords } from '../../activities/history/file.ts';
import type { ClosedRun, Past } from '../../activities/history/past.ts';
import type { HistoryRecord } from '../../activities/history/record.ts';
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
  #lastLookAt: Date | undefined;

  constructor(options: HistoryKeeperOptions) {
    this.#options = options;
    this.#lease = new FileLease(options.file, options.owner, options.patienceMs);
  }

  /** When all that had ended was last known to be in the file, by whoever writes it. Undefined: not since the start. */
  get lastLookAt(): Date | undefined {
    return this.#lastLookAt;
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
      const failure = await this.#recordAll(closed, state);
      if (await this.#mayWrite()) await state.save();
      if (failure !== undefined) throw failure;
    } catch (error) {
      this.#state = undefined;
      throw error;
    }
  }

  /** One that can't be read holds up no other: it is looked for again, and told of. */
  async #recordAll(closed: readonly ClosedRun[], state: HistoryState): Promise<Error | undefined> {
    const oldestFirst = closed.toSorted((a, b) => (a.closedAt < b.closedAt ? -1 : 1));
    let failure: Error | undefined;
    for (const run of oldestFirst.filter((one) => !state.isDone(one))) {
      if (this.#stopping.signal.aborted || !(await this.#mayWrite())) return failure;
      const records = await this.#recordsOf(run);
      if (records instanceof Error) failure ??= records;
      // The history may have taken its time.
      else if (await this.#mayWrite()) {
        const missing = records.filter(({ id }) => !state.written.has(id));
        if (missing.length > 0) await appendRecords(this.#options.file, missing);
        await state.finish(run, failure === undefined);
      }
    }
    const newest = oldestFirst.at(-1);
    if (newest !== undefined && failure === undefined) state.reach(newest);
    return failure;
  }

  async #mayWrite(): Promise<boolean> {
    const isOurs = await this.#lease.hold();
    if (!isOurs) this.#state = undefined;
    return isOurs;
  }

  async #recordsOf(run: ClosedRun): Promise<readonly HistoryRecord[] | Error> {
    const { past, log } = this.#options;
    const { workflowId, runId } = run;
    try {
      const read = await past.read(run, this.#stopping.signal);
      if (read !== undefined) return recordsOf(read);
      log.warn({ workflowId, runId }, 'A run was removed before it was recorded');
      return [];
    } catch (error) {
      return new Error(`can't read the history of ${workflowId}, run ${runId}: ${causeOf(error)}`);
    }
  }

  #works(): void {
    if (this.#isFailing) this.#options.log.info({}, 'The record of who did what is kept again');
    this.#isFailing = false;
    this.#lastLookAt = new Date();
  }

  #fails(error: unknown): void {
    const { log, file } = this.#options;
    if (!this.#isFailing && !this.#stopping.signal.aborted)
      log.warn({ file, error: causeOf(error) }, 'The record of who did what can not be kept; trying until it can');
    this.#isFailing = true;
  }
}
