import { log, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { Assessment, EntryScope } from '../contracts/batch-activities.ts';
import type { MemberPhase, MigrationView, PassScope } from '../contracts/batch.ts';
import type { Conflict } from '../contracts/conflict.ts';
import type { WaitingFor } from '../contracts/status.ts';
import {
  enter,
  forget,
  isCommitted,
  isLive,
  within,
  type Entry,
  type Passing,
  type Substate,
} from '../domain/batch/entry.ts';
import { omit } from '../domain/omit.ts';
import { progressOf, stepsOf } from '../domain/batch/entry-steps.ts';
import { conflictOptions } from '../domain/batch/conflict-options.ts';
import type { ConflictCode, EntryStatus } from '../domain/batch/records.ts';
import { Publisher } from '../shared/attributes.ts';
import { defined } from '../shared/defined.ts';
import { now } from '../shared/now.ts';
import { entryDetails } from './entry-details.ts';

/** Where an entry stands: for its own next step, the query, the lists and the Web UI. */
export class EntryState {
  readonly #publisher = new Publisher();
  #entry: Entry;
  /** What a far side refuses at the moment. */
  #trouble: string | undefined;
  /** When the current wait ends by itself. */
  #deadline: string | undefined;

  constructor(entry: Entry) {
    this.#entry = entry;
  }

  get entry(): Entry {
    return this.#entry;
  }

  get isCommitted(): boolean {
    return isCommitted(this.#entry);
  }

  /** Effective name: of the target instance. */
  get name(): string {
    return this.#entry.baseline.name;
  }

  enter(status: EntryStatus, message: string, change: Parameters<typeof enter>[4] = {}): void {
    this.#entry = enter(this.#entry, status, now(), message, change);
    this.#deadline = undefined;
    this.show();
  }

  /** Another thing within the same status, with the time at which it ends by itself. */
  within(substate: Substate | undefined, message: string, deadline?: string): void {
    if (this.#entry.substate === substate && this.#entry.message === message && this.#deadline === deadline) return;
    this.#entry = within(this.#entry, substate, message);
    this.#deadline = deadline;
    this.show();
  }

  change(change: Partial<Entry>): void {
    this.#entry = { ...this.#entry, ...change };
  }

  forget(...keys: readonly Passing[]): void {
    this.#entry = forget(this.#entry, ...keys);
  }

  /** What a look has found out. */
  learn({ record, baseline, placement, constraint, minBootMs }: Assessment): void {
    this.#entry = {
      ...omit(this.#entry, 'constraint'),
      record,
      baseline,
      ...defined('placement', placement ?? this.#entry.placement),
      ...defined('constraint', constraint),
      min_boot_ms: minBootMs,
    };
  }

  trouble(message: string | undefined): void {
    this.#trouble = message;
    this.show();
  }

  /** A line for the logs of the workers: what happened to whom. */
  event(action: string, facts: Readonly<Record<string, unknown>> = {}): void {
    const { instance_uuid, batch_name } = this.#entry;
    log.info(action, { action, instance: instance_uuid, name: this.name, batch: batch_name, ...facts });
  }

  warn(action: string, message: string): void {
    const { instance_uuid, batch_name } = this.#entry;
    log.warn(message, { action, instance: instance_uuid, name: this.name, batch: batch_name });
  }

  scope(): EntryScope {
    const { instance_uuid, batch_name, record, attempt, placement } = this.#entry;
    return {
      uuid: instance_uuid,
      batch: batch_name,
      name: this.name,
      source: record.source,
      vm: record.source_specific_id,
      attempt,
      target: placement?.target_name ?? '',
      project: placement?.target_project ?? '',
    };
  }

  passScope(): PassScope {
    const { pass, baseline, change_ids } = this.#entry;
    return { ...this.scope(), pass, baseline, changeIds: change_ids };
  }

  conflict(): Conflict | undefined {
    const { conflict, instance_uuid, resolve_count } = this.#entry;
    if (conflict === undefined) return undefined;
    return {
      id: `${conflict.code}/${instance_uuid}/${resolve_count}`,
      code: conflict.code,
      what: conflict.message.startsWith(this.name) ? conflict.message : `${this.name}: ${conflict.message}`,
      expected: conflict.expected,
      found: conflict.found,
      since: conflict.since,
      options: conflictOptions(conflict.code as ConflictCode, {
        name: this.name,
        batch: this.#entry.batch_name,
        isCommitted: this.isCommitted,
      }),
    };
  }

  phase(): MemberPhase {
    const { status, ready_since, substate } = this.#entry;
    if (status !== 'Idle') return phases[status];
    if (this.isCommitted) return 'committed';
    if (ready_since !== undefined) return 'ready';
    return substate === 'awaiting-import-slot' ? 'queued' : 'running';
  }

  view(): MigrationView {
    const entry = this.#entry;
    const { status, stage, substate, record, placement, window } = entry;
    return {
      kind: 'migration',
      id: workflowInfo().workflowId,
      status,
      reason: entry.conflict?.code ?? entry.error?.code ?? substate ?? status,
      message: this.#trouble === undefined ? entry.message : `${entry.message} (${this.#trouble})`,
      since: entry.since,
      ...defined('deadline', this.#deadlineNow()),
      ...defined('waitingFor', this.#waitingFor()),
      progress: progressOf(entry),
      ...defined('conflict', this.conflict()),
      steps: stepsOf(entry),
      next: this.#next(),
      vm: this.name,
      uuid: entry.instance_uuid,
      batch: entry.batch_name,
      entryStatus: status,
      stage,
      ...defined('substate', substate),
      committed: this.isCommitted,
      holdsPlace: entry.holds_place,
      configured: entry.target.configured,
      source: record.source,
      ...(placement === undefined ? {} : { target: `${placement.target_name}/${placement.target_project}` }),
      ...defined('window', window?.name),
      ...(entry.pass === 0 ? {} : { copyPass: entry.pass }),
      ...defined('lastSync', entry.last_background_sync),
      resolveCount: entry.resolve_count,
      ...defined('placement', placement),
    };
  }

  show(): void {
    const { status, conflict, placement, batch_name, record, window } = this.#entry;
    this.#publisher.publish({
      kind: 'migration',
      status,
      vm: this.name,
      batch: batch_name,
      source: record.source,
      target: placement === undefined ? null : `${placement.target_name}/${placement.target_project}`,
      waitingFor: this.#waitingFor() ?? null,
      conflict: conflict?.code ?? null,
      atRisk: this.isCommitted,
      deadline: this.isCommitted && window?.end !== undefined ? new Date(window.end) : null,
      progress: progressOf(this.#entry),
    });
    setCurrentDetails(
      entryDetails(this.#entry, {
        name: this.name,
        trouble: this.#trouble,
        next: this.#next(),
        ...defined('waitingFor', this.#waitingFor()),
        ...defined('conflict', this.conflict()),
      }),
    );
  }

  #deadlineNow(): string | undefined {
    return this.isCommitted ? this.#entry.window?.end : this.#deadline;
  }

  #waitingFor(): WaitingFor | undefined {
    const { status, substate } = this.#entry;
    if (status === 'Conflict' || status === 'Error') return 'person';
    if (status === 'Blocked') return 'far-side';
    if (this.#trouble !== undefined) return 'far-side';
    return substate === undefined ? undefined : waits[substate];
  }

  #next(): string[] {
    const { status, instance_uuid } = this.#entry;
    const queue = (verb: string): string => `vmflow queue ${verb} ${instance_uuid}`;
    if (status === 'Conflict') return [queue('resolve') + ' --decision recheck', queue('cancel')];
    if (status === 'Error') return [queue('cancel'), queue('get')];
    if (status === 'Canceled') return [queue('retry')];
    if (!isLive(this.#entry)) return [queue('get')];
    return [queue('watch'), queue('cancel')];
  }
}

const phases: Readonly<Record<Exclude<EntryStatus, 'Idle'>, MemberPhase>> = {
  Blocked: 'blocked',
  Waiting: 'waiting',
  // As one that waits: where it is placed may still change.
  'Creating new VM': 'waiting',
  'Performing background import tasks': 'running',
  'Performing final import tasks': 'committed',
  'Performing post-import tasks': 'committed',
  'Worker tasks complete': 'committed',
  Finished: 'finished',
  Error: 'error',
  Canceled: 'canceled',
  Conflict: 'conflict',
};

const waits: Readonly<Partial<Record<Substate, WaitingFor>>> = {
  'awaiting-create-slot': 'slot',
  'awaiting-import-slot': 'slot',
  'awaiting-window': 'window',
  'cleanup-pending': 'far-side',
  paused: 'person',
  'awaiting-turn': 'slot',
};
