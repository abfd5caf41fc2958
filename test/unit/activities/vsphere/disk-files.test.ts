import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  besides,
  flatFileOf,
  parseDatastorePath,
  trackingFileOf,
} from '../../../../activities/vsphere/source/datastore-path.ts';
import { readAreas } from '../../../../activities/batch/copy/read-areas.ts';
import { isDescriptor, parseFlatDescriptor } from '../../../../activities/vsphere/source/vmdk-descriptor.ts';

test('the path of a disk is taken apart', () => {
  assert.deepEqual(parseDatastorePath('[ds 1] web 01/web.vmdk'), { datastore: 'ds 1', path: 'web 01/web.vmdk' });
  assert.deepEqual(parseDatastorePath('[ds]web.vmdk'), { datastore: 'ds', path: 'web.vmdk' });
  assert.deepEqual(parseDatastorePath('[ds] a/[b] c.vmdk'), { datastore: 'ds', path: 'a/[b] c.vmdk' });
});

for (const name of ['', 'vml.0200', '[ds] ', '[] a.vmdk', 'disk 2000']) {
  test(`"${name}" is no file of a datastore`, () => {
    assert.throws(() => parseDatastorePath(name), { code: 'PROTOCOL' });
  });
}

test('the files beside a disk are found by its name', () => {
  assert.equal(flatFileOf('web/web_1.vmdk'), 'web/web_1-flat.vmdk');
  assert.equal(trackingFileOf('web/web_1.vmdk'), 'web/web_1-ctk.vmdk');
  assert.equal(flatFileOf('web.vmdk.old/a.vmdk'), 'web.vmdk.old/a-flat.vmdk');
  assert.equal(flatFileOf('web/odd'), 'web/odd-flat.vmdk');
  assert.equal(besides('a/b/c.vmdk', 'd.vmdk'), 'a/b/d.vmdk');
  assert.equal(besides('c.vmdk', 'd.vmdk'), 'd.vmdk');
});

const descriptor = (...extents: readonly string[]): string =>
  ['# Disk DescriptorFile', 'version=1', 'createType="vmfs"', '', '# Extent description', ...extents, ''].join('\n');

test('a flat descriptor names its file and capacity', () => {
  const expected = { capacity: 8192 * 512, file: 'web-flat.vmdk' };
  assert.deepEqual(parseFlatDescriptor(descriptor('RW 8192 VMFS "web-flat.vmdk"')), expected);
  assert.deepEqual(parseFlatDescriptor(descriptor('RW 8192 FLAT "web-flat.vmdk" 0')), expected);
  assert.ok(isDescriptor('# Disk DescriptorFile\nversion=1'));
  assert.ok(!isDescriptor('KDMV'));
});

for (const [what, text, message] of [
  ['no extent', descriptor(), /names no extent/],
  ['several extents', descriptor('RW 8 VMFS "a.vmdk"', 'RW 8 VMFS "b.vmdk"'), /2 extents/],
  ['a sparse extent', descriptor('RW 8 SPARSE "a.vmdk"'), /type SPARSE/],
  ['an extent elsewhere', descriptor('RW 8 VMFS "../secret/a.vmdk"'), /another directory/],
] as const) {
  test(`a descriptor with ${what} is refused`, () => {
    assert.throws(() => parseFlatDescriptor(text), { code: 'PROTOCOL', message });
  });
}

const mib = 1024 * 1024;

test('a flat file is read to its end, zeros left out', async () => {
  const capacity = 9 * mib + 512;
  const image = Buffer.alloc(capacity);
  for (const at of [0, mib - 1, 4 * mib, 8 * mib + 7, capacity - 1]) image[at] = 1;
  const copy = Buffer.alloc(capacity);
  let bytes = 0;
  let end = 0;
  for await (const { start, data } of readAreas([{ start: 0, length: capacity }], ({ start, length }) =>
    Promise.resolve(image.subarray(start, start + length)),
  )) {
    assert.ok(start >= end);
    end = start + data.length;
    copy.set(data, start);
    bytes += data.length;
  }
  assert.ok(copy.equals(image));
  assert.equal(bytes, 4 * 64 * 1024 + 512, 'only the pieces that are not zero');
});

test('no piece is asked for beyond the end, and a failed one ends the reading', async () => {
  const asked: number[] = [];
  await assert.rejects(async () => {
    for await (const piece of readAreas([{ start: 0, length: 9 * mib }], ({ start, length }) => {
      asked.push(start + length);
      return start === 0 ? Promise.resolve(Buffer.alloc(length, 1)) : Promise.reject(new Error('gone'));
    })) {
      assert.ok(piece.start < 4 * mib);
    }
  }, /gone/);
  assert.ok(asked.every((end) => end <= 9 * mib));
});
