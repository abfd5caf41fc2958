import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { VimFault } from '../../../../activities/vsphere/faults.ts';
import type { VSphereSession } from '../../../../activities/vsphere/port.ts';
import { isUsable, parseChangeId } from '../../../../activities/vsphere/source/change-id.ts';
import { changedAreas } from '../../../../activities/vsphere/source/changed-areas.ts';
import { mergeExtents } from '../../../../activities/vsphere/source/extents.ts';
import type { DiskAreas, DiskAreasQuery } from '../../../../activities/vsphere/vm-port.ts';
import { controller, disk } from './builders.ts';

const vm = { type: 'VirtualMachine', value: 'vm-12' };
const snapshot = { type: 'VirtualMachineSnapshot', value: 'snapshot-3' };
const capacity = 1024 * 1024;

/** A session that knows one disk and answers questions about its areas. */
function session(answer: (query: DiskAreasQuery) => DiskAreas, changeId = '52de/5'): VSphereSession {
  const devices = [controller(), disk({}, { changeId })];
  return {
    retrieve: () => Promise.resolve([{ ref: vm, props: new Map([['config.hardware.device', devices]]) }]),
    vms: { changedDiskAreas: async (_: unknown, query: DiskAreasQuery) => await Promise.resolve(query).then(answer) },
  } as unknown as VSphereSession;
}

const ask = (
  answer: (query: DiskAreasQuery) => DiskAreas,
  since = '52de/4',
  key = 2000,
  size = capacity,
): ReturnType<typeof changedAreas> =>
  changedAreas(session(answer), { vm, snapshot, disk: { key, capacity: size }, since }, {});

const whole = (areas: DiskAreas['areas']): DiskAreas => ({ startOffset: 0, length: capacity, areas });

for (const [text, parsed] of [
  ['52de 9a-1b/4', { uuid: '52de 9a-1b', sequence: 4 }],
  ['52DE/0', { uuid: '52de', sequence: 0 }],
  ['', undefined],
  ['*', undefined],
  ['52de', undefined],
  ['52de/', undefined],
  ['/4', undefined],
  ['52de/x', undefined],
  ['52de/4/5', undefined],
] as const) {
  test(`the change id "${text}" is ${parsed === undefined ? 'none' : 'read'}`, () => {
    assert.deepEqual(parseChangeId(text), parsed);
  });
}

test('a change id is of use for later ones of the same disk only', () => {
  assert.equal(isUsable('52de/4', '52de/5'), true);
  assert.equal(isUsable('52de/5', '52de/5'), true);
  assert.equal(isUsable('52DE/5', '52de/5'), true);
  assert.equal(isUsable('52de/6', '52de/5'), false);
  assert.equal(isUsable('53de/4', '52de/5'), false);
  assert.equal(isUsable('52de/4', ''), false);
  assert.equal(isUsable('', ''), false);
});

for (const since of ['', 'nonsense', '53de/4', '52de/6']) {
  test(`the id "${since}" means the whole disk, without a question`, async () => {
    let asked = 0;
    const answer = (): DiskAreas => {
      asked += 1;
      return whole([]);
    };
    assert.equal(await ask(answer, since), undefined);
    assert.equal(asked, 0);
  });
}

test('without change tracking not even what is allocated is known', async () => {
  const query = { vm, snapshot, disk: { key: 2000, capacity }, since: '*' };
  assert.equal(
    await changedAreas(
      session(() => whole([]), ''),
      query,
      {},
    ),
    undefined,
  );
});

const fault = (faultType: string, fields: Record<string, unknown> = {}): VimFault =>
  new VimFault({ kind: 'vim-fault', faultType, fields, method: 'QueryChangedDiskAreas' });

for (const [what, error] of [
  ['an invalid change id', fault('InvalidArgument', { invalidProperty: 'changeId' })],
  ['an invalid start offset', fault('InvalidArgument', { invalidProperty: 'startOffset' })],
  ['an invalid argument that is not named', fault('InvalidArgument')],
  ['a fault of the tracking file', fault('FileFault', { file: 'x' })],
  ['a tracking file that is gone', fault('FileNotFound')],
] as const) {
  test(`${what} means the whole disk`, async () => {
    const answer = (): never => {
      throw error;
    };
    assert.equal(await ask(answer), undefined);
  });
}

for (const [what, error] of [
  ['a disk that the server does not know', fault('InvalidArgument', { invalidProperty: 'deviceKey' })],
  ['a snapshot that is gone', fault('ManagedObjectNotFound')],
  ['a missing permission', fault('NoPermission')],
] as const) {
  test(`${what} is an error`, async () => {
    const answer = (): never => {
      throw error;
    };
    await assert.rejects(ask(answer), error);
  });
}

test('answers that cover a part each are put together', async () => {
  const asked: number[] = [];
  const areas = await ask(({ startOffset, changeId, deviceKey, snapshot: of }) => {
    asked.push(startOffset);
    assert.deepEqual([changeId, deviceKey, of], ['52de/4', 2000, snapshot]);
    return { startOffset, length: capacity / 4, areas: [{ start: startOffset, length: 512 }] };
  });
  assert.deepEqual(
    asked,
    [0, 1, 2, 3].map((part) => (part * capacity) / 4),
  );
  assert.deepEqual(
    areas,
    asked.map((start) => ({ start, length: 512 })),
  );
});

for (const [what, answer, message] of [
  ['an answer that covers nothing', { startOffset: 0, length: 0, areas: [] }, /covers nothing/],
  ['an answer about a later part', { startOffset: 512, length: 512, areas: [] }, /begins at 512/],
  ['an area beyond the end', whole([{ start: capacity, length: 512 }]), /not on the disk/],
  ['an area without bytes', whole([{ start: 0, length: 0 }]), /not on the disk/],
] as const) {
  test(`${what} is an error, not an endless loop`, async () => {
    await assert.rejects(
      ask(() => answer),
      { code: 'PROTOCOL', message },
    );
  });
}

test('an area that was rounded beyond the end of the disk is cut there', async () => {
  const areas = await ask(() => whole([{ start: capacity - 512, length: 64 * 1024 }]));
  assert.deepEqual(areas, [{ start: capacity - 512, length: 512 }]);
});

test('another disk, or another size of it, is an error', async () => {
  await assert.rejects(
    ask(() => whole([]), '52de/4', 2001),
    /no such disk/,
  );
  await assert.rejects(
    ask(() => whole([]), '52de/4', 2000, 512),
    /has 1048576 bytes now/,
  );
});

test('merged extents cover the same bytes, in order and apart from each other', () => {
  const extent = fc.record({ start: fc.integer({ min: 0, max: 60 }), length: fc.integer({ min: 1, max: 20 }) });
  fc.assert(
    fc.property(fc.array(extent), (extents) => {
      const bytes = (all: typeof extents): Set<number> =>
        new Set(all.flatMap(({ start, length }) => Array.from({ length }, (_, index) => start + index)));
      const merged = mergeExtents(extents);
      assert.deepEqual(new Set([...bytes([...merged])].sort()), new Set([...bytes(extents)].sort()));
      merged.forEach(({ start }, index) => {
        const last = merged[index - 1];
        assert.ok(last === undefined || start > last.start + last.length);
      });
    }),
  );
});
