import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ResolveAnswer, StartAnswer, SyncResult } from '../../../workflows/contracts/batch.ts';
import type { OrphanOrder, OrphanResult } from '../../../workflows/contracts/batch-lookup.ts';
import { orphanId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { SupervisedProcess } from '../../stack/processes.ts';
import { holdCreation, holdRemoval, holdSource, holdTarget, type Held } from '../../support/batch-holds.ts';
import { assertNeverBoth, assertNoSlots, powerChanges, snapshotsOf } from '../../support/batch-invariants.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import type { BatchChanges, BatchUnderTest, SourceVm } from '../../support/batch-scenario.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

const mib = 1024 * 1024;
/** So many calls to the vCenter are held at once. */
const atOnce = 3;
/** A copy is taken for dead after a minute of silence. */
const longMs = 3 * patienceMs;
const twoDisks = (seed: number) => ({
  disks: [
    { size: 8 * mib, seed },
    { size: 8 * mib, seed: seed + 1 },
  ],
});
/** What reads everything that is compared. */
const checks = { property: 'config.instanceUuid' } as const;

/** Workers die while a VM is held at a point. */
interface Row {
  readonly id: string;
  /** What they die in, and what is so after they are back. */
  readonly what: string;
  readonly changes?: BatchChanges;
  readonly vm?: { readonly disks: readonly { readonly size: number; readonly seed: number }[] };
  /** Starts its batch and brings the VM to the point. Answers what holds it there. */
  readonly reach: (vm: SourceVm) => Promise<Held>;
  /** A call to the vCenter is held; there are not many connections to it. */
  readonly isOfSource?: boolean;
  /** The transfer worker is in it. */
  readonly isCopy?: boolean;
  /** Default: it finishes. */
  readonly end?: (vm: SourceVm) => Promise<void>;
}

let rig: BatchRig;
before(async () => {
  rig = await BatchRig.start({
    ownTemporal: true,
    ownSource: true,
    source: { importLimit: 50, hostImportLimit: 50 },
    target: { adapt: 'marker', createLimit: 50, connectionTimeoutMs: 120_000 },
    // Whoever is held keeps nobody else.
    batches: { diskCopies: 64 },
  });
  rig.incus.addProject('p2', { 'features.networks': 'false', 'features.storage.volumes': 'true' });
});
after(() => rig.stop());

async function run(batch: BatchUnderTest): Promise<void> {
  await batch.apply();
  await batch.start();
}

/** Arms the hold, starts, and waits until it is there. */
async function at(vm: SourceVm, held: Held): Promise<Held> {
  await run(vm.batch);
  await held.arrived();
  return held;
}

async function inFinalCopy(vm: SourceVm): Promise<Held> {
  const final = vm.holdFinalCopy();
  await run(vm.batch);
  await vm.isInFinalCopy();
  return { ...final, arrived: () => Promise.resolve() };
}

async function beyondFinalCopy(vm: SourceVm, next: () => Held): Promise<Held> {
  const final = await inFinalCopy(vm);
  const held = next();
  final.release();
  await held.arrived();
  return held;
}

/** Its first copy is there, nothing is committed. */
async function ready(vm: SourceVm): Promise<void> {
  const copy = holdTarget(vm, 'disk', { skip: 1 });
  await at(vm, copy);
  await vm.update(messages.hold);
  copy.release();
  await vm.becomes('Idle', ({ stage }) => stage === 'final');
}

/** Cancelled in its last copy; `next` is what holds the undoing. */
async function canceledAt(vm: SourceVm, cleanup: boolean, next: Held): Promise<Held> {
  const final = await inFinalCopy(vm);
  void vm.update(messages.cancel, { cleanup }).catch(() => undefined);
  await next.arrived();
  final.release();
  assert.equal((await vm.view()).substate, 'cleanup-pending');
  return next;
}

async function finishes(vm: SourceVm, disks = 1): Promise<void> {
  await vm.becomes('Finished', undefined, longMs);
  const size = rig.incus.diskSize('default', vm.name, 0);
  await rig.control.writeDisk(vm.ref, 0, size - 512, Buffer.alloc(512, 'vmflow adapted '));
  await vm.assertSameDisks(disks);
  assert.equal(vm.target?.status, 'Running');
  assert.equal(await vm.power(), 'poweredOff');
  assert.equal(rig.incus.journal.events('instance-created', vm.name).length, 1);
  await isAtRest(vm);
}

async function isAtRest(vm: SourceVm): Promise<void> {
  assert.deepEqual(await snapshotsOf(vm), []);
  await assertNeverBoth(vm);
  await assertNoSlots(rig, [vm]);
}

async function isCanceled(vm: SourceVm): Promise<void> {
  await vm.becomes('Canceled', ({ substate }) => substate === undefined, longMs);
  assert.equal(await vm.power(), 'poweredOn');
  await isAtRest(vm);
}

const rows: readonly Row[] = [
  {
    id: 'C2',
    what: 'an instance is created and nobody hears of it: it is the one',
    reach: (vm) => at(vm, holdCreation(vm, 'instance')),
  },
  {
    id: 'C3',
    what: 'a volume is created and not attached: it is adopted',
    vm: twoDisks(310),
    reach: (vm) => at(vm, holdCreation(vm, 'volume')),
    async end(vm) {
      await finishes(vm, 2);
      assert.equal(rig.incus.volumes().filter(({ name }) => name.startsWith(vm.name)).length, 1);
    },
  },
  { id: 'C4', what: 'its disks are tried: they are tried again', reach: (vm) => at(vm, holdTarget(vm, 'disk')) },
  {
    id: 'C5',
    what: 'a snapshot is made and nobody hears of it: it is the one that is copied',
    isOfSource: true,
    reach: (vm) => at(vm, holdSource(vm, 'CreateSnapshot_Task', { at: 'answer' })),
    async end(vm) {
      await finishes(vm);
      const made = (await rig.control.finishedTasks()).filter(
        ({ method, object }) => method.startsWith('CreateSnapshot') && object === vm.ref,
      );
      assert.equal(made.length, 2, 'one for each copy');
    },
  },
  {
    id: 'C6',
    what: 'the first of two disks is copied: the second one is copied by another worker',
    vm: twoDisks(610),
    reach: (vm) => at(vm, holdTarget(vm, 'secondDisk', { skip: 1, times: 1 })),
    isCopy: true,
    end: (vm) => finishes(vm, 2),
  },
  {
    id: 'C7',
    what: 'all is copied and nothing of it noted: it is copied again, with what has changed',
    isOfSource: true,
    async reach(vm) {
      const copy = holdTarget(vm, 'disk', { skip: 1 });
      await at(vm, copy);
      const removal = await holdRemoval(vm);
      copy.release();
      await removal.arrived();
      await rig.control.fillDisk(vm.ref, 0, mib, mib, 71);
      return removal;
    },
  },
  {
    id: 'C8',
    what: 'a snapshot is removed and nobody hears of it: it goes on',
    isOfSource: true,
    async reach(vm) {
      const copy = holdTarget(vm, 'disk', { skip: 1 });
      await at(vm, copy);
      const removal = await holdRemoval(vm, 'answer');
      copy.release();
      await removal.arrived();
      return removal;
    },
  },
  {
    id: 'C9',
    what: 'it may be committed and nothing has happened to the source: it is committed',
    isOfSource: true,
    async reach(vm) {
      await ready(vm);
      const look = holdSource(vm, 'RetrievePropertiesEx', { property: 'runtime.powerState' });
      await vm.update(messages.unhold);
      await look.arrived();
      assert.equal(await vm.power(), 'poweredOn');
      return look;
    },
  },
  {
    id: 'C10',
    what: 'the source is shut down and nobody hears of it: off is off',
    isOfSource: true,
    reach: (vm) => at(vm, holdSource(vm, 'ShutdownGuest', { at: 'answer' })),
  },
  { id: 'C11', what: 'the last copy, the source off: it goes on', reach: inFinalCopy, isCopy: true },
  {
    id: 'C12',
    what: 'the guest is half adapted: it is adapted again',
    reach: (vm) => at(vm, holdTarget(vm, 'disk', { skip: 3 })),
  },
  {
    id: 'C13',
    what: 'the final checks are half done: they begin again',
    isOfSource: true,
    reach: (vm) => beyondFinalCopy(vm, () => holdSource(vm, 'RetrievePropertiesEx', checks)),
  },
  {
    id: 'C14',
    what: 'the final checks find a conflict: they find it again',
    isOfSource: true,
    changes: {
      config: { placement_scriptlet: `function placement(vm) { set_project(vm.cpus > 2 ? 'p2' : 'default'); }` },
    },
    async reach(vm) {
      const final = await inFinalCopy(vm);
      await rig.control.changeVm(vm.ref, { cpus: 4 });
      const check = holdSource(vm, 'RetrievePropertiesEx', checks);
      final.release();
      await check.arrived();
      return check;
    },
    async end(vm) {
      const { conflict } = await vm.becomes('Conflict', undefined, longMs);
      assert.equal(conflict?.code, 'PLACEMENT_CHANGED');
      assert.equal(await vm.power(), 'poweredOff');
      await rig.control.changeVm(vm.ref, { cpus: 1 });
      const answer = await vm.update<ResolveAnswer>(messages.resolve, { conflictId: conflict.id, decision: 'recheck' });
      assert.equal(answer.result, 'finished');
      await finishes(vm);
    },
  },
  {
    id: 'C15',
    what: 'the final configuration is written and nobody hears of it: it is read back',
    reach: (vm) => at(vm, holdTarget(vm, 'configure', { skip: 2, at: 'answer' })),
  },
  {
    id: 'C16',
    what: 'the target is started and nobody hears of it: it is Finished',
    reach: (vm) => at(vm, holdTarget(vm, 'power', { at: 'answer' })),
    async end(vm) {
      await finishes(vm);
      assert.equal(rig.incus.journal.events('instance-started', vm.name).length, 1);
    },
  },
  {
    id: 'C17',
    what: 'the source is on again and the target not deleted: it is deleted',
    async reach(vm) {
      const removal = await canceledAt(vm, true, holdTarget(vm, 'delete'));
      assert.equal(await vm.power(), 'poweredOn', 'first the source, then what may take long');
      return removal;
    },
    async end(vm) {
      await isCanceled(vm);
      assert.ok(vm.target === undefined);
      assert.equal((await powerChanges(vm)).filter(({ isOn }) => isOn).length, 2, 'it was switched on once');
    },
  },
  {
    id: 'C19',
    what: 'a cancel is half done: it is done to its end',
    isOfSource: true,
    reach: (vm) => canceledAt(vm, false, holdSource(vm, 'PowerOnVM_Task')),
    end: isCanceled,
  },
];

describe('workers that die in the middle of it', { concurrency: 8 }, () => {
  const vms = new Map<Row, SourceVm>();
  let startAnswer: Promise<StartAnswer>;
  let startedBatch: BatchUnderTest;
  let asleep: SourceVm;
  let sleep: Held;
  let sync: Promise<SyncResult>;
  /** Stopped in its tracks, not dead: it doesn't know that others have taken over. */
  let zombie: SupervisedProcess | undefined;

  /** What the zombie hangs at. */
  const copies: Held[] = [];

  before(async () => {
    const ofSource = rows.filter(({ isOfSource }) => isOfSource);
    for (let first = 0; first < ofSource.length; first += atOnce) await crash(ofSource.slice(first, first + atOnce));
    await crash([], [reachStart, reachSync]);
    sleep = await reachSleep();
    await crash(
      rows.filter(({ isOfSource }) => !isOfSource),
      [],
      true,
    );
  });

  /** Brings these VMs to their points, ends the workers, and starts others. */
  async function crash(
    some: readonly Row[],
    more: readonly (() => Promise<Held>)[] = [],
    isLast = false,
  ): Promise<void> {
    const holds = await Promise.all([...some.map(reach), ...more.map((reachMore) => reachMore())]);
    if (isLast) {
      zombie = rig.workers.get('transfer');
      zombie?.signal('SIGSTOP');
      await rig.killWorkers(['control']);
    } else await rig.killWorkers();
    rig.proxy.clearRules();
    holds.forEach((held, index) => {
      if (some[index]?.isCopy === true) copies.push(held);
      else held.release();
    });
    await rig.startWorkers();
  }

  async function reach(row: Row): Promise<Held> {
    const batch = await rig.batch(row.changes ?? {});
    const vm = await batch.vm(row.id.toLowerCase(), row.vm ?? {});
    vms.set(row, vm);
    return await row.reach(vm);
  }

  after(async () => {
    for (const held of copies) held.release();
    await zombie?.kill();
  });

  /** A copy that is done by another worker while this one sleeps; then the VM waits. */
  async function reachSleep(): Promise<Held> {
    const batch = await rig.batch();
    asleep = await batch.vm('asleep');
    const copy = holdTarget(asleep, 'disk', { skip: 1, times: 1 });
    await at(asleep, copy);
    await asleep.update(messages.hold);
    return copy;
  }

  /** C1: two of three entries are there. */
  async function reachStart(): Promise<Held> {
    startedBatch = await rig.batch();
    const [, , third] = [await startedBatch.vm('c1a'), await startedBatch.vm('c1b'), await startedBatch.vm('c1c')];
    assert.ok(third);
    await startedBatch.apply();
    const fetch = holdSource(third, 'RetrievePropertiesEx', checks);
    startAnswer = startedBatch.start();
    startAnswer.catch(() => undefined);
    await fetch.arrived();
    return fetch;
  }

  /** C22. */
  async function reachSync(): Promise<Held> {
    const views = rig.proxy.hold('CreateContainerView');
    sync = rig.sync();
    sync.catch(() => undefined);
    await views.arrived;
    return { arrived: () => Promise.resolve(), release: () => views.release() };
  }

  test('batch/S49 C1: a batch is started and some of its entries are there: it gets the others, each once', async () => {
    const { queued, skippedCount } = await startAnswer;
    assert.deepEqual({ queued, skippedCount }, { queued: 3, skippedCount: 0 });
    for (const vm of startedBatch.vms) await finishes(vm);
    await startedBatch.becomes('Finished');
  });

  for (const row of rows)
    test(`batch/S49 case/69 ${row.id}: ${row.what}`, async () => {
      const vm = vms.get(row);
      assert.ok(vm);
      await (row.end ?? finishes)(vm);
    });

  test('batch/S49 C22: a source is half read: it is read again', async () => {
    assert.ok((await sync).instances > 0);
  });

  test('batch/S49 C6: a worker that wakes up after another one has copied in its place writes nothing any more', async () => {
    await asleep.becomes('Idle', ({ stage }) => stage === 'final', longMs);
    await rig.control.fillDisk(asleep.ref, 0, mib, mib, 62);
    const digest = await rig.incus.volumeDigest('default', asleep.name, 0);
    const opened = rig.incus.journal.events('nbd-opened', asleep.name).length;
    zombie?.signal('SIGCONT');
    sleep.release();
    await waitFor('it to be answered', () => {
      const [open, closed] = (['nbd-opened', 'nbd-closed'] as const).map(
        (event) => rig.incus.journal.events(event, asleep.name).length,
      );
      return open !== undefined && open > opened && open === closed;
    });
    assert.equal(await rig.incus.volumeDigest('default', asleep.name, 0), digest);
    await asleep.update(messages.unhold);
    await finishes(asleep);
  });
});

describe('entries that are lost', { concurrency: 2 }, () => {
  async function terminated(label: string): Promise<SourceVm> {
    const vm = await (await rig.batch()).vm(label);
    const final = await inFinalCopy(vm);
    await (await vm.handle()).terminate('a test');
    final.release();
    assert.equal(await vm.power(), 'poweredOff');
    return vm;
  }

  async function orphan(vm: SourceVm, action: OrphanOrder['action']): Promise<OrphanResult> {
    const order: OrphanOrder = {
      ...{ action, target: 'tgt', project: 'default', name: vm.name },
      ...{ uuid: await vm.uuid(), attempt: 1, by: 'a test' },
    };
    return await rig.client.workflow.execute<(order: OrphanOrder) => Promise<OrphanResult>>('orphan', {
      taskQueue: rig.taskQueue,
      workflowId: orphanId('tgt', 'default', vm.name),
      args: [order],
    });
  }

  test('batch/S49 C21: terminated while committed, taken up again from source and marks: it begins anew and finishes', async () => {
    const vm = await terminated('c21a');
    assert.equal((await orphan(vm, 'adopt')).outcome, 'adopted');
    await vm.becomes('Finished');
    const on = (await powerChanges(vm)).filter(({ side, isOn }) => side === 'source' && isOn);
    assert.equal(on.length, 2, 'its source ran meanwhile');
    await isAtRest(vm);
  });

  test('batch/S49 C21: terminated while committed, deleted: the source is as before, nothing is left', async () => {
    const vm = await terminated('c21b');
    assert.equal((await orphan(vm, 'delete')).outcome, 'deleted');
    assert.equal(await vm.power(), 'poweredOn');
    assert.ok(vm.target === undefined);
    assert.deepEqual(await snapshotsOf(vm), []);
    assert.equal((await orphan(vm, 'delete')).outcome, 'gone');
    await assertNeverBoth(vm);
  });
});

test('batch/S49 C24: Temporal is away in the middle of copies, checks and starts: everything goes on', async () => {
  const batch = await rig.batch();
  const [copied, checked, started] = [await batch.vm('c24a'), await batch.vm('c24b'), await batch.vm('c24c')];
  const final = checked.holdFinalCopy();
  const holds = [
    holdTarget(copied, 'disk', { skip: 1 }),
    holdSource(checked, 'ShutdownGuest', { at: 'answer' }),
    holdTarget(started, 'power', { at: 'answer' }),
  ];
  await run(batch);
  for (const held of holds) await held.arrived();
  const { server } = rig.temporal;
  assert.ok(server !== undefined);
  await server.kill();
  for (const held of [final, ...holds]) held.release();
  await waitFor('the target to run', () => started.target?.status === 'Running');
  await server.restart();
  for (const vm of batch.vms) await finishes(vm);
});
