import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { Seen } from '../contracts/activities.ts';
import type { Conflict } from '../contracts/conflict.ts';
import type {
  MigrateMainInput,
  MigrateMainResult,
  MigrateMainState,
  MigrateMainStatus,
  SetName,
} from '../contracts/hibernate.ts';
import type { Step, StepState } from '../contracts/status.ts';
import type { Decision } from '../domain/hibernate/decide.ts';
import { isLive, isReady, type Observation } from '../domain/hibernate/observation.ts';
import { wayEffects } from '../domain/hibernate/reasons.ts';
import { reportOf, type Report } from '../domain/hibernate/report.ts';
import type { Order, Context } from '../domain/hibernate/situation.ts';
import type { Outcome } from '../domain/hibernate/step.ts';
import { progressOf, way, type Shown } from '../domain/hibernate/steps.ts';
import { elapsedMs } from '../domain/time.ts';
import { Publisher } from '../shared/attributes.ts';
import { defined } from '../shared/defined.ts';
import { now } from '../shared/now.ts';
import { migrationDetails } from './migration-details.ts';

/** Where a migration stands, for its own next step, the query, the lists and the Web UI. */
export class MigrationState {
  readonly #set: SetName;
  readonly #publisher = new Publisher();
  #kept: MigrateMainState;
  #seen: Seen<Observation> | undefined;
  #decision: Decision | undefined;
  #report: Report | undefined;
  /** The furthest step of the way so far. */
  #reached: Shown = 'Preparing';
  #result: MigrateMainResult | undefined;
  #slot: MigrateMainStatus['slot'] = 'none';
  #queued: number | undefined;
  /** What a far side refuses at the moment. */
  refusal: string | undefined;

  constructor({ namespace, name, resume }: MigrateMainInput) {
    const startedAt = now();
    this.#set = { namespace, name };
    this.#kept = resume ?? { startedAt, since: startedAt, hasSlot: false, turn: 0 };
    if (this.#kept.hasSlot) this.#slot = 'granted';
  }

  get kept(): MigrateMainState {
    return this.#kept;
  }

  get hasSlot(): boolean {
    return this.#kept.hasSlot;
  }

  keep(change: Partial<MigrateMainState>): void {
    this.#kept = { ...this.#kept, ...change };
  }

  slot(slot: MigrateMainStatus['slot'], queued?: number): void {
    this.#slot = slot;
    this.#queued = queued;
    this.keep({ hasSlot: slot === 'granted' });
  }

  /** What the decision is made with, besides the look. */
  known(order: Order | undefined): Pick<Context, 'hasSlot' | 'order' | 'since'> {
    const { acknowledgedLoss, setUid, hasSlot, since } = this.#kept;
    const isGivenUp = acknowledgedLoss !== undefined && acknowledgedLoss === setUid;
    const given = order ?? (isGivenUp ? 'acknowledge-loss' : this.#isGoingHome() ? 'abort' : undefined);
    return { hasSlot, since, ...(given === undefined ? {} : { order: given }) };
  }

  /** An abort holds as long as nobody has wanted the VM elsewhere since: what stands in its way may end at any time. */
  #isGoingHome(): boolean {
    const { isAborted, from } = this.#kept;
    return isAborted === true && from !== undefined && this.#seen?.look.set?.nodeName === from;
  }

  /** Takes in a look: the proof of the hand-over is collected on the way. */
  see(seen: Seen<Observation>): void {
    this.#seen = seen;
    const { set, pod } = seen.look;
    const { setUid, from, vmIdBefore, snapshotDigest, downSince, upSince } = this.#kept;
    const record = set?.record;
    const isUp = pod !== undefined && isLive(pod) && isReady(pod) && !pod.hibernate;
    const isDown = record !== undefined && !isUp && record.stage !== 'preparing' && (pod?.vmId ?? '') === '';
    const id = record?.sourceVMID === '' ? pod?.vmId : (record?.sourceVMID ?? pod?.vmId);
    this.keep({
      ...defined('setUid', setUid ?? set?.uid),
      ...defined('from', from ?? record?.from),
      ...defined('vmIdBefore', vmIdBefore ?? (id === '' ? undefined : id)),
      ...defined('snapshotDigest', record?.snapshotDigest ?? snapshotDigest),
      ...defined('downSince', downSince ?? (isDown ? seen.at : undefined)),
      ...defined('upSince', downSince !== undefined && isUp ? (upSince ?? seen.at) : undefined),
    });
  }

  decided(decision: Decision, context: Context): Report {
    const { look, at } = this.#look();
    if (decision.row !== this.#kept.row) this.keep({ row: decision.row, since: at });
    this.#decision = decision;
    this.#report = reportOf(decision, look, context);
    const place = way.findIndex(({ id }) => id === decision.shown);
    if (place > way.findIndex(({ id }) => id === this.#reached)) this.#reached = decision.shown;
    this.show();
    return this.#report;
  }

  /** The conflict that the decision is, if it is one. */
  get conflict(): Conflict | undefined {
    const { conflict, condition } = this.#report ?? {};
    if (conflict === undefined || condition === undefined) return undefined;
    const { namespace, name } = this.#set;
    const { setUid = '', since, row = '' } = this.#kept;
    return {
      id: `${conflict.code}/${setUid}`,
      code: conflict.code,
      what: `set ${namespace}/${name}: ${condition.message}`,
      expected:
        this.#reached === 'Preparing' ? 'the VM runs and can be stored' : `the VM restored on ${this.#target()}`,
      found: `${condition.reason} (row ${row})`,
      since,
      options: conflict.ways.map((decision) => ({ decision, effect: wayEffects[decision] })),
    };
  }

  end(outcome: Outcome): MigrateMainResult {
    const { from, vmIdBefore, snapshotDigest, downSince, upSince } = this.#kept;
    const { pod } = this.#look().look;
    const to = pod?.nodeName ?? '';
    this.#result = {
      outcome,
      ...defined('from', from),
      ...(to === '' ? {} : { to }),
      ...defined('vmIdBefore', vmIdBefore),
      ...defined('snapshotDigest', snapshotDigest),
      ...(pod === undefined || pod.vmId === '' ? {} : { vmIdAfter: pod.vmId }),
      ...(downSince === undefined || upSince === undefined ? {} : { downtimeMs: elapsedMs(downSince, upSince) }),
    };
    this.show();
    return this.#result;
  }

  status(): MigrateMainStatus {
    const { namespace, name } = this.#set;
    const { row, since, setUid, turn } = this.#kept;
    const { look } = this.#seen ?? {};
    const { condition, waitingFor } = this.#report ?? {};
    const next = this.#decision?.next;
    const { conflict } = this;
    const until = next?.kind === 'wait' ? next.until : undefined;
    const tag = look?.tag;
    const progress = this.#result === undefined ? progressOf(this.#reached) : 1;
    return {
      kind: 'hibernate-migration',
      id: workflowInfo().workflowId,
      status: this.#result?.outcome ?? this.#decision?.shown ?? 'Preparing',
      reason: this.#result?.outcome ?? condition?.reason ?? 'Observing',
      message: this.#message(),
      since,
      ...defined('deadline', until),
      ...(this.#result === undefined ? defined('waitingFor', waitingFor) : {}),
      ...defined('progress', progress),
      ...(this.#result === undefined ? defined('conflict', conflict) : {}),
      steps: this.#steps(),
      next: this.#next(conflict !== undefined),
      set: { namespace, name, ...defined('uid', setUid) },
      ...defined('row', row),
      ...defined('source', this.#kept.from ?? look?.pod?.nodeName),
      ...defined('target', look?.set?.nodeName),
      ...defined('podUID', look?.pod?.uid),
      ...(look?.pod === undefined || look.pod.vmId === '' ? {} : { vmID: look.pod.vmId }),
      ...(tag === undefined || tag.state === 'unread'
        ? {}
        : { snapshot: { state: tag.state, ...(tag.state === 'present' ? { digest: tag.digest } : {}) } }),
      slot: this.#slot,
      ...defined('queued', this.#queued),
      turn,
    };
  }

  show(): void {
    const status = this.status();
    const { look } = this.#seen ?? {};
    this.#publisher.publish({
      status: status.status,
      source: status.source ?? null,
      target: status.target ?? null,
      waitingFor: status.waitingFor ?? null,
      conflict: status.conflict?.code ?? null,
      atRisk: this.#result === undefined && (this.#report?.isAtRisk ?? false),
      ...(look === undefined ? {} : { progress: status.progress ?? null }),
    });
    setCurrentDetails(migrationDetails(status, this.#result));
  }

  #message(): string {
    if (this.#result !== undefined) return endings[this.#result.outcome];
    return this.refusal ?? this.#report?.condition.message ?? 'looking at the set';
  }

  #steps(): Step[] {
    const at = way.findIndex(({ id }) => id === this.#reached);
    const outcome = this.#result?.outcome;
    const stateOf = (place: number): StepState => {
      if (place < at || outcome === 'migrated') return 'done';
      if (outcome !== undefined) return 'skipped';
      return place === at ? 'active' : 'pending';
    };
    return way.map(({ id, title }, place) => ({ id, title, state: stateOf(place) }));
  }

  #next(isConflict: boolean): string[] {
    const { namespace, name } = this.#set;
    const where = `${name} -n ${namespace}`;
    if (this.#result !== undefined) return [`vmflow set get ${where}`];
    const ways = isConflict ? (this.#report?.conflict?.ways ?? []) : [];
    return [
      ...ways.map((word) => `vmflow migrate ${word} ${where}`),
      `vmflow set watch ${where}`,
      ...(ways.includes('abort') ? [] : [`vmflow migrate abort ${where}`]),
    ];
  }

  #target(): string {
    const target = this.#seen?.look.set?.nodeName ?? '';
    return target === '' ? 'any node' : target;
  }

  #look(): Seen<Observation> {
    if (this.#seen === undefined) throw new Error('nothing was looked at yet');
    return this.#seen;
  }
}

const endings: Readonly<Record<Outcome, string>> = {
  migrated: 'the VM runs where it is wanted',
  aborted: 'the VM runs where it came from',
  superseded: 'there is nothing left to move',
  setDeleted: 'the set is gone or going',
  parked: 'the set is suspended; it goes on when the set is woken',
};
