import type { LifecycleState, PodFacts } from '../../../workflows/domain/hibernate/observation.ts';
import { said } from './builders.ts';
import type { World } from './model.ts';

export interface ModelVm {
  readonly id: string;
  readonly node: string;
  readonly podUID: string;
  readonly counter: number;
  readonly paused: boolean;
}

/** How the next step of an agent goes. `lost`: its write to the API server is, and is made up for later. */
export type Luck = 'ok' | 'fails' | 'lost' | 'crashes';

interface Job {
  readonly kind: 'hibernate' | 'bring-up';
  readonly podUID: string;
  readonly step: number;
  /** Stamp that it saw when it began. */
  readonly stamp: number;
  /** Counter that was saved, and the VM that was made. */
  readonly counter?: number;
  readonly vmId?: string;
}

interface Owed {
  readonly podUID: string;
  readonly change: Partial<PodFacts>;
}

/**
 * The agent of one node in small steps: one event at a time, always on the newest Pod, with nothing kept but the VMs. Between any
 * two steps anything may happen elsewhere.
 */
export class AgentModel {
  /** It reaches the registry and its VMs, not the API server. */
  cutOff = false;
  private job: Job | undefined;
  /** Writes to the Pod that were lost. */
  private owed: Owed[] = [];
  private readonly booted = new Set<string>();
  private asleep: string | undefined;
  private readonly world: World;
  private readonly node: string;

  constructor(world: World, node: string) {
    this.world = world;
    this.node = node;
    if (node === 'node-a') this.booted.add('pod-1');
  }

  /** It is at work for a Pod that is gone. */
  isBehind(): boolean {
    const current = this.world.pod?.uid;
    return (this.job !== undefined && this.job.podUID !== current) || this.vms.some(({ podUID }) => podUID !== current);
  }

  step(luck: Luck): void {
    if (luck === 'crashes') {
      this.restart();
      return;
    }
    if (this.isDeletedMeanwhile()) {
      this.world.pod = undefined;
      this.world.note(`agent of ${this.node} removes the Pod of its restore`);
      return;
    }
    if (this.job !== undefined) return this.steps[this.job.kind][this.job.step]?.(this.job, luck);
    if (!this.cutOff) this.begin();
  }

  /** The Pod goes at once; the restore that is under way is ended first and taken back afterwards. */
  private isDeletedMeanwhile(): boolean {
    const { pod } = this;
    if (pod === undefined || this.cutOff || this.job?.kind !== 'bring-up' || this.job.podUID !== pod.uid) return false;
    return pod.deletedAt !== undefined && !pod.containerRunning;
  }

  private get vms(): ModelVm[] {
    return this.world.vms.filter(({ node }) => node === this.node);
  }

  private get pod(): PodFacts | undefined {
    return this.world.pod?.nodeName === this.node ? this.world.pod : undefined;
  }

  private restart(): void {
    this.job = undefined;
    this.owed = [];
    this.asleep = undefined;
    this.world.vms = this.world.vms.map((vm) => (vm.node === this.node ? { ...vm, paused: false } : vm));
    this.world.note(`agent of ${this.node} restarts`);
  }

  /** Looks at the newest Pod and takes up what there is to do. */
  private begin(): void {
    const { pod, world } = this;
    const orphan = this.vms.find(({ podUID }) => podUID !== pod?.uid);
    if (orphan !== undefined) {
      this.destroy(orphan);
      return;
    }
    if (pod === undefined) return;
    if (pod.deletedAt !== undefined) {
      this.remove(pod);
      return;
    }
    if (this.flush(pod)) return;
    const [vm] = this.vms;
    if (pod.hibernate && vm !== undefined) {
      this.start('hibernate', pod);
      return;
    }
    if (pod.hibernate && (this.asleep === pod.uid || pod.lifecycle?.state === 'hibernated')) {
      this.republish(pod);
      return;
    }
    if (pod.hibernate && pod.lifecycle?.state === 'hibernating') {
      world.patchPod({ vmId: '', containerRunning: false });
      world.say('hibernated');
      return;
    }
    if (vm === undefined) {
      this.start('bring-up', pod);
      return;
    }
    if (pod.vmId !== vm.id || !pod.containerRunning) {
      world.patchPod({ vmId: vm.id, containerRunning: true });
      return;
    }
    if (pod.lifecycle?.state !== 'ready' && pod.lifecycle?.state !== 'failed') {
      world.say('ready');
      return;
    }
    this.republish(pod);
  }

  private republish({ lifecycle, stamp }: PodFacts): void {
    if (lifecycle !== undefined && lifecycle.observedGeneration < stamp) this.world.say(lifecycle.state);
  }

  private remove(pod: PodFacts): void {
    const [vm] = this.vms;
    if (vm !== undefined && pod.containerRunning) this.destroy(vm);
    this.world.pod = undefined;
    this.world.note(`agent of ${this.node} removes the Pod`);
  }

  private destroy(vm: ModelVm): void {
    this.world.vms = this.world.vms.filter(({ id }) => id !== vm.id);
    this.world.note(`agent of ${this.node} destroys ${vm.id} at ${vm.counter}`);
  }

  private start(kind: Job['kind'], { uid, stamp }: PodFacts): void {
    this.job = { kind, podUID: uid, stamp, step: 0 };
    this.world.note(`agent of ${this.node} begins to ${kind}`);
  }

  private next(job: Job, more: Partial<Job> = {}): void {
    this.job = { ...job, ...more, step: job.step + 1 };
  }

  /** A write to the Pod. One that is lost is made up for at the next occasion, unless a newer one of its kind came first. */
  private write(job: Job, luck: Luck, change: Partial<PodFacts>): void {
    if (this.pod?.uid !== job.podUID) return;
    this.owed = this.owed.filter((one) => !Object.keys(one.change).some((key) => key in change));
    if (this.cutOff || luck === 'lost') this.owed.push({ podUID: job.podUID, change });
    else this.world.patchPod(change);
  }

  /** What it says, about the generation that it has seen. */
  private say(job: Job, luck: Luck, state: LifecycleState): void {
    const stamp = this.cutOff ? job.stamp : (this.pod?.stamp ?? job.stamp);
    this.write(job, luck, { lifecycle: said(state, stamp) });
  }

  private flush(pod: PodFacts): boolean {
    const owed = this.owed.filter(({ podUID }) => podUID === pod.uid);
    this.owed = [];
    for (const { change } of owed) this.world.patchPod(change);
    return owed.length > 0;
  }

  private fail(job: Job, luck: Luck): void {
    this.world.vms = this.world.vms.map((vm) => (vm.node === this.node ? { ...vm, paused: false } : vm));
    this.say(job, luck, 'failed');
    this.job = undefined;
    this.world.note(`agent of ${this.node} fails to ${job.kind} at step ${job.step}`);
  }

  private readonly steps: Readonly<Record<Job['kind'], readonly ((job: Job, luck: Luck) => void)[]>> = {
    hibernate: [
      (job, luck) => {
        this.say(job, luck, 'hibernating');
        this.next(job);
      },
      (job, luck) => {
        const [vm] = this.vms;
        if (luck === 'fails' || vm === undefined) {
          this.fail(job, luck);
          return;
        }
        this.world.vms = this.world.vms.map((one) => (one.id === vm.id ? { ...one, paused: true } : one));
        this.next(job, { counter: vm.counter, vmId: vm.id });
      },
      (job, luck) => {
        if (luck === 'fails') {
          this.fail(job, luck);
          return;
        }
        const digest = this.world.nextId('sha256:');
        this.world.tag = { digest, counter: job.counter ?? 0, createdAt: this.world.now, foreign: false };
        this.world.note(`agent of ${this.node} stores ${digest} at ${job.counter ?? 0}`);
        this.next(job);
      },
      (job, luck) => {
        // Best effort: an id that can't be removed stays for a while.
        if (luck !== 'fails') this.write(job, luck, { vmId: '' });
        this.next(job);
      },
      (job, luck) => {
        const vm = this.vms.find(({ id }) => id === job.vmId);
        if (luck === 'fails' || vm === undefined) {
          // Odd counters stand for a registry that refuses to take the tag back.
          if ((job.counter ?? 0) % 2 === 0) this.world.tag = undefined;
          this.write(job, 'ok', { vmId: job.vmId ?? '' });
          this.fail(job, luck);
          return;
        }
        this.destroy(vm);
        this.asleep = job.podUID;
        this.next(job);
      },
      (job, luck) => {
        this.write(job, luck, { vmId: '', containerRunning: false });
        this.say(job, luck, 'hibernated');
        this.job = undefined;
      },
    ],
    'bring-up': [
      (job, luck) => {
        this.asleep = undefined;
        this.say(job, luck, 'creating');
        this.write(job, luck, { vmId: '', containerRunning: false });
        this.next(job);
      },
      (job, luck) => {
        const tag = this.world.visibleTag();
        const isOwn = this.pod?.uid === job.podUID;
        const mustRestore = !isOwn || this.pod.restore || this.booted.has(job.podUID);
        if (luck === 'fails' || (tag === undefined && mustRestore)) {
          this.fail(job, luck);
          return;
        }
        this.next(job, { counter: tag?.counter ?? 0 });
      },
      (job, luck) => {
        if (luck === 'fails') {
          this.fail(job, luck);
          return;
        }
        const id = this.world.nextId('vm');
        this.booted.add(job.podUID);
        this.world.vms = [
          ...this.world.vms,
          { id, node: this.node, podUID: job.podUID, counter: job.counter ?? 0, paused: true },
        ];
        this.world.note(`agent of ${this.node} brings up ${id} at ${job.counter ?? 0}`);
        this.next(job, { vmId: id });
      },
      (job, luck) => {
        this.write(job, luck, { vmId: job.vmId ?? '' });
        this.next(job);
      },
      (job, luck) => {
        const vm = this.vms.find(({ id }) => id === job.vmId);
        if (luck === 'fails' && vm !== undefined) {
          // It did not survive its start.
          this.destroy(vm);
          this.write(job, 'ok', { vmId: '' });
          this.fail(job, luck);
          return;
        }
        this.world.vms = this.world.vms.map((one) => (one.id === vm?.id ? { ...one, paused: false } : one));
        this.write(job, luck, { containerRunning: true });
        this.next(job);
      },
      (job, luck) => {
        if (luck === 'fails') {
          this.fail(job, luck);
          return;
        }
        this.say(job, luck, 'ready');
        this.job = undefined;
      },
    ],
  };
}
