import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { BatchDeps } from '../../../../activities/batch/deps.ts';
import { createVerifyDisk } from '../../../../activities/batch/verify-disk.ts';
import { OperationError } from '../../../../activities/failures.ts';
import type { DiskComparison } from '../../../../workflows/contracts/batch-activities.ts';
import { MemoryDisk } from './memory-disk.ts';

const mib = 1024 * 1024;

interface World {
  readonly source: Buffer;
  readonly target: MemoryDisk;
  readonly since?: string;
  readonly areas?: readonly { start: number; length: number }[];
  readonly read?: (start: number, length: number) => Promise<Uint8Array>;
}

/** Asks the activity about a disk of a source and its copy. */
async function verify({ source, target, since = '', areas, read }: World): Promise<DiskComparison> {
  const deps = {
    source: () =>
      Promise.resolve({
        changedAreas: () => Promise.resolve(areas),
        readRange: (_: object, start: number, length: number) =>
          read === undefined ? Promise.resolve(source.subarray(start, start + length)) : read(start, length),
      }),
    target: () => Promise.resolve({ openDisk: () => Promise.resolve(target) }),
  } as unknown as BatchDeps;
  const input = {
    scope: { source: 'vc', target: 'incus', project: 'default', name: 'web', vm: 'VirtualMachine:vm-1' },
    ...{ snapshot: 'snapshot-1', since },
    disk: { name: '[ds] web/web.vmdk', index: 0, key: 2000, capacity: source.length, changeId: 'a/2' },
  };
  const { verifyDisk } = { verifyDisk: createVerifyDisk(deps) };
  return await new MockActivityEnvironment().run(verifyDisk as (given: object) => Promise<DiskComparison>, input);
}

function pair(size: number): { readonly source: Buffer; readonly target: MemoryDisk } {
  const source = randomBytes(size);
  const target = new MemoryDisk(size);
  target.content.set(source);
  return { source, target };
}

describe('a copied disk and its source', () => {
  test('that are the same are compared as a whole where they are small', async () => {
    assert.deepEqual(await verify(pair(9 * mib + 512)), { bytes: 9 * mib + 512 });
  });

  test('that differ in one bit anywhere are told apart', async () => {
    const { source, target } = pair(9 * mib + 512);
    target.content[9 * mib + 511] = (target.content[9 * mib + 511] ?? 0) ^ 1;
    assert.deepEqual((await verify({ source, target })).differs, { start: 9 * mib, length: 512 });
  });

  test('that differ in what changed last are told apart, however large they are', async () => {
    const source = Buffer.alloc(600 * mib);
    const target = new MemoryDisk(source.length);
    source[555 * mib + 7] = 1;
    const areas = [{ start: 555 * mib, length: 512 }];
    assert.deepEqual((await verify({ source, target, since: 'a/1', areas })).differs, {
      start: 555 * mib,
      length: mib,
    });
  });

  test('of which one part can be read only are taken as they are, with the reason', async () => {
    const { source, target } = pair(2 * mib);
    const refuse = (): Promise<never> =>
      Promise.reject(new OperationError('Forbidden', 'no right to browse the datastore', { code: 'NO_RIGHT' }));
    const compared = await verify({ source, target, read: refuse });
    assert.deepEqual(compared, { bytes: 0, unread: 'no right to browse the datastore' });
  });

  test('are looked at again when the source is out of reach', async () => {
    const { source, target } = pair(2 * mib);
    const down = (): Promise<never> => Promise.reject(new OperationError('Unavailable', 'down', { code: 'DOWN' }));
    await assert.rejects(verify({ source, target, read: down }), /down/);
  });

  test('of which the source sends too little are not taken for the same', async () => {
    const { source, target } = pair(2 * mib);
    const short = (start: number, length: number): Promise<Uint8Array> =>
      Promise.resolve(source.subarray(start, start + length - 1));
    assert.ok((await verify({ source, target, read: short })).differs);
  });
});
