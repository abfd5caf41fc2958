import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchView, MigrationView } from '../../workflows/contracts/batch.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { Fault } from '../sim/incus/incus-sim.ts';
import { about, targetCall, type TargetCall } from './batch-holds.ts';
import { snapshotsOf } from './batch-invariants.ts';
import type { BatchRig } from './batch-rig.ts';
import type { BatchUnderTest, SourceVm } from './batch-scenario.ts';
import { oneOf } from './random.ts';

const mib = 1024 * 1024;

/** One batch in the hands of people and of the world. */
export class BatchLife {
  readonly batch: BatchUnderTest;
  /** Of its own; its VMs are mapped to it. */
  readonly network: string;
  readonly #random: () => number;
  /** Orders that were given and may not be answered yet: one that comes late changes what is wanted. */
  readonly #given: Promise<unknown>[] = [];

  constructor(batch: BatchUnderTest, network: string, random: () => number) {
    this.batch = batch;
    this.network = network;
    this.#random = random;
  }

  /** Random deeds, the same ones for the same random numbers. Each is done whatever the batch is at. */
  async makeAMess(count: number): Promise<void> {
    const sum = deeds.reduce((total, { often }) => total + often, 0);
    for (let done = 0; done < count; done += 1) {
      await sleep(200 + this.#random() * 1_300);
      let left = this.#random() * sum;
      const chosen = deeds.find(({ often }) => (left -= often) < 0) ?? deeds[0];
      const vm = oneOf(this.batch.vms, this.#random);
      await chosen?.deed(this, vm, this.#random).catch(() => undefined);
    }
  }

  /** An order of an operator, refused wherever it can't be. Who waits for its answer waits for two seconds. */
  async order(order: () => Promise<unknown>): Promise<void> {
    const given = order().catch(() => undefined);
    this.#given.push(given);
    await Promise.race([given, sleep(2_000, undefined, { ref: false })]);
  }

  /** Nothing is broken any more, and nobody keeps anything from going on. */
  async heal(): Promise<void> {
    const { incus } = this.batch.rig;
    await Promise.race([Promise.all(this.#given), sleep(60_000, undefined, { ref: false })]);
    incus.removeNetwork(this.network);
    incus.addNetwork(this.network);
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

type Deed = (life: BatchLife, vm: SourceVm, random: () => number) => Promise<void>;

/** What people and the world do, with how often. */
const deeds: readonly { readonly often: number; readonly deed: Deed }[] = [
  { often: 10, deed: targetFault },
  { often: 8, deed: sourceFault },
  { often: 3, deed: taskFault },
  { often: 6, deed: operator },
  { often: 2, deed: batchOrder },
  { often: 3, deed: write },
  { often: 2, deed: switchOn },
  { often: 2, deed: snapshots },
  { often: 2, deed: ({ batch }, { ref }, random) => batch.rig.control.changeVm(ref, { cpus: oneOf([1, 2], random) }) },
  { often: 1, deed: ({ batch }, { ref }) => batch.rig.control.resetTracking(ref) },
  { often: 2, deed: networkAway },
  { often: 1, deed: sessionsEnd },
  { often: 1, deed: targetAway },
  { often: 1, deed: sourceAway },
];

const effects: readonly Fault['effect'][] = [
  { kind: 'status', status: 500, error: 'database is locked' },
  { kind: 'status', status: 503, isDone: true },
  { kind: 'page', status: 502 },
  { kind: 'delay', ms: 1_500 },
  { kind: 'drop', when: 'before' },
  { kind: 'drop', when: 'after' },
  { kind: 'fail-operation', error: 'disk I/O error' },
  { kind: 'no-effect' },
  { kind: 'slow-operation', ms: 2_000 },
  { kind: 'etag-race' },
  { kind: 'nbd-cut', afterBytes: 3 * mib },
];
const calls: readonly TargetCall[] = ['disk', 'configure', 'power', 'delete', 'look'];

async function targetFault({ batch }: BatchLife, vm: SourceVm, random: () => number): Promise<void> {
  const times = 1 + Math.floor(random() * 3);
  const where =
    random() < 0.2
      ? ({ method: 'POST', path: /^\/1.0\/instances$/, name: vm.name } as const)
      : targetCall(oneOf(calls, random), vm);
  batch.rig.incus.faults.add({ ...where, times, effect: oneOf(effects, random) });
  await Promise.resolve();
}

const methods = [
  '*',
  'RetrievePropertiesEx',
  'CreateSnapshot_Task',
  'ShutdownGuest',
  'PowerOnVM_Task',
  'ExportSnapshot',
];

async function sourceFault({ batch }: BatchLife, vm: SourceVm, random: () => number): Promise<void> {
  const action = oneOf(['drop-before', 'drop-after', 'http-503', 'truncate'] as const, random);
  const times = 1 + Math.floor(random() * 3);
  batch.rig.proxy.addRule({ method: oneOf(methods, random), match: about(vm), times, action });
  await Promise.resolve();
}

async function taskFault({ batch }: BatchLife, { name }: SourceVm, random: () => number): Promise<void> {
  const method = oneOf(['CreateSnapshot_Task', 'PowerOnVM_Task', 'PowerOffVM_Task'], random);
  await batch.rig.control.addFault({ method, objectName: name, fault: 'SystemError', asTaskError: true, count: 1 });
}

async function operator(life: BatchLife, vm: SourceVm, random: () => number): Promise<void> {
  const cleanup = random() < 0.5;
  const orders = [
    () => vm.update(messages.cancel, { cleanup }),
    () => vm.update(messages.retry),
    () => vm.update(messages.retry),
    () => vm.update(messages.hold),
    () => vm.update(messages.unhold),
    () => vm.update(messages.cutover),
    () => vm.update(messages.cleanup),
    () => resolve(vm, random() < 0.8 ? 'recheck' : 'cancel'),
  ];
  await life.order(oneOf(orders, random));
}

export async function resolve(vm: SourceVm, decision: 'recheck' | 'cancel'): Promise<void> {
  const { conflict } = await vm.view();
  if (conflict !== undefined) await vm.update(messages.resolve, { conflictId: conflict.id, decision });
}

async function batchOrder(life: BatchLife, _vm: SourceVm, random: () => number): Promise<void> {
  const { batch } = life;
  const orders = [
    () => batch.update(messages.stop),
    () => batch.update(messages.resume),
    () => batch.update(messages.resume),
    () => batch.update(messages.reset, { force: true }),
    () => batch.start(),
  ];
  await life.order(oneOf(orders, random));
}

/** Only what is certainly not in its downtime: a VM that is off writes nothing. */
async function write(life: BatchLife, vm: SourceVm, random: () => number): Promise<void> {
  const seed = 1 + Math.floor(random() * 1e6);
  const start = Math.floor(random() * 7) * mib;
  await life.order(async () => {
    await vm.update(messages.hold);
    if ((await vm.power()) === 'poweredOn') await vm.rig.control.fillDisk(vm.ref, 0, start, mib / 2, seed);
    await vm.update(messages.unhold);
  });
}

async function switchOn(_life: BatchLife, vm: SourceVm): Promise<void> {
  const { committed } = await vm.view();
  if (committed) await vm.rig.control.powerOnVm(vm.ref);
}

async function snapshots(_life: BatchLife, vm: SourceVm, random: () => number): Promise<void> {
  const [ours] = (await snapshotsOf(vm)).filter((name) => name.startsWith('mm-'));
  if (ours !== undefined && random() < 0.5) await vm.rig.control.removeSnapshot(vm.ref, ours);
  else await vm.rig.control.snapshotVm(vm.ref, 'nightly');
}

/** Its network is there, or not. */
async function networkAway({ batch, network }: BatchLife, _vm: SourceVm, random: () => number): Promise<void> {
  const { incus } = batch.rig;
  incus.removeNetwork(network);
  if (random() < 0.5) incus.addNetwork(network);
  await Promise.resolve();
}

async function sessionsEnd({ batch }: BatchLife): Promise<void> {
  await batch.rig.control.terminateSessions();
}

async function targetAway({ batch }: BatchLife, _vm: SourceVm, random: () => number): Promise<void> {
  const { incus } = batch.rig;
  if (random() < 0.5) await incus.restart();
  else {
    await incus.down();
    await sleep(500 + random() * 3_000);
    await incus.up();
  }
}

async function sourceAway({ batch }: BatchLife, _vm: SourceVm, random: () => number): Promise<void> {
  await batch.rig.proxy.down();
  await sleep(500 + random() * 3_000);
  await batch.rig.proxy.up();
}

/** What an operator does next so that everything gets finished; true once it is. */
export async function driveOn(batch: BatchUnderTest): Promise<boolean> {
  const { status } = await batch.handle.query<BatchView>(messages.status);
  if (status === 'Finished') return true;
  if (status === 'Stopped' || status === 'Defined') await batch.start();
  await Promise.all(batch.vms.map((vm) => driveVm(vm).catch(() => undefined)));
  return false;
}

async function driveVm(vm: SourceVm): Promise<void> {
  const view: MigrationView = await vm.view();
  const { status, substate, message, resolveCount } = view;
  if (status === 'Conflict')
    await (resolveCount < 5 ? resolve(vm, 'recheck') : vm.update(messages.cancel, { cleanup: true }));
  else if (status === 'Error') await vm.update(messages.cancel, { cleanup: true });
  else if (status === 'Canceled' && substate === undefined) await vm.update(messages.retry);
  else if (message.startsWith('held')) await vm.update(messages.unhold);
}
