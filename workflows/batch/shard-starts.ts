import { workflowInfo } from '@temporalio/workflow';
import type { BatchActivities } from '../contracts/batch-activities.ts';
import type { MemberRow, MemberToStart, Skipped, StartOutcome } from '../contracts/batch.ts';
import { freePlaces } from '../domain/batch/turns.ts';
import { omit } from '../domain/omit.ts';
import { insist } from '../shared/insist.ts';
import { control } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';
import { chunks } from './chunks.ts';

const startedAtOnce = 50;
/** Between two attempts to read the sources of members that are to get an entry. */
const unreadPauseMs = 30_000;

/** Gives members of a shard their entries. Whose source can't be read waits for that, and keeps nobody else. */
export class ShardStarts {
  readonly #batch: string;
  readonly #rows: Map<string, MemberRow>;
  readonly #onTrouble: (trouble: string | undefined) => void;
  #why: string | undefined;
  #againAt = 0;

  constructor(batch: string, rows: Map<string, MemberRow>, onTrouble: (trouble: string | undefined) => void) {
    this.#batch = batch;
    this.#rows = rows;
    this.#onTrouble = onTrouble;
  }

  get unread(): readonly MemberRow[] {
    return [...this.#rows.values()].filter(({ unread }) => unread === true);
  }

  /** Why some members that are to have an entry have none yet. */
  get trouble(): string | undefined {
    const [first, ...more] = this.unread;
    if (first === undefined || this.#why === undefined) return undefined;
    const who = more.length === 0 ? `${first.name} has` : `${first.name} and ${more.length} more have`;
    return `${who} no entry yet: ${this.#why}`;
  }

  /** How long until those are looked at again; undefined: there are none. */
  get pauseMs(): number | undefined {
    return this.unread.length === 0 ? undefined : Math.max(this.#againAt - Date.now(), 0);
  }

  /** Answers who gets none. Of all members so many are at work at once; others get an entry that waits for its turn. */
  async begin(rows: readonly MemberRow[], places: number): Promise<readonly Skipped[]> {
    const skipped: Skipped[] = [];
    this.#why = undefined;
    for (const some of chunks(rows, startedAtOnce)) {
      const free = freePlaces(this.#rows.values(), places);
      const members = some.map(({ uuid, source, vm, name }, at): MemberToStart => {
        return { uuid, source, vm, name, ...(at < free ? {} : { later: true }) };
      });
      for (const { uuid, later } of members) if (later === true) this.#setLater(uuid);
      const outcomes = await insist(
        () =>
          control<BatchActivities>(budgets.start, `start ${members.length} entries`).startEntries({
            batch: this.#batch,
            shardId: workflowInfo().workflowId,
            members,
          }),
        this.#onTrouble,
      );
      skipped.push(...outcomes.flatMap((outcome) => this.#take(outcome) ?? []));
    }
    this.#againAt = Date.now() + unreadPauseMs;
    return skipped;
  }

  #setLater(uuid: string): void {
    const row = this.#rows.get(uuid);
    if (row !== undefined) this.#rows.set(uuid, { ...row, later: true });
  }

  #take(outcome: StartOutcome): Skipped | undefined {
    const row = this.#rows.get(outcome.uuid);
    if (row === undefined) return undefined;
    const { uuid, name } = row;
    const rest = omit(row, 'unread');
    const without = omit(rest, 'later');
    switch (outcome.outcome) {
      case 'unread':
        this.#why ??= outcome.why;
        this.#rows.set(uuid, { ...without, phase: 'waiting', unread: true });
        return undefined;
      case 'skipped':
        this.#rows.set(uuid, { ...without, phase: 'none' });
        return { uuid, name, why: outcome.why };
      default:
        // News that were faster than this answer are newer.
        if (row.phase === 'none' || row.unread === true) this.#rows.set(uuid, { ...rest, phase: outcome.phase });
        return undefined;
    }
  }
}
