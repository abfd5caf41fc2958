import { setTimeout as sleep } from 'node:timers/promises';
import { messages } from '../../workflows/contracts/messages.ts';
import type { EntryStatus } from '../../workflows/domain/batch/records.ts';
import type { Fault } from '../sim/incus/incus-sim.ts';
import type { RecordedRequest } from '../sim/request-log.ts';
import type { BatchLife } from './batch-chaos.ts';
import { about, targetCall, type TargetCall } from './batch-holds.ts';
import { powerChanges, snapshotsOf } from './batch-invariants.ts';
import type { SourceVm } from './batch-scenario.ts';
import { oneByWeight, oneOf } from './random.ts';

const mib = 1024 * 1024;

/** Something that somebody or something does to a VM and its batch. */
export type Deed = (life: BatchLife, vm: SourceVm, random: () => number) => Promise<void>;

/** What people and the world do, with how often. */
const deeds: readonly { readonly often: number; readonly deed: Deed }[] = [
  { often: 10, deed: targetFault },
  { often: 8, deed: sourceFault },
  { often: 3, deed: taskFault },
  { often: 6, deed: operator },
  { often: 2, deed: batchOrder },
  { often: 5, deed: write },
  { often: 2, deed: switchOn },
  { often: 2, deed: snapshots },
  { often: 2, deed: ({ batch }, { ref }, random) => batch.rig.control.changeVm(ref, { cpus: oneOf([1, 2], random) }) },
  { often: 1, deed: ({ batch }, { ref }) => batch.rig.control.resetTracking(ref) },
  { often: 2, deed: networkAway },
  { often: 1, deed: sessionsEnd },
  { often: 1, deed: targetAway },
  { often: 1, deed: sourceAway },
];

export function someDeed(random: () => number): Deed {
  return oneByWeight(deeds, random).deed;
}

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
const calls: readonly TargetCall[] = ['disk', 'secondDisk', 'configure', 'power', 'delete', 'look'];

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
  'datastore',
  'RetrievePropertiesEx',
  'CreateSnapshot_Task',
  'ShutdownGuest',
  'PowerOnVM_Task',
  'ExportSnapshot',
];

async function sourceFault({ batch }: BatchLife, vm: SourceVm, random: () => number): Promise<void> {
  const action = oneOf(['drop-before', 'drop-after', 'http-503', 'truncate'] as const, random);
  const times = 1 + Math.floor(random() * 3);
  const method = oneOf(methods, random);
  // Files of disks are read by their paths.
  const rule =
    method === 'datastore'
      ? { method: '*', match: ({ path }: RecordedRequest) => path.startsWith(`/folder/${vm.name}/`) }
      : { method, match: about(vm) };
  batch.rig.proxy.addRule({ ...rule, times, action });
  await Promise.resolve();
}

async function taskFault({ batch }: BatchLife, { name }: SourceVm, random: () => number): Promise<void> {
  const method = oneOf(['CreateSnapshot_Task', 'PowerOnVM_Task', 'PowerOffVM_Task'], random);
  await batch.rig.control.addFault({ method, objectName: name, fault: 'SystemError', asTaskError: true, count: 1 });
}

/** Mostly what can be wanted as it is now; anything now and then. */
async function operator(life: BatchLife, vm: SourceVm, random: () => number): Promise<void> {
  const cancel = (): Promise<unknown> => vm.update(messages.cancel, { cleanup: random() < 0.5 });
  const plain = (name: string) => (): Promise<unknown> => vm.update(name);
  const [retry, cleanup] = [plain(messages.retry), plain(messages.cleanup)];
  const flags = [plain(messages.hold), plain(messages.unhold), plain(messages.cutover)];
  const resolves = [() => resolve(vm, 'recheck'), () => resolve(vm, 'cancel')];
  const fitting: Partial<Record<EntryStatus, (() => Promise<unknown>)[]>> = {
    Canceled: [retry, retry, cleanup],
    Error: [cancel, cleanup],
    Conflict: [...resolves, cancel],
  };
  const { entryStatus } = await vm.view();
  const orders =
    random() < 0.2 ? [cancel, retry, cleanup, ...flags, ...resolves] : (fitting[entryStatus] ?? [cancel, ...flags]);
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

/** Its guest writes. One that is off writes nothing; whether it went off meanwhile is seen by what happened to its power. */
async function write(life: BatchLife, vm: SourceVm, random: () => number): Promise<void> {
  const seed = 1 + Math.floor(random() * 1e6);
  const start = Math.floor(random() * 7) * mib;
  const before = (await powerChanges(vm)).length;
  if ((await vm.power()) !== 'poweredOn') return;
  await vm.rig.control.fillDisk(vm.ref, 0, start, mib / 2, seed);
  if ((await powerChanges(vm)).length !== before) life.unsure.add(vm);
}

async function switchOn(life: BatchLife, vm: SourceVm, random: () => number): Promise<void> {
  const { committed } = await vm.view();
  if (committed || (!life.running.has(vm) && random() < 0.5)) await life.switchOn(vm);
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
