import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  getExternalWorkflowHandle,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { BatchActivities } from '../contracts/batch-activities.ts';
import type {
  EntriesPage,
  EntriesQuery,
  EntryNews,
  Member,
  MemberPhase,
  MemberRow,
  OrderDone,
  ShardInput,
  ShardNews,
  ShardOrder,
  Skipped,
} from '../contracts/batch.ts';
import { batchId } from '../contracts/ids.ts';
import { messages } from '../contracts/messages.ts';
import { omit } from '../domain/omit.ts';
import { defined } from '../shared/defined.ts';
import { insist } from '../shared/insist.ts';
import { control } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';
import { chunks } from './chunks.ts';
import { ShardRequests } from './shard-requests.ts';
import { ShardStarts } from './shard-starts.ts';
import { ShardTurns } from './shard-turns.ts';

const toldAtOnce = 100;
const endedAtOnce = 100;
/** Of the members that got no entry, this many are named; the others are counted. */
const namedSkips = 20;
const mostEventsOfShard = 3_800;
const longestPage = 200;
/** Those that only move a number may be told late, the later the larger the shard: most events of a batch would be of them. */
const quietPhases: ReadonlySet<MemberPhase> = new Set(['waiting', 'queued', 'running', 'committed']);
const toldAnyTime = 50;
const quietMsPerMember = 20;

/** Up to 500 members of one batch: starts their entries, knows how they stand, and speaks for them to the batch. */
export async function batchShard(input: ShardInput): Promise<void> {
  await new Shard(input).run();
}

class Shard {
  readonly #input: ShardInput;
  readonly #rows: Map<string, MemberRow>;
  readonly #requests: ShardRequests;
  readonly #starts: ShardStarts;
  readonly #turns: ShardTurns;
  /** Of the order of the batch, not yet told. */
  #finished: string[];
  #orders: ShardOrder[] = [];
  #done: OrderDone[] = [];
  #hasNews = true;
  /** Of its news, some are waited for. */
  #isUrgent = true;
  #isClosed = false;
  #reportMs: number;

  constructor(input: ShardInput) {
    this.#input = input;
    this.#requests = new ShardRequests(input.requests);
    this.#reportMs = input.reportMs ?? 1_000;
    this.#rows = new Map(input.rows.map((row) => [row.uuid, row]));
    // A run before may not have told them.
    this.#finished = input.rows.flatMap((row) => (isDoneInOrder(row) ? [row.uuid] : []));
    this.#starts = new ShardStarts(input.batch, this.#rows, (trouble) => this.#heldUp(trouble));
    this.#turns = new ShardTurns(input, this.#rows, (uuids) => this.#tellSome('giveTurn', uuids));
    setHandler(defineSignal<[ShardOrder]>(messages.shardOrder), (order) => {
      this.#orders.push(order);
    });
    setHandler(defineSignal<[EntryNews]>(messages.entryNews), (news) => this.#take(news));
    setHandler(defineQuery<EntriesPage, [EntriesQuery?]>(messages.entries), (query) => this.#page(query ?? {}), {
      description: 'Its members, page by page: { cursor?, limit?, phase? }',
    });
  }

  async run(): Promise<void> {
    for (;;) {
      await this.#wake();
      const order = this.#orders.shift();
      if (order !== undefined) await this.#carryOut(order);
      else if (this.#starts.pauseMs === 0) await this.#begin(this.#starts.unread);
      await this.#turns.give();
      // A batch of the same name may want it again already.
      if (this.#isClosed && this.#orders.length === 0) return;
      if (this.#hasNews || this.#done.length > 0) await this.#report();
      await this.#continueWhenLong();
    }
  }

  /** Until something is said; while sources can't be read, no longer than until they are tried again. */
  async #wake(): Promise<void> {
    const isWanted = (): boolean => this.#orders.length > 0 || this.#hasNews || this.#turns.areLate;
    const { pauseMs } = this.#starts;
    if (pauseMs === undefined) await condition(isWanted);
    else if (pauseMs > 0) await condition(isWanted, pauseMs, { summary: 'read the sources again' });
    const quietMs = (this.#rows.size - toldAnyTime) * quietMsPerMember;
    if (quietMs <= 0 || this.#isUrgent || this.#done.length > 0 || this.#turns.areLate) return;
    await condition(() => this.#orders.length > 0 || this.#isUrgent, quietMs, { summary: 'gather what happens' });
  }

  async #carryOut(order: ShardOrder): Promise<void> {
    if (order.kind === 'replace') this.#replace(order.members);
    else if (order.kind === 'start') await this.#start(order);
    else if (order.kind === 'end') await this.#end(order);
    else if (order.kind === 'tell') await this.#tell(order.message);
    else this.#isClosed = true;
  }

  #replace(members: readonly Member[]): void {
    this.#isClosed = false;
    this.#finished = [];
    this.#rows.clear();
    for (const member of members) this.#rows.set(member.uuid, { ...member, phase: 'none' });
    this.#hasUrgentNews();
  }

  /** Entries for all members that have none. */
  async #start({
    startId,
    places = Infinity,
    reportMs = 1_000,
  }: Extract<ShardOrder, { kind: 'start' }>): Promise<void> {
    this.#turns.places = places;
    this.#reportMs = reportMs;
    const rows = [...this.#rows.values()].filter(({ phase, unread }) => phase === 'none' || unread === true);
    const skipped = await this.#begin(rows);
    this.#done.push({
      id: startId,
      queued: rows.length - skipped.length,
      skipped: skipped.slice(0, namedSkips),
      skippedCount: skipped.length,
      warnings: [],
    });
  }

  async #begin(rows: readonly MemberRow[]): Promise<readonly Skipped[]> {
    const skipped = await this.#starts.begin(rows, this.#turns.places);
    this.#hasUrgentNews();
    return skipped;
  }

  async #end({ orderId, by, cleanup }: Extract<ShardOrder, { kind: 'end' }>): Promise<void> {
    const warnings: string[] = [];
    const live = [...this.#rows.values()].filter(({ phase }) => phase !== 'none');
    for (const rows of chunks(live, endedAtOnce)) {
      const ended = await this.#insist(() =>
        this.#act(budgets.reset, `end ${rows.length} entries`).endEntries({
          batch: this.#input.batch,
          uuids: rows.map(({ uuid }) => uuid),
          by,
          cleanup,
        }),
      );
      warnings.push(...ended.warnings);
      for (const { uuid } of rows) this.#forget(uuid);
    }
    this.#done.push({
      id: orderId,
      queued: live.length,
      skipped: [],
      skippedCount: 0,
      warnings: warnings.slice(0, namedSkips),
    });
  }

  async #tell(message: 'pause' | 'unpause' | 'settings'): Promise<void> {
    if (message !== 'settings') this.#turns.pause(message === 'pause');
    const live = [...this.#rows.values()].filter(({ phase }) => phase !== 'none' && phase !== 'finished');
    for (const rows of chunks(live, toldAtOnce))
      await this.#tellSome(
        message,
        rows.map(({ uuid }) => uuid),
      );
  }

  async #tellSome(
    message: Parameters<BatchActivities['tellEntries']>[0]['message'],
    uuids: readonly string[],
  ): Promise<void> {
    await this.#insist(() =>
      this.#act(budgets.start, `tell ${uuids.length} entries: ${message}`).tellEntries({
        batch: this.#input.batch,
        uuids,
        message,
      }),
    );
  }

  #take({ uuid, phase, window, request, released, closed }: EntryNews): void {
    const row = this.#rows.get(uuid);
    if (row === undefined) return;
    const rest = omit(row, 'window', 'unread');
    if (isDoneInOrder({ ...rest, phase })) this.#finished.push(uuid);
    if (closed === true) this.#forget(uuid);
    else this.#rows.set(uuid, { ...rest, phase, ...defined('window', window) });
    this.#requests.take(uuid, request, {
      isReleased: released === true || closed === true,
      isCommitted: phase === 'committed',
    });
    this.#hasNews = true;
    const makesRoom = this.#requests.isCut && phase === 'committed';
    if (request !== undefined || released === true || makesRoom || !quietPhases.has(phase)) this.#isUrgent = true;
  }

  #forget(uuid: string): void {
    const row = this.#rows.get(uuid);
    if (row === undefined) return;
    this.#rows.set(uuid, { ...omit(row, 'window', 'unread', 'later'), phase: 'none' });
    this.#requests.take(uuid, undefined, { isReleased: true });
    this.#hasUrgentNews();
  }

  #hasUrgentNews(): void {
    this.#hasNews = true;
    this.#isUrgent = true;
  }

  /** At most once a second: the batch hears of many at once. */
  async #report(): Promise<void> {
    this.#hasNews = false;
    this.#isUrgent = false;
    const [done, ...more] = this.#done;
    this.#done = more;
    const { requests, released } = this.#requests.toSend((uuid) => this.#rows.get(uuid)?.ordered === true);
    const news: ShardNews = {
      shard: this.#input.shard,
      counts: this.#counts(),
      members: this.#rows.size,
      requests,
      released,
      ...(this.#finished.length === 0 ? {} : { finished: this.#finished.splice(0) }),
      ...defined('trouble', this.#starts.trouble),
      ...defined('done', done),
    };
    this.#show(news);
    await getExternalWorkflowHandle(batchId(this.#input.batch))
      .signal<[ShardNews]>(messages.shardNews, news)
      .catch(() => undefined);
    if (this.#requests.hasMore) this.#hasUrgentNews();
    if (this.#reportMs <= 1_000) await sleep('1s', { summary: 'gather what happens' });
    else await condition(() => this.#orders.length > 0, this.#reportMs, { summary: 'gather what happens' });
  }

  #counts(): Partial<Record<MemberPhase, number>> {
    const counts: Partial<Record<MemberPhase, number>> = {};
    for (const { phase } of this.#rows.values()) counts[phase] = (counts[phase] ?? 0) + 1;
    return counts;
  }

  #page({ cursor = 0, limit = longestPage, phase }: EntriesQuery): EntriesPage {
    const all = [...this.#rows.values()].filter((row) => phase === undefined || row.phase === phase);
    const end = cursor + Math.min(limit, longestPage);
    return { rows: all.slice(cursor, end), ...(end < all.length ? { cursor: end } : {}) };
  }

  #show({ counts, members }: ShardNews): void {
    const parts = Object.entries(counts).map(([phase, count]) => `${count} ${phase}`);
    setCurrentDetails(`Members ${members} of batch **${this.#input.batch}**: ${parts.join(', ')}`);
  }

  #act(budget: Parameters<typeof control>[0], summary: string): BatchActivities {
    return control<BatchActivities>(budget, summary);
  }

  async #insist<T>(work: () => Promise<T>): Promise<T> {
    return await insist(work, (trouble) => this.#heldUp(trouble));
  }

  #heldUp(trouble: string | undefined): void {
    if (trouble !== undefined) setCurrentDetails(`**${this.#input.batch}** is held up: ${trouble}`);
  }

  async #continueWhenLong(): Promise<void> {
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    if (!continueAsNewSuggested && historyLength < mostEventsOfShard) return;
    if (this.#orders.length > 0 || this.#done.length > 0) return;
    await condition(allHandlersFinished);
    await continueAsNew<typeof batchShard>({
      ...this.#input,
      rows: [...this.#rows.values()],
      requests: this.#requests.kept(),
      ...this.#turns.kept(),
      reportMs: this.#reportMs,
    });
  }
}

function isDoneInOrder({ ordered, phase }: MemberRow): boolean {
  return ordered === true && phase === 'finished';
}
