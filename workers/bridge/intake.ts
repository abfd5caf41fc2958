import pLimit from 'p-limit';
import type { KubeObject, ResourceWatch } from '../../activities/kubernetes/port.ts';
import { byAcceptance } from '../../activities/vmop/list-active.ts';
import { vmopOf, type Vmop } from '../../activities/vmop/objects.ts';
import type { WorkerLog } from '../log.ts';
import { Backoff } from './backoff.ts';
import type { Coordinators } from './coordinators.ts';
import { nextStep, type Told } from './next-step.ts';
import { Outage } from './outage.ts';

export interface IntakeOptions {
  readonly watch: ResourceWatch;
  readonly coordinators: Coordinators;
  readonly log: Pick<WorkerLog, 'info' | 'warn'>;
  /** VMs that are worked on at once. Default 32. */
  readonly sideBySide?: number;
  /** How often operations that nobody seems to have taken in are handed over again. Default 60,000. */
  readonly resyncMs?: number;
  readonly backoff?: { readonly shortestMs: number; readonly longestMs: number };
}

/** What is known of one operation object: its newest state and what its coordinator was told. */
interface Entry {
  vmop: Vmop;
  told: Told;
  isGone: boolean;
}

/** The operations of one VM. At most one call is under way, so that they arrive in their order. */
interface Lane {
  readonly key: string;
  readonly entries: Map<string, Entry>;
  readonly backoff: Backoff;
  isQueued: boolean;
}

/**
 * Tells the coordinators of VMs what the watch sees. Keeps nothing: after a restart everything is told again, and being told
 * twice changes nothing. What can't be told now is tried until it can, the newest state first known, one entry per object.
 */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #outage: Outage;
  readonly #unsubscribe: () => void;
  readonly #resync: NodeJS.Timeout;
  readonly #underWay = new Set<Promise<void>>();
  #isStopped = false;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#limit = pLimit(options.sideBySide ?? 32);
    this.#outage = new Outage(options.log);
    this.#unsubscribe = options.watch.subscribe(({ type, object }) => this.#see(object, type === 'deleted'));
    for (const object of options.watch.items()) this.#see(object, false);
    this.#resync = setInterval(() => this.resync(), options.resyncMs ?? 60_000).unref();
  }

  /** Operations whose coordinator doesn't know their newest state yet. */
  get pending(): number {
    let count = 0;
    for (const { entries } of this.#lanes.values())
      for (const entry of entries.values()) if (nextStep(entry) !== undefined) count += 1;
    return count;
  }

  /** Operations that still have no phase are told again: whoever should have taken them in may have lost them. */
  resync(): void {
    for (const lane of this.#lanes.values()) {
      for (const entry of lane.entries.values())
        if (entry.told === 'submitted' && entry.vmop.phase === undefined) entry.told = 'nothing';
      this.#enqueue(lane);
    }
  }

  /** Resolves when no call is under way any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    clearInterval(this.#resync);
    for (const { backoff } of this.#lanes.values()) backoff.cancel();
    await Promise.all(this.#underWay);
  }

  #see(object: KubeObject, isGone: boolean): void {
    const vmop = vmopOf(object);
    const key = `${vmop.ref.namespace}/${vmop.ref.vmName}`;
    const lane = this.#lanes.get(key) ?? this.#newLane(key);
    const entry = lane.entries.get(vmop.ref.uid) ?? { vmop, told: 'nothing', isGone };
    Object.assign(entry, { vmop, isGone });
    if (vmop.isTerminal) lane.entries.delete(vmop.ref.uid);
    else lane.entries.set(vmop.ref.uid, entry);
    if (lane.entries.size > 0) this.#lanes.set(key, lane);
    this.#enqueue(lane);
  }

  #newLane(key: string): Lane {
    return { key, entries: new Map(), backoff: new Backoff(this.#options.backoff), isQueued: false };
  }

  /** Takes effect after whatever else the watch has to say at this moment: a list is put in order as a whole. */
  #enqueue(lane: Lane): void {
    if (this.#isStopped || lane.isQueued || lane.backoff.isWaiting) return;
    lane.isQueued = true;
    setImmediate(() => {
      const work = this.#limit(() => this.#work(lane)).finally(() => this.#underWay.delete(work));
      this.#underWay.add(work);
    });
  }

  /** One step for one VM, then it queues again: a VM with many operations doesn't hold up the others. */
  async #work(lane: Lane): Promise<void> {
    if (this.#isStopped) return;
    const entry = this.#next(lane);
    if (entry !== undefined) await this.#tell(lane, entry);
    lane.isQueued = false;
    if (this.#next(lane) !== undefined) this.#enqueue(lane);
    else if (lane.entries.size === 0) this.#forget(lane);
  }

  #forget({ key }: Lane): void {
    this.#lanes.delete(key);
    this.#outage.worked(key);
  }

  /** The oldest that has something to tell; what is over for good is forgotten. */
  #next(lane: Lane): Entry | undefined {
    const due: Entry[] = [];
    for (const [uid, entry] of lane.entries) {
      if (nextStep(entry) !== undefined) due.push(entry);
      else if (entry.isGone) lane.entries.delete(uid);
    }
    return due.sort((a, b) => byAcceptance(a.vmop, b.vmop))[0];
  }

  async #tell(lane: Lane, entry: Entry): Promise<void> {
    const { coordinators } = this.#options;
    const { ref } = entry.vmop;
    const step = nextStep(entry);
    try {
      if (step === 'submit') await coordinators.submit(ref);
      else await coordinators.deleted(ref);
    } catch (error) {
      this.#outage.failed(lane.key, `${step ?? 'nothing'} ${ref.namespace}/${ref.name}`, error);
      lane.backoff.wait(() => this.#enqueue(lane));
      return;
    }
    entry.told = step === 'submit' ? 'submitted' : 'deleted';
    lane.backoff.reset();
    // One that had failed gets through again: the others need not wait until it is their turn.
    if (this.#outage.worked(lane.key)) for (const other of this.#lanes.values()) other.backoff.hurry();
  }
}
