import { readFile, rename, writeFile } from 'node:fs/promises';
import { mendFile, readRecords } from '../../activities/history/file.ts';
import { endActions } from '../../activities/history/record.ts';
import type { ClosedRun } from '../../activities/history/past.ts';

/** Visibility may tell of a run this much later than of one that ended after it. */
export const overlapMs = 10 * 60_000;

/** While many runs are recorded; the file tells what the state doesn't yet. */
const saveEveryMs = 1_000;

/**
 * How far the record is. Kept in `<file>.state`, so that it goes on where it was when the file was moved away; what the file itself
 * holds counts too, so that nothing is lost with the state, and nothing is doubled by a death between the two.
 */
export class HistoryState {
  readonly #path: string;
  /** Recorded runs and when they were closed; old ones are forgotten, nobody asks for them again. */
  readonly #done: Map<string, string>;
  /** Ids of the records of runs that are in the file without their end: the rest of them may have been lost. */
  readonly written: ReadonlySet<string>;
  #since: string | undefined;
  #savedAt = performance.now();
  #isSaved = true;

  private constructor(path: string, since: string | undefined, done: Map<string, string>, written: Set<string>) {
    this.#path = path;
    this.#since = since;
    this.#done = done;
    this.written = written;
  }

  /** Reads both, and cuts off what was torn in the file. */
  static async load(file: string): Promise<HistoryState> {
    await mendFile(file);
    const path = `${file}.state`;
    const { since, done } = await readState(path);
    const runs = new Map(Object.entries(done));
    const begun = new Map<string, string[]>();
    for await (const { id, run, at, action } of readRecords(file)) {
      if (endActions.some((end) => end === action)) {
        begun.delete(run);
        runs.set(run, at);
      } else if (!runs.has(run)) {
        const ids = begun.get(run);
        if (ids === undefined) begun.set(run, [id]);
        else ids.push(id);
      }
    }
    return new HistoryState(path, since, runs, new Set([...begun.values()].flat()));
  }

  /** From when on runs are to be looked for; undefined: all that there are. */
  get from(): string | undefined {
    return this.#since === undefined ? undefined : earlier(this.#since);
  }

  isDone({ runId }: ClosedRun): boolean {
    return this.#done.has(runId);
  }

  /** The run is in the file, or has nothing to be told of. `isNext`: so has every one that was closed before it. */
  async finish({ runId, closedAt }: ClosedRun, isNext: boolean): Promise<void> {
    this.#done.set(runId, closedAt);
    this.#isSaved = false;
    if (isNext) this.#advance(closedAt);
    if (performance.now() - this.#savedAt >= saveEveryMs) await this.save();
  }

  #advance(closedAt: string): void {
    this.#isSaved = false;
    if (this.#since === undefined || closedAt > this.#since) this.#since = closedAt;
  }

  /** Nothing that was closed up to then is missing, though nothing had to be written. */
  reach({ closedAt }: ClosedRun): void {
    if (this.#since === undefined) this.#advance(closedAt);
  }

  async save(): Promise<void> {
    if (this.#isSaved) return;
    const { from } = this;
    if (from !== undefined) for (const [run, at] of this.#done) if (at < from) this.#done.delete(run);
    const text = JSON.stringify({ since: this.#since, done: Object.fromEntries(this.#done) });
    await writeFile(`${this.#path}.new`, text);
    await rename(`${this.#path}.new`, this.#path);
    this.#savedAt = performance.now();
    this.#isSaved = true;
  }
}

function earlier(at: string): string {
  return new Date(Date.parse(at) - overlapMs).toISOString();
}

/** Without a state everything that Temporal has and the file hasn't is recorded. */
async function readState(path: string): Promise<{ since?: string; done: Readonly<Record<string, string>> }> {
  try {
    const { since, done } = JSON.parse(await readFile(path, 'utf8')) as {
      since?: string;
      done: Record<string, string>;
    };
    return { ...(since === undefined ? {} : { since: new Date(since).toISOString() }), done };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    // What a dying machine left half written is no state either.
    if (isMissing || error instanceof SyntaxError || error instanceof RangeError) return { done: {} };
    throw error;
  }
}
