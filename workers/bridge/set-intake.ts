import pLimit from 'p-limit';
import { hibernationFactsOf, podFactsOf, setFactsOf } from '../../activities/hibernate/facts.ts';
import type { KubeObject, ResourceWatch } from '../../activities/kubernetes/port.ts';
import { cocoonKeys, type SetName } from '../../workflows/contracts/hibernate.ts';
import { podNameOf } from '../../workflows/domain/hibernate/names.ts';
import type { WorkerLog } from '../log.ts';
import { Backoff } from './backoff.ts';
import { Outage } from './outage.ts';
import type { SetWork, WorkKind } from './set-work.ts';

export interface SetIntakeOptions {
  readonly sets: ResourceWatch;
  readonly pods: ResourceWatch;
  readonly hibernations: ResourceWatch;
  readonly work: SetWork;
  readonly log: Pick<WorkerLog, 'info' | 'warn'>;
  /** Shortest time between two calls about the same thing. Default 1,000. */
  readonly debounceMs?: number;
  /** How often what has work left is looked for, in case its workflow was lost. Default 60,000. */
  readonly resyncMs?: number;
  /** How often a set with nothing to do is looked at anyway. Default 600,000. */
  readonly probeMs?: number;
  readonly backoff?: { readonly shortestMs: number; readonly longestMs: number };
}

/** From the least to the most. `if-lost`: wake it only when no workflow is open. `probe`: see `SetWork`. */
const dues = ['if-lost', 'wake', 'probe'] as const;
type Due = (typeof dues)[number];

/** One set or hibernation: what was last told of it, and whether there is news. */
interface Lane {
  readonly kind: WorkKind;
  readonly name: SetName;
  readonly backoff: Backoff;
  told: string;
  generation: number | undefined;
  toldAt: number;
  probedAt: number;
  due: Due | undefined;
  isUnderWay: boolean;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Wakes the workflow of a set or of a hibernation when something changes that it has to know. Keeps nothing: after a restart all
 * are woken, and being woken for nothing changes nothing. While a workflow is at work it watches for itself.
 */
export class SetIntake {
  readonly #options: SetIntakeOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #limit = pLimit(32);
  readonly #outage: Outage;
  readonly #stops: (() => void)[];
  readonly #resync: NodeJS.Timeout;
  readonly #underWay = new Set<Promise<void>>();
  #isStopped = false;

  constructor(options: SetIntakeOptions) {
    this.#options = options;
    this.#outage = new Outage(options.log);
    const { sets, pods, hibernations } = options;
    this.#stops = [
      sets.subscribe(({ type, object }) => this.#see('set', object, type === 'deleted')),
      hibernations.subscribe(({ type, object }) => this.#see('hibernation', object, type === 'deleted')),
      pods.subscribe(({ object }) => this.#seePod(object)),
    ];
    for (const set of sets.items()) this.#see('set', set, false);
    for (const one of hibernations.items()) this.#see('hibernation', one, false);
    this.#resync = setInterval(() => this.resync(), options.resyncMs ?? 60_000).unref();
  }

  /** Whatever has work left and nobody who does it, and what is probed from time to time. */
  resync(): void {
    const now = Date.now();
    for (const lane of this.#lanes.values()) {
      const object = this.#objectOf(lane);
      if (object === undefined) continue;
      if (this.#hasWork(lane.kind, object)) this.#plan(lane, 'if-lost');
      else if (lane.kind === 'set' && now - lane.probedAt >= (this.#options.probeMs ?? 600_000))
        this.#plan(lane, 'probe');
    }
  }

  /** Resolves when no call is under way any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const stop of this.#stops) stop();
    clearInterval(this.#resync);
    for (const { backoff, timer } of this.#lanes.values()) {
      backoff.cancel();
      clearTimeout(timer);
    }
    await Promise.all(this.#underWay);
  }

  #see(kind: WorkKind, object: KubeObject, isGone: boolean): void {
    const lane = this.#laneOf(kind, object.metadata);
    const news = isGone ? 'gone' : fingerprintOf(kind, object);
    const { generation } = object.metadata;
    const due = news !== lane.told ? 'probe' : generation !== lane.generation ? 'wake' : undefined;
    lane.told = news;
    lane.generation = generation;
    if (due !== undefined) this.#plan(lane, due);
  }

  /** Who is at work watches its Pods itself: only what is settled has to be told. */
  #seePod(pod: KubeObject): void {
    const { namespace, name, labels = {} } = pod.metadata;
    const setName = labels[cocoonKeys.setName];
    if (setName !== undefined) this.#podOf('set', namespace, setName);
    this.#podOf('hibernation', namespace, name);
  }

  #podOf(kind: WorkKind, namespace: string, name: string): void {
    const lane = this.#lanes.get(keyOf(kind, { namespace, name }));
    const object = lane === undefined ? undefined : this.#objectOf(lane);
    if (lane === undefined || object === undefined) return;
    this.#plan(lane, this.#hasWork(kind, object) ? 'if-lost' : 'wake');
  }

  /** Its workflow should be open: it doesn't say that it is done, or its main Pod isn't what it asks for. */
  #hasWork(kind: WorkKind, object: KubeObject): boolean {
    if (saysWork(kind, object)) return true;
    if (kind === 'hibernation') return false;
    const { namespace, name, uid } = object.metadata;
    const found = this.#options.pods.get(namespace, podNameOf(name, 0));
    const pod = found === undefined ? undefined : podFactsOf(found, uid);
    const { suspend, nodeName, generation } = setFactsOf(object, []);
    if (pod === undefined || !pod.owned) return true;
    const isThere = nodeName === '' || nodeName === pod.nodeName;
    return !isThere || pod.stamp !== generation || pod.hibernate !== suspend;
  }

  #objectOf({ kind, name }: Lane): KubeObject | undefined {
    const watch = kind === 'set' ? this.#options.sets : this.#options.hibernations;
    return watch.get(name.namespace, name.name);
  }

  #laneOf(kind: WorkKind, { namespace, name }: SetName): Lane {
    const key = keyOf(kind, { namespace, name });
    const known = this.#lanes.get(key);
    if (known !== undefined) return known;
    const lane: Lane = {
      kind,
      name: { namespace, name },
      backoff: new Backoff(this.#options.backoff),
      told: '',
      generation: undefined,
      toldAt: 0,
      probedAt: 0,
      due: undefined,
      isUnderWay: false,
      timer: undefined,
    };
    this.#lanes.set(key, lane);
    return lane;
  }

  #plan(lane: Lane, due: Due): void {
    if (lane.due === undefined || dues.indexOf(due) > dues.indexOf(lane.due)) lane.due = due;
    this.#go(lane);
  }

  #go(lane: Lane): void {
    if (this.#isStopped || lane.isUnderWay || lane.backoff.isWaiting || lane.timer !== undefined) return;
    if (lane.due === undefined) return;
    const early = lane.toldAt + (this.#options.debounceMs ?? 1_000) - Date.now();
    if (early > 0) {
      lane.timer = setTimeout(() => {
        lane.timer = undefined;
        this.#go(lane);
      }, early);
      return;
    }
    lane.isUnderWay = true;
    const work = this.#limit(() => this.#tell(lane)).finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  async #tell(lane: Lane): Promise<void> {
    const { work } = this.#options;
    const { kind, name, due } = lane;
    const key = keyOf(kind, name);
    lane.due = undefined;
    lane.toldAt = Date.now();
    const probe = due === 'probe';
    try {
      if (due !== 'if-lost' || !(await work.isOpen(kind, name))) await work.wake(kind, name, { probe });
      if (probe) lane.probedAt = lane.toldAt;
      lane.backoff.reset();
      if (this.#outage.worked(key)) for (const other of this.#lanes.values()) other.backoff.hurry();
      if (this.#objectOf(lane) === undefined && !hasNews(lane)) this.#lanes.delete(key);
    } catch (error) {
      if (due !== undefined) this.#plan(lane, due);
      this.#outage.failed(key, `wake ${kind} ${name.namespace}/${name.name}`, error);
      lane.backoff.wait(() => this.#go(lane));
    }
    lane.isUnderWay = false;
    this.#go(lane);
  }
}

/** Something came while it was told. */
function hasNews({ due }: Lane): boolean {
  return due !== undefined;
}

function keyOf(kind: WorkKind, { namespace, name }: SetName): string {
  return `${kind} ${namespace}/${name}`;
}

/**
 * What somebody else may have changed, besides the generation. What a workflow writes itself is not among it, but that it is done:
 * it may have been wrong.
 */
function fingerprintOf(kind: WorkKind, { metadata, status }: KubeObject): string {
  const { uid, deletionTimestamp, annotations = {} } = metadata;
  const isMarked = kind === 'set' && annotations[cocoonKeys.migration] !== undefined;
  const phase = status?.['phase'];
  const isSettled = phase === 'Running' || phase === 'Suspended' || phase === 'Failed';
  return JSON.stringify([uid, deletionTimestamp, kind === 'set' && isSettled ? [phase, isMarked] : []]);
}

function phaseOf(status: KubeObject['status']): string {
  const phase = status?.['phase'];
  return typeof phase === 'string' ? phase : '';
}

function saysWork(kind: WorkKind, object: KubeObject): boolean {
  const { metadata, status } = object;
  const phase = phaseOf(status);
  if (metadata.deletionTimestamp !== undefined) return true;
  if (kind === 'hibernation') {
    const { generation, observedGeneration } = hibernationFactsOf(object);
    return !['Hibernated', 'Active'].includes(phase) || observedGeneration < generation;
  }
  return !['Running', 'Suspended'].includes(phase) || metadata.annotations?.[cocoonKeys.migration] !== undefined;
}
