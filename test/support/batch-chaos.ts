import { setTimeout as sleep } from 'node:timers/promises';
import type { MigrationView } from '../../workflows/contracts/batch.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { resolve, someDeed } from './batch-deeds.ts';
import { isLeftOff, isMigrated, type Span } from './batch-invariants.ts';
import type { BatchRig } from './batch-rig.ts';
import type { BatchUnderTest, SourceVm } from './batch-scenario.ts';
import { oneOf } from './random.ts';

/** One batch in the hands of people and of the world. */
export class BatchLife {
  readonly seed: number;
  readonly batch: BatchUnderTest;
  /** Of its own; its VMs are mapped to it. */
  readonly network: string;
  /** Those that ran as their batch began: nobody but us switches them off. */
  readonly running: ReadonlySet<SourceVm>;
  /** What was written to them may have been written with nobody looking: as they were going off. */
  readonly unsure = new Set<SourceVm>();
  readonly #random: () => number;
  /** When others switched a source on. */
  readonly #switchedOn = new Map<SourceVm, Span[]>();
  /** Orders that were given and may not be answered yet: one that comes late changes what is wanted. */
  readonly #given: Promise<unknown>[] = [];
  readonly #problems: string[] = [];

  constructor(seed: number, batch: BatchUnderTest, network: string, random: () => number) {
    this.seed = seed;
    this.batch = batch;
    this.network = network;
    this.running = new Set(batch.vms.filter(({ isOnAtFirst }) => isOnAtFirst));
    this.#random = random;
  }

  /** Guarantees that were seen broken on the way, in words. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  switchedOn(vm: SourceVm): readonly Span[] {
    return this.#switchedOn.get(vm) ?? [];
  }

  /** Random deeds, the same ones for the same random numbers. Each is done whatever the batch is at. */
  async makeAMess(count: number): Promise<void> {
    for (let done = 0; done < count; done += 1) {
      await sleep(200 + this.#random() * 1_300);
      const deed = someDeed(this.#random);
      const vm = oneOf(this.batch.vms, this.#random);
      await deed(this, vm, this.#random).catch(() => undefined);
      await this.look(vm);
    }
  }

  /** I1, at any time. What can't be told now is told another time. */
  async look(vm: SourceVm): Promise<void> {
    const isOff = this.running.has(vm) && (await isLeftOff(vm).catch(() => false));
    if (isOff) this.#problems.push(`the source of ${vm.name} was left off`);
  }

  /** An order of an operator, refused wherever it can't be. Who waits for its answer waits for two seconds. */
  async order(order: () => Promise<unknown>): Promise<void> {
    const given = order().catch(() => undefined);
    this.#given.push(given);
    await Promise.race([given, sleep(2_000, undefined, { ref: false })]);
  }

  /** Somebody who isn't us switches a source on. */
  async switchOn(vm: SourceVm): Promise<void> {
    const from = Date.now();
    await vm.rig.control.powerOnVm(vm.ref);
    this.#switchedOn.set(vm, [...this.switchedOn(vm), { from, to: Date.now() }]);
  }

  /** Nothing is broken any more, and nobody keeps anything from going on. */
  async heal(): Promise<void> {
    const { incus } = this.batch.rig;
    await Promise.race([Promise.all(this.#given), sleep(60_000, undefined, { ref: false })]);
    incus.removeNetwork(this.network);
    incus.addNetwork(this.network);
  }

  /** What an operator does next so that everything gets finished; true once it is. */
  async driveOn(): Promise<boolean> {
    const { batch } = this;
    const { status } = await batch.view();
    if (status === 'Finished') return true;
    if (status === 'Stopped' || status === 'Defined') await batch.start();
    const isDone = await Promise.all(batch.vms.map((vm) => this.#drive(vm).catch(() => false)));
    return isDone.every(Boolean);
  }

  /** Answers whether nothing is left to be done, and the batch can't say so: it was reset when this one was finished. */
  async #drive(vm: SourceVm): Promise<boolean> {
    await this.look(vm);
    const view: MigrationView = await vm.view();
    const { status, substate, message, resolveCount } = view;
    if (isMigrated(vm)) return status === 'Finished' || status === 'Blocked' || status === 'Canceled';
    if (status === 'Conflict')
      await (resolveCount < 5 ? resolve(vm, 'recheck') : vm.update(messages.cancel, { cleanup: true }));
    else if (status === 'Error') await vm.update(messages.cancel, { cleanup: true });
    else if (status === 'Canceled' && substate === undefined) await vm.update(messages.retry);
    else if (message.startsWith('held')) await vm.update(messages.unhold);
    return false;
  }
}

/** All rigs' faults at once, for all batches. */
export async function healRig({ proxy, control, incus }: BatchRig): Promise<void> {
  proxy.clearRules();
  incus.faults.clear();
  await control.clearFaults();
  await proxy.up();
  await incus.up();
}
