import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { inflateSync } from 'node:zlib';

import type { Member } from '../../../activities/ova/member.ts';
import { vmdkProblem } from '../../../activities/ova/vmdk-format.ts';
import { streamOptimizedVmdk } from '../../support/vmdk-builder.ts';
import { scratchDir } from './scratch.ts';

const whole = (bytes: Uint8Array): Member => ({ rawName: 'd', name: 'd', type: 'file', offset: 0, size: bytes.length });

/** Reads a stream-optimised VMDK by its footer, independently of the writer. */
function readBack(vmdk: Buffer): Buffer {
  const footer = vmdk.subarray(vmdk.length - 1024, vmdk.length - 512);
  assert.equal(footer.toString('latin1', 0, 4), 'KDMV');
  const disk = Buffer.alloc(Number(footer.readBigUInt64LE(12)) * 512);
  const directory = Number(footer.readBigUInt64LE(56)) * 512;
  for (let grain = 0; grain < disk.length / 65536; grain += 1) {
    const table = vmdk.readUInt32LE(directory + Math.floor(grain / 512) * 4) * 512;
    const at = table === 0 ? 0 : vmdk.readUInt32LE(table + (grain % 512) * 4) * 512;
    if (at === 0) continue;
    assert.equal(Number(vmdk.readBigUInt64LE(at)), grain * 128);
    inflateSync(vmdk.subarray(at + 12, at + 12 + vmdk.readUInt32LE(at + 8))).copy(disk, grain * 65536);
  }
  return disk;
}

/** Data in the first, a middle and the last grain; the second grain table is empty. */
function image(): Buffer {
  const bytes = Buffer.alloc(96 * 2 ** 20 + 1000);
  for (const at of [0, 10 * 2 ** 20 + 5, bytes.length - 900]) randomBytes(800).copy(bytes, at);
  return bytes;
}

test('a VMDK made for a test holds its image and is recognised', async (t) => {
  const raw = image();
  const vmdk = streamOptimizedVmdk(raw);
  const disk = readBack(vmdk);
  assert.ok(disk.subarray(0, raw.length).equals(raw));
  assert.ok(disk.subarray(raw.length).every((byte) => byte === 0));
  assert.ok(vmdk.length < 300_000, 'zeros take space');
  const path = join(await scratchDir(t), 'disk.vmdk');
  await writeFile(path, vmdk);
  assert.equal(await vmdkProblem(path, whole(vmdk)), undefined);
});

const qemuImg = spawnSync('qemu-img', ['--version']).status === 0 ? false : 'qemu-img is not installed';

test('qemu reads a VMDK made for a test', { skip: qemuImg }, async (t) => {
  const dir = await scratchDir(t);
  const raw = image();
  await writeFile(join(dir, 'disk.vmdk'), streamOptimizedVmdk(raw));
  execFileSync('qemu-img', ['convert', '-O', 'raw', 'disk.vmdk', 'disk.raw'], { cwd: dir });
  assert.ok((await readFile(join(dir, 'disk.raw'))).subarray(0, raw.length).equals(raw));
});

test('the layout of qemu, without markers and footer, is recognised', { skip: qemuImg }, async (t) => {
  const dir = await scratchDir(t);
  await writeFile(join(dir, 'disk.raw'), image());
  execFileSync('qemu-img', ['convert', '-O', 'vmdk', '-o', 'subformat=streamOptimized', 'disk.raw', 'disk.vmdk'], {
    cwd: dir,
  });
  const path = join(dir, 'disk.vmdk');
  assert.equal(await vmdkProblem(path, whole(await readFile(path))), undefined);
});

/** The same without qemu: its version, flags and place of the directory. */
function likeQemu(vmdk: Buffer): Buffer {
  vmdk.writeUInt32LE(3, 4);
  vmdk.writeUInt32LE(0x30003, 8);
  vmdk.writeBigUInt64LE(26n, 56);
  return vmdk;
}

const disks: readonly (readonly [string, (vmdk: Buffer) => Buffer, RegExp | undefined])[] = [
  ['a header as qemu writes it', likeQemu, undefined],
  ['an old version', (vmdk) => (vmdk.writeUInt32LE(1, 4), vmdk), undefined],
  ['no magic', (vmdk) => vmdk.fill(0, 0, 4), /magic KDMV/],
  ['a file shorter than a header', (vmdk) => vmdk.subarray(0, 100), /magic KDMV/],
  ['no compression', (vmdk) => (vmdk.writeUInt32LE(0x20001, 8), vmdk), /flags are 0x20001/],
  ['no markers', (vmdk) => (vmdk.writeUInt32LE(0x10001, 8), vmdk), /flags are 0x10001/],
  ['no descriptor', (vmdk) => (vmdk.writeBigUInt64LE(0n, 28), vmdk), /no embedded descriptor/],
  ['a descriptor behind the end', (vmdk) => (vmdk.writeBigUInt64LE(2n ** 40n, 28), vmdk), /outside of the file/],
  ['a descriptor without end', (vmdk) => (vmdk.writeBigUInt64LE(2n ** 40n, 36), vmdk), /outside of the file/],
];

for (const [what, change, problem] of disks) {
  test(`a disk with ${what} is ${problem === undefined ? 'accepted' : 'not called stream-optimised'}`, async (t) => {
    const path = join(await scratchDir(t), 'disk.vmdk');
    const bytes = change(streamOptimizedVmdk(Buffer.from('data'), { capacityBytes: 2 ** 20 }));
    await writeFile(path, bytes);
    const found = await vmdkProblem(path, whole(bytes));
    if (problem === undefined) assert.equal(found, undefined);
    else assert.match(found ?? '', problem);
  });
}

test('a sparse disk for a desktop product is not called stream-optimised', async (t) => {
  const path = join(await scratchDir(t), 'disk.vmdk');
  const bytes = streamOptimizedVmdk(Buffer.from('x'), { createType: 'monolithicSparse' });
  await writeFile(path, bytes);
  assert.equal(await vmdkProblem(path, whole(bytes)), 'its createType is "monolithicSparse", not "streamOptimized"');
});
