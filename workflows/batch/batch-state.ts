import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { BatchState, BatchView, MemberPhase, PhaseCounts, ShardNews, ShardState } from '../contracts/batch.ts';
import { constraintViews, windowViews, type Commits } from '../domain/batch/commits.ts';
import { orderWait } from '../domain/batch/order.ts';
import { withSample, type EtaSample } from '../domain/batch/eta.ts';
import type { BatchSpec, BatchStatus } from '../domain/batch/records.ts';
import { Publisher } from '../shared/attributes.ts';
import { defined } from '../shared/defined.ts';
import { now } from '../shared/now.ts';
import { batchDetails } from './batch-details.ts';

/** Of those that wait for others, this many are named. */
const shownWaits = 20;

/** Where a batch stands: for its decisions, the query, the lists and the Web UI. */
export class BatchRecord {
  readonly #publisher = new Publisher();
  readonly #name: string;
  #state: BatchState;

  constructor(name: string, state: BatchState) {
    this.#name = name;
    this.#state = state;
  }

  get state(): BatchState {
    return this.#state;
  }

  get spec(): BatchSpec {
    return this.#state.spec;
  }

  get commits(): Commits {
    return this.#state.commits;
  }

  change(change: Partial<BatchState>): void {
    this.#state = { ...this.#state, ...change };
  }

  become(status: BatchStatus, statusMessage: string): void {
    if (status === this.#state.status) this.change({ statusMessage });
    else this.change({ status, statusMessage, since: now(), samples: status === 'Running' ? this.#sampled([]) : [] });
    this.show();
  }

  /** Why a VM has to wait for others of the batch. */
  orderWait(): (uuid: string) => string | undefined {
    const { order = [], finished = [] } = this.#state;
    return orderWait(order, new Set(finished));
  }

  /** Those that are ready and wait for others, as many as are shown. */
  #waitsForOthers(): { readonly name: string; readonly why: string }[] {
    const whyOf = this.orderWait();
    const waiting: { readonly name: string; readonly why: string }[] = [];
    for (const { uuid, name, cutover } of this.commits.requests) {
      if (waiting.length === shownWaits) break;
      const why = cutover ? undefined : whyOf(uuid);
      if (why !== undefined) waiting.push({ name, why });
    }
    return waiting;
  }

  heard({ shard, counts, members, trouble, finished = [] }: ShardNews): void {
    if (finished.length > 0) this.change({ finished: [...new Set([...(this.#state.finished ?? []), ...finished])] });
    const shards = this.#state.shards.map((old, at): ShardState =>
      at === shard ? { members, counts, ...defined('trouble', trouble) } : old,
    );
    const before = this.#finished;
    this.change({ shards });
    const { status, samples = [] } = this.#state;
    if (status === 'Running' && this.#finished !== before) this.change({ samples: this.#sampled(samples) });
  }

  get #finished(): number {
    return this.counts.finished ?? 0;
  }

  /** They begin anew whenever it does: time in which it doesn't run says nothing about its pace. */
  #sampled(samples: readonly EtaSample[]): readonly EtaSample[] {
    return withSample(samples, { at: Date.now(), done: this.#finished });
  }

  get counts(): PhaseCounts {
    const sum: Partial<Record<MemberPhase, number>> = {};
    for (const { counts } of this.#state.shards)
      for (const [phase, count] of Object.entries(counts) as [MemberPhase, number][])
        sum[phase] = (sum[phase] ?? 0) + count;
    return sum;
  }

  get members(): number {
    return this.#state.shards.reduce((sum, shard) => sum + shard.members, 0);
  }

  get entries(): number {
    return this.members - (this.counts.none ?? 0);
  }

  /** Somebody's source is switched off, or about to be. */
  get isCommitted(): boolean {
    return this.commits.holders.length > 0;
  }

  view(): BatchView {
    const { status, statusMessage, since, startDate, revision, shards, spec } = this.#state;
    const { counts } = this;
    const done = this.#finished;
    const needing = (counts.conflict ?? 0) + (counts.error ?? 0);
    return {
      kind: 'batch',
      id: workflowInfo().workflowId,
      status,
      reason: status,
      message: [
        statusMessage === '' ? `${done} finished, ${needing} need attention` : statusMessage,
        ...shards.flatMap(({ trouble }) => trouble ?? []),
      ].join('; '),
      since,
      ...(needing > 0 ? { waitingFor: 'person' as const } : {}),
      progress: this.entries === 0 ? 0 : done / this.entries,
      steps: [],
      next: this.#next(needing),
      batch: this.#name,
      batchStatus: status,
      members: this.members,
      counts,
      windows: windowViews(this.commits, spec.migration_windows, Date.now()),
      constraints: constraintViews(this.commits, spec.constraints),
      etag: String(revision),
      ...defined('startDate', startDate),
      shards: shards.length,
      ready: this.commits.requests.length,
      waitsForOthers: this.#waitsForOthers(),
      pace: { samples: this.#state.samples ?? [], total: this.entries - needing - (counts.canceled ?? 0) },
    };
  }

  show(): void {
    const view = this.view();
    this.#publisher.publish({
      kind: 'batch',
      batch: this.#name,
      status: view.status,
      target: this.spec.defaults.placement.target,
      waitingFor: view.waitingFor ?? null,
      atRisk: this.isCommitted,
      progress: Math.round((view.progress ?? 0) * 100) / 100,
    });
    setCurrentDetails(batchDetails(view));
  }

  #next(needing: number): string[] {
    const name = this.#name;
    const { status } = this.#state;
    const needed = needing > 0 ? [`vmflow queue list --batch ${name} --status conflict`] : [];
    if (status === 'Defined') return [`vmflow batch start ${name}`, `vmflow batch delete ${name}`];
    if (status === 'Running') return [...needed, `vmflow batch watch ${name}`, `vmflow batch stop ${name}`];
    if (status === 'Finished') return [`vmflow batch get ${name}`, `vmflow batch delete ${name}`];
    return [...needed, `vmflow batch resume ${name}`];
  }
}
