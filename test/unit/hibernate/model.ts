import { decide, type Decision } from '../../../workflows/domain/hibernate/decide.ts';
import type {
  LifecycleState,
  NodeFacts,
  Observation,
  PodFacts,
  SetPhase,
} from '../../../workflows/domain/hibernate/observation.ts';
import type { MigrationRecord } from '../../../workflows/domain/hibernate/record.ts';
import type { Context, Order } from '../../../workflows/domain/hibernate/situation.ts';
import type { OwedDrop, SetLook } from '../../../workflows/domain/hibernate/set-look.ts';
import { setTurn, type SetAction } from '../../../workflows/domain/hibernate/set-turn.ts';
import type { Action } from '../../../workflows/domain/hibernate/step.ts';
import { AgentModel, type ModelVm, type Luck } from './agent-model.ts';
import { aContext, anUnscheduledPod, aNode, aPod, aSet, said, t0 } from './builders.ts';

export const nodeNames = ['node-a', 'node-b', 'node-c'] as const;
export type NodeName = (typeof nodeNames)[number];

export interface ModelTag {
  digest: string;
  counter: number;
  createdAt: string;
  foreign: boolean;
}

/** How the world under test may differ from ours: each is a planted bug. */
export interface Bugs {
  /** What the controller believes to see. */
  readonly seen?: (observation: Observation) => Observation;
  /** What the controller makes of a decision. */
  readonly decided?: (decision: Decision, observation: Observation) => Decision;
  /** Writes are not guarded by the version of the Pod. */
  readonly unguarded?: boolean;
  readonly settings?: Parameters<typeof aContext>[0] extends { settings?: infer S } | undefined ? S : never;
}

interface Pending {
  readonly action: Action | SetAction;
  readonly setVersion: number;
}

/** Writes to the set itself. */
const onTheSet: readonly string[] = ['writeRecord', 'setPhase', 'noteSuspending', 'forgetSuspending', 'noteOwedDrops'];

/** Counter of a guest that never was ours. */
const foreignCounter = 1_000_000;

/**
 * One set, its Pod, the registry, a node agent per node and a controller whose actions may be lost, late or repeated. The
 * guest of a VM counts; where it counts on is what may never be lost.
 */
export class World {
  nowMs = Date.parse(t0);
  version = 1;
  generation = 1;
  desired = 'node-a';
  phase: SetPhase = 'Running';
  suspended = false;
  suspendingSince: string | undefined;
  owedDrops: readonly OwedDrop[] = [];
  record: MigrationRecord | undefined;
  pod: PodFacts | undefined;
  tag: ModelTag | undefined;
  vms: ModelVm[] = [];
  agents: ReadonlyMap<string, AgentModel>;
  cordoned = new Set<string>();
  /** `flaps`: it denies what it has. */
  registry: 'ok' | 'down' | 'flaps' = 'ok';
  highest = 1;
  broken: string | undefined;
  pending: Pending[] = [];
  order: Order | undefined;
  ids = 10;
  readonly trace: string[] = [];
  readonly bugs: Bugs;

  constructor(bugs: Bugs = {}) {
    this.bugs = bugs;
    this.agents = new Map(nodeNames.map((name) => [name, new AgentModel(this, name)]));
    this.pod = aPod({ stamp: 1, lifecycle: said('ready', 1), resourceVersion: '1' });
    this.vms = [{ id: 'vm-1', node: 'node-a', podUID: 'pod-1', counter: 1, paused: false }];
  }

  get now(): string {
    return new Date(this.nowMs).toISOString();
  }

  nextId(kind: string): string {
    return `${kind}-${this.ids++}`;
  }

  note(what: string): void {
    this.trace.push(what);
  }

  /** A write to the Pod by anybody. */
  patchPod(change: Partial<PodFacts>): void {
    if (this.pod === undefined) return;
    this.pod = { ...this.pod, ...change, resourceVersion: `${++this.version}` };
  }

  say(state: LifecycleState): void {
    if (this.pod !== undefined) this.patchPod({ lifecycle: said(state, this.pod.stamp) });
  }

  look(): Observation {
    const set = aSet({
      generation: this.generation,
      resourceVersion: `${this.version}`,
      nodeName: this.desired,
      phase: this.phase,
      suspend: this.suspended,
      ...(this.record === undefined ? {} : { record: this.record }),
    });
    const source = this.pod === undefined || this.pod.nodeName === '' ? undefined : this.node(this.pod.nodeName);
    return {
      set,
      hibernations: [],
      tag: this.lookAtTag(),
      ...(this.pod === undefined ? {} : { pod: this.pod }),
      ...(source === undefined ? {} : { source }),
      ...(this.desired === '' ? {} : { target: this.node(this.desired) }),
    };
  }

  /** What the registry answers to those it answers at all. */
  visibleTag(): ModelTag | undefined {
    return this.registry === 'flaps' ? undefined : this.tag;
  }

  private lookAtTag(): Observation['tag'] {
    if (this.registry === 'down') return { state: 'unknown', reason: '503' };
    const tag = this.visibleTag();
    if (tag === undefined) return { state: 'absent' };
    return { state: 'present', digest: tag.digest, isSnapshot: true, baseImage: 'base:1', createdAt: tag.createdAt };
  }

  private node(name: string): NodeFacts {
    const isCut = this.agents.get(name)?.cutOff === true;
    return aNode(name, { ready: !isCut, unschedulable: this.cordoned.has(name) });
  }

  context(): Context {
    const { settings = {} } = this.bugs;
    return aContext({ now: this.now, settings, ...(this.order === undefined ? {} : { order: this.order }) });
  }

  decide(): Decision {
    const seen = (this.bugs.seen ?? ((it) => it))(this.look());
    const decision = decide(seen, this.context());
    return (this.bugs.decided ?? ((it) => it))(decision, seen);
  }

  private lookAtSet(): SetLook {
    const main = (this.bugs.seen ?? ((it) => it))(this.look());
    const { pod } = main;
    const agent = { slot: 0, drifted: false, unmanaged: false, tag: main.tag, hibernations: [] };
    return {
      ...(main.set === undefined ? {} : { set: main.set }),
      main,
      replicas: 0,
      snapshotPolicy: 'never',
      hasFinalizer: true,
      agents: [pod === undefined ? agent : { ...agent, pod }],
      ...(this.suspendingSince === undefined ? {} : { suspendingSince: this.suspendingSince }),
      owedDrops: this.owedDrops,
      isMigrationOpen: false,
    };
  }

  /** A turn of the set, and of its migration where that owns the turn, up to the action, which may come late. */
  turn(): string {
    const step = setTurn(this.lookAtSet(), this.context());
    if (step.action?.do === 'startMigration') return this.migrationTurn();
    if (step.phase !== undefined && step.phase !== this.phase) this.setPhase(step.phase);
    if (step.action !== undefined) this.pending.push({ action: step.action, setVersion: this.version });
    return `rule ${step.rule}${step.reason === undefined ? '' : ` ${step.reason}`}`;
  }

  private migrationTurn(): string {
    const { row, next } = this.decide();
    this.order = undefined;
    if (next.kind === 'act') this.pending.push({ action: next.action, setVersion: this.version });
    if (next.kind === 'leave' && this.pod === undefined && this.registry !== 'down') this.create(false);
    return next.kind === 'wait' || next.kind === 'hold' ? `${row} ${next.reason}` : row;
  }

  private setPhase(phase: SetPhase): void {
    this.phase = phase;
    this.version++;
  }

  private create(restore: boolean): void {
    const { pinnedTo, ...pod } = anUnscheduledPod({
      uid: this.nextId('pod'),
      restore,
      stamp: this.generation,
      createdAt: this.now,
    });
    const pin = this.desired === '' ? undefined : (pinnedTo ?? []).map(() => this.desired);
    this.pod = { ...pod, resourceVersion: `${++this.version}`, ...(pin === undefined ? {} : { pinnedTo: pin }) };
    this.note(`created ${restore ? 'to restore' : 'FRESH'} for ${this.desired}`);
  }

  /** A pending action takes effect. Whatever it was decided for has to be so still. */
  apply(index: number): void {
    const [pending] = this.pending.splice(index, 1);
    if (pending === undefined) return;
    const { action, setVersion } = pending;
    if (!this.isCurrent(action, setVersion)) return;
    this.note(`${action.do} ${JSON.stringify(action)}`);
    this.perform(action);
  }

  private isCurrent(action: Action | SetAction, setVersion: number): boolean {
    if (onTheSet.includes(action.do)) return setVersion === this.version;
    const version = 'pods' in action ? action.pods[0] : 'pod' in action ? action.pod : undefined;
    if (version === undefined) return true;
    if (this.bugs.unguarded === true) return this.pod !== undefined;
    return this.pod?.uid === version.uid && this.pod.resourceVersion === version.resourceVersion;
  }

  private perform(action: Action | SetAction): void {
    switch (action.do) {
      case 'stampPod':
      case 'stampPods': {
        this.patchPod({ stamp: action.generation });
        return;
      }
      case 'writeRecord':
        this.record = action.record;
        this.version++;
        return;
      case 'setPhase': {
        this.setPhase(action.phase === 'settled' ? 'Running' : 'Migrating');
        return;
      }
      case 'setHibernate': {
        this.patchPod({ hibernate: true });
        return;
      }
      case 'clearHibernate': {
        this.patchPod({ hibernate: false });
        return;
      }
      case 'deletePod': {
        this.deletePod(action.force);
        return;
      }
      case 'deletePods': {
        this.deletePod(false);
        return;
      }
      case 'createPod':
      case 'createMain':
        if (this.pod === undefined) this.create(action.do === 'createPod' || action.restore !== undefined);
        return;
      case 'dropTag': {
        this.dropTag(action);
        return;
      }
      case 'noteSuspending':
      case 'forgetSuspending':
        this.suspendingSince = action.do === 'noteSuspending' ? this.now : undefined;
        this.version++;
        return;
      case 'noteOwedDrops':
        this.owedDrops = action.owed;
        this.version++;
        return;
      default:
        throw new Error(`nobody expects ${action.do} here`);
    }
  }

  private deletePod(force: boolean): void {
    if (this.pod === undefined) return;
    const isRedo = this.record?.redo?.podUID === this.pod.uid && this.pod.vmId === '' && !this.pod.containerRunning;
    // A person has given up whatever its agent may be restoring at this moment: the snapshot is what counts.
    if (isRedo && this.tag?.foreign === false) this.highest = this.tag.counter;
    if (this.pod.nodeName === '' || force) this.pod = undefined;
    else this.patchPod({ deletedAt: this.now });
  }

  /** Looks again right before it deletes. */
  private dropTag(action: Extract<Action | SetAction, { do: 'dropTag' }>): void {
    const step = setTurn(this.lookAtSet(), this.context());
    const decided = step.action?.do === 'startMigration' ? this.decide().next : undefined;
    const again = decided?.kind === 'act' ? decided.action : step.action;
    if (JSON.stringify(again) !== JSON.stringify(action) || this.tag?.digest !== action.digest) return;
    if (this.tag.foreign) this.broken ??= 'P4: a foreign snapshot was deleted';
    this.tag = undefined;
  }

  bind(choice: number): void {
    const { pod } = this;
    if (pod === undefined || pod.nodeName !== '') return;
    const fitting = nodeNames.filter((name) => !this.cordoned.has(name) && (pod.pinnedTo?.includes(name) ?? true));
    const nodeName = fitting[choice % Math.max(fitting.length, 1)];
    if (nodeName !== undefined) this.patchPod({ nodeName, scheduledAt: this.now });
  }

  retarget(desired: string): void {
    if (desired === this.desired) return;
    this.desired = desired;
    this.generation++;
    this.version++;
    this.note(`wanted on ${desired === '' ? 'any node' : desired}`);
  }

  suspend(suspended: boolean): void {
    if (suspended === this.suspended) return;
    this.suspended = suspended;
    this.generation++;
    this.version++;
  }

  abort(): void {
    if (this.record === undefined) return;
    this.order = 'abort';
    this.retarget(this.record.from);
  }

  plantForeignTag(): void {
    const createdAt = new Date(Date.parse(t0) - 30 * 86_400_000).toISOString();
    this.tag ??= { digest: this.nextId('foreign'), counter: foreignCounter, createdAt, foreign: true };
  }

  /** Guests run. */
  tick(): void {
    this.nowMs += 1_000;
    this.vms = this.vms.map((vm) => (vm.paused ? vm : { ...vm, counter: vm.counter + 1 }));
  }

  /** Long enough for every deadline. The fence stands for this: agents notice within it that their Pod is gone. */
  waitLong(): void {
    if ([...this.agents.values()].some((agent) => agent.isBehind())) return;
    this.nowMs += 31 * 60_000;
  }

  toggleCutOff(name: NodeName): void {
    const agent = this.agents.get(name);
    if (agent !== undefined) agent.cutOff = !agent.cutOff;
  }

  forget(): void {
    this.record = undefined;
    this.version++;
  }

  step(node: NodeName, luck: Luck): void {
    this.agents.get(node)?.step(luck);
  }

  /**
   * One VM, alive where it is wanted, and nothing left of the way there. A VM whose agent has a problem with it is not the
   * migration's any more: the set shows it as failed, and what else is to be done about it is a person's matter.
   */
  isSettled(): boolean {
    const [vm] = this.vms;
    const isThere = this.desired === '' || vm?.node === this.desired;
    const isAwake = !this.suspended && this.pod?.hibernate === false;
    const isClosed = this.record === undefined && this.phase !== 'Migrating';
    const isClean = (this.tag === undefined && this.owedDrops.length === 0) || this.pod?.lifecycle?.state === 'failed';
    const isSeen = this.pod?.vmId === vm?.id && isAwake;
    return this.vms.length === 1 && isThere && isClosed && isClean && isSeen;
  }

  /** What must hold at every instant. */
  check(): void {
    for (const { counter, id, podUID } of this.vms) {
      if (counter >= foreignCounter) this.broken ??= `P4: ${id} was restored from a foreign snapshot`;
      else if (podUID === this.pod?.uid && this.pod.deletedAt === undefined)
        this.highest = Math.max(this.highest, counter);
    }
    const newest = Math.max(
      0,
      ...this.vms.map(({ counter }) => counter),
      this.tag?.foreign === false ? this.tag.counter : 0,
    );
    if (newest < this.highest) this.broken ??= `P1: state ${this.highest} is lost, ${newest} is left`;
    if (this.vms.length > 1) this.broken ??= `P2: ${this.vms.map(({ id, node }) => `${id} on ${node}`).join(' and ')}`;
  }
}
