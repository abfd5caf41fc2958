import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import { VimFault, VSphereError } from '../../../../activities/vsphere/faults.ts';
import type { MoRef, ObjectContent, VSphereSession } from '../../../../activities/vsphere/port.ts';
import { ExportKeeper } from '../../../../activities/vsphere/source/export-keeper.ts';
import { Places } from '../../../../activities/vsphere/source/places.ts';
import { readEach } from '../../../../activities/vsphere/source/read-each.ts';
import { TagNames } from '../../../../activities/vsphere/source/tag-names.ts';
import { removeSnapshots } from '../../../../activities/vsphere/source/snapshots.ts';

const vm = (value: string): MoRef => ({ type: 'VirtualMachine', value });
const gone = (ref: MoRef): VimFault =>
  new VimFault({ kind: 'vim-fault', faultType: 'ManagedObjectNotFound', fields: { obj: ref }, method: 'Read' });
const timeout = (): VSphereError =>
  new VSphereError('TIMEOUT', 'no answer', { kind: 'transport' }, { outcomeUnknown: true });

/** A session whose objects are read by `one`; a call about several fails with what the first bad one throws. */
function session(
  one: (ref: MoRef, paths: readonly string[]) => ObjectContent | Error,
): VSphereSession & { reads: number } {
  const fake = {
    reads: 0,
    retrieve: async (refs: readonly MoRef[], paths: readonly string[]) => {
      fake.reads += 1;
      await Promise.resolve();
      return refs.map((ref) => {
        const found = one(ref, paths);
        if (found instanceof Error) throw found;
        return found;
      });
    },
  };
  return fake as unknown as VSphereSession & { reads: number };
}

const content = (ref: MoRef, props: Record<string, unknown> = {}): ObjectContent => ({
  ref,
  props: new Map(Object.entries(props)),
});
const options = { eachMs: 100, parallel: 4 };

test('objects that are well are read in one call', async () => {
  const fake = session((ref) => content(ref));
  const { found, unread } = await readEach(fake, [vm('1'), vm('2')], ['name'], options);
  assert.deepEqual([found.length, unread, fake.reads], [2, [], 1]);
});

test('one that is gone, one that fails and one that hangs do not hide the others', async () => {
  const refs = ['1', 'gone', '3', 'broken', '5', 'stuck'].map(vm);
  const fake = session((ref) => {
    if (ref.value === 'gone') return gone(ref);
    if (ref.value === 'broken') return new VimFault({ kind: 'vim-fault', faultType: 'SystemError', method: 'Read' });
    return ref.value === 'stuck' ? timeout() : content(ref);
  });
  const { found, unread } = await readEach(fake, refs, ['name'], options);
  assert.deepEqual(found.map(({ ref }) => ref.value).toSorted(), ['1', '3', '5']);
  assert.deepEqual(unread.map(({ ref }) => ref.value).toSorted(), ['broken', 'stuck']);
  assert.ok(unread.every(({ ref, why }) => why.includes(`VirtualMachine:${ref.value}: `)));
});

for (const [what, error] of [
  ['a server that is away', new VSphereError('TRANSPORT', 'away', { kind: 'transport' })],
  ['a wrong password', new VSphereError('AUTH', 'no', { kind: 'vim-fault' })],
  [
    'a session that can not be renewed',
    new VimFault({ kind: 'vim-fault', faultType: 'NotAuthenticated', method: 'Read' }),
  ],
] as const) {
  test(`${what} is no single object's fault`, async () => {
    await assert.rejects(
      readEach(
        session(() => error),
        [vm('1')],
        ['name'],
        options,
      ),
      error,
    );
  });
}

test('a server that answers nothing at all is not asked for every single object', async () => {
  const fake = session(timeout);
  const refs = Array.from({ length: 1000 }, (_, index) => vm(String(index)));
  await assert.rejects(readEach(fake, refs, ['name'], { eachMs: 100, parallel: 1 }), { code: 'TIMEOUT' });
  assert.ok(fake.reads < 10, `${fake.reads} reads`);
});

test('a caller that leaves ends the reading one by one', async () => {
  const controller = new AbortController();
  const reason = new Error('cancelled');
  const fake = session((ref) => {
    if (ref.value === '2') controller.abort(reason);
    return ref.value === 'gone' ? gone(ref) : content(ref);
  });
  const refs = ['gone', '1', '2', '3', '4'].map(vm);
  await assert.rejects(readEach(fake, refs, [], { ...options, parallel: 1, signal: controller.signal }), reason);
});

const folders: Readonly<Record<string, Record<string, unknown>>> = {
  'group-d1': { name: 'Datacenters' },
  'group-d2': { name: 'Europe', parent: { type: 'Folder', value: 'group-d1' } },
  'datacenter-3': { name: 'DC0', parent: { type: 'Folder', value: 'group-d2' } },
  'group-v4': { name: 'vm', parent: { type: 'Datacenter', value: 'datacenter-3' } },
  'resgroup-v5': {
    name: 'app',
    parent: { type: 'ResourcePool', value: 'resgroup-8' },
    parentFolder: { type: 'Folder', value: 'group-v4' },
  },
  'group-v6': { name: 'lost', parent: { type: 'Folder', value: 'group-v7' } },
};

test('places are paths without the root, read once; what stands above something unread is unknown', async () => {
  const fake = session((ref) => {
    const props = folders[ref.value];
    return props === undefined ? gone(ref) : content(ref, props);
  });
  const places = new Places(fake, options);
  const [folder, app, lost] = [
    { type: 'Folder', value: 'group-v4' },
    { type: 'VirtualApp', value: 'resgroup-v5' },
    { type: 'Folder', value: 'group-v6' },
  ];
  await places.load([folder, app, lost, undefined]);
  assert.equal(places.pathOf(folder, 'web'), '/Europe/DC0/vm/web');
  assert.equal(places.pathOf(app, 'web'), '/Europe/DC0/vm/app/web');
  assert.equal(places.pathOf(lost, 'web'), undefined);
  assert.equal(places.pathOf(undefined, 'web'), undefined);
  assert.equal(places.datacenterOf(app), '/Europe/DC0');
  assert.equal(places.datacenterOf(lost), undefined);
  assert.deepEqual([places.nameOf(app), places.nameOf(lost), places.nameOf(undefined)], ['app', 'lost', '']);
  const { reads } = fake;
  await places.load([folder, app]);
  assert.equal(fake.reads, reads);
});

const notFound = (): VSphereError => new VSphereError('REST', 'not found', { kind: 'rest', httpStatus: 404 });

/** Two VMs, of which one may be gone for the tag service. */
function tagged(isGone: boolean): VSphereSession & { lists: number } {
  const ids: Readonly<Record<string, readonly string[]>> = { 'vm-1': ['t1', 't2'], 'vm-2': ['t3', 'deleted'] };
  const fake = {
    lists: 0,
    listTags: () => {
      fake.lists += 1;
      const tag = (id: string, category: string, name: string): object => ({ id, category, name });
      return Promise.resolve([tag('t1', 'env', 'prod'), tag('t2', 'env', 'eu'), tag('t3', 'owner', 'ops')]);
    },
    attachedTags: ({ value }: MoRef) => (value === 'vm-1' ? Promise.resolve(ids[value]) : Promise.reject(notFound())),
    vms: {
      tagIds: (refs: readonly MoRef[]) =>
        isGone
          ? Promise.reject(notFound())
          : Promise.resolve(new Map(refs.map(({ value }) => [value, ids[value] ?? []]))),
    },
  };
  return fake as unknown as VSphereSession & { lists: number };
}

test('tags are grouped by category; one that was deleted meanwhile is none', async () => {
  const fake = tagged(false);
  const names = new TagNames();
  const found = await names.of(fake, [vm('vm-1'), vm('vm-2'), vm('vm-3')], {});
  assert.deepEqual(found.get('vm-1'), new Map([['env', ['prod', 'eu']]]));
  assert.deepEqual(found.get('vm-2'), new Map([['owner', ['ops']]]));
  assert.deepEqual(found.get('vm-3'), new Map());
  await names.of(fake, [vm('vm-1')], {});
  assert.equal(fake.lists, 1, 'the names of tags are remembered for a while');
  await names.of(fake, [vm('vm-2')], {});
  assert.equal(fake.lists, 2, 'an id that is not known is looked for');
});

test('a VM that is gone does not keep the tags of the others from being read', async () => {
  const found = await new TagNames().of(tagged(true), [vm('vm-1'), vm('vm-2')], {});
  assert.deepEqual(found.get('vm-1'), new Map([['env', ['prod', 'eu']]]));
  assert.deepEqual(found.get('vm-2'), new Map());
});

test('an export lease is told of the progress until the disk is closed', async () => {
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    const told: number[] = [];
    const fake = { leaseProgress: (_: unknown, percent: number) => Promise.resolve(void told.push(percent)) };
    const keeper = new ExportKeeper(fake as unknown as VSphereSession, { type: 'HttpNfcLease', value: 'l' }, 300);
    for (const percent of [10, 50, 100]) {
      keeper.percent = percent;
      mock.timers.tick(10_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await keeper.stop();
    mock.timers.tick(60_000);
    assert.deepEqual(told, [10, 50, 99], '100 is said by completing it');
    assert.equal(keeper.lost.aborted, false);
  } finally {
    mock.timers.reset();
  }
});

for (const [what, failure, calls] of [
  ['that the server does not know', new VSphereError('LEASE_LOST', 'gone', { kind: 'lease-error' }), 1],
  ['whose server is away three times in a row', new VSphereError('TRANSPORT', 'away', { kind: 'transport' }), 3],
] as const) {
  test(`a lease ${what} is lost`, async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      const fake = { leaseProgress: () => Promise.reject(failure) };
      const keeper = new ExportKeeper(fake as unknown as VSphereSession, { type: 'HttpNfcLease', value: 'l' }, 30);
      for (let call = 1; call <= calls; call += 1) {
        assert.equal(keeper.lost.aborted, false);
        mock.timers.tick(5_000);
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal((keeper.lost.reason as VSphereError).code, 'LEASE_LOST');
      await keeper.stop();
    } finally {
      mock.timers.reset();
    }
  });
}

test('disks that a removal has left unconsolidated are consolidated, once', async () => {
  const calls: string[] = [];
  let needed = true;
  const fake = {
    retrieve: ([ref]: readonly MoRef[]) =>
      Promise.resolve([content(ref!, { 'runtime.consolidationNeeded': needed, recentTask: [] })]),
    waitForTask: () => {
      needed = false;
      return Promise.resolve();
    },
    vms: {
      startConsolidate: ({ value }: MoRef) => {
        calls.push(value);
        return Promise.resolve({ type: 'Task', value: 'task-1' });
      },
    },
  };
  await removeSnapshots(fake as unknown as VSphereSession, vm('vm-1'), 'mm-', {});
  await removeSnapshots(fake as unknown as VSphereSession, vm('vm-1'), 'mm-', {});
  assert.deepEqual(calls, ['vm-1']);
});
