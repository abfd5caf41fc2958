import { randomBytes, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { after, before, describe, test } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createCopyDisk } from '../../../activities/batch/copy-disk.ts';
import type { BatchDeps } from '../../../activities/batch/deps.ts';
import type { DiskReader } from '../../../activities/batch/disk-port.ts';
import { ByteReader } from '../../../activities/vsphere/source/byte-reader.ts';
import { readVmdkStream } from '../../../activities/vsphere/source/vmdk-stream.ts';
import type { Source } from '../../../activities/vsphere/source-port.ts';
import type { PassScope } from '../../../workflows/contracts/batch.ts';
import { bootsWith } from '../../stack/qemu-boot.ts';
import { assertSameDisk, qemuImg } from '../../stack/qemu-img.ts';
import { startQemuNbd } from '../../stack/qemu-nbd.ts';
import { bootSector, sectorBytes } from '../../support/boot-sector.ts';
import { streamOptimizedVmdk } from '../../support/vmdk-builder.ts';
import { disk, marks, MiB, newInstance, useSim } from './builders.ts';

/** Whole blocks of the target, and no whole grains (64 KiB) of the source. */
const capacity = 40 * MiB + 8_192;

/** Disks of the simulated server, served by qemu. */
const rig = useSim({
  async serveDisk(socket, { file, writable }) {
    const server = await startQemuNbd({ dir, image: file, isReadOnly: !writable });
    const far: Duplex = await server.connect();
    // Whoever leaves first, the other one must too.
    await Promise.allSettled([pipeline(socket, far), pipeline(far, socket)]);
    await server.stop();
  },
});

let dir = '';
before(async () => void (dir = await mkdtemp(join(tmpdir(), 'vmflow-copied-'))));
after(() => rm(dir, { recursive: true, force: true }));

interface RawDisk {
  readonly path: string;
  /** What it says when it is booted; no other disk does. */
  readonly greeting: string;
}

/** A disk that boots and says what is in its last sector; between, it has data in some places. */
async function rawDisk(name: string, places: readonly number[]): Promise<RawDisk> {
  const greeting = `vmflow: this is disk ${randomUUID()}`;
  const path = join(dir, name);
  await writeFile(path, '');
  await truncate(path, capacity);
  const file = await open(path, 'r+');
  const lastSector = capacity / sectorBytes - 1;
  await file.write(bootSector(lastSector), 0, sectorBytes, 0);
  await file.write(Buffer.from(`${greeting}\n`), 0, undefined, lastSector * sectorBytes);
  for (const place of places) await file.write(randomBytes(MiB + 4_711), 0, undefined, place);
  await file.close();
  return { path, greeting };
}

async function vmdkOf(raw: string): Promise<string> {
  const path = raw.replace(/\.raw$/, '.vmdk');
  await qemuImg('convert', '-f', 'raw', '-O', 'vmdk', '-o', 'subformat=streamOptimized', raw, path);
  return path;
}

/** A stream-optimised VMDK as the source of a copy. */
function sourceOf(vmdk: string): Source {
  const reader: DiskReader = {
    capacity,
    changeId: '',
    async *stream() {
      const bytes = new ByteReader(createReadStream(vmdk));
      yield* readVmdkStream(await bytes.upTo(sectorBytes), bytes, capacity);
      await bytes.close();
    },
    close: () => Promise.resolve(),
  };
  return { openDisk: () => Promise.resolve(reader) } as Partial<Source> as Source;
}

/** Copies the whole disk as the activity does it, in this pass. */
async function copy(vmdk: string, pass: number): Promise<void> {
  await rig.target.setFence('default', 'web', pass);
  const source = sourceOf(vmdk);
  const deps = { source: () => Promise.resolve(source), target: () => Promise.resolve(rig.target) };
  const copyDisk = createCopyDisk(deps as Partial<BatchDeps> as BatchDeps);
  const { uuid, batch, attempt } = marks();
  const scope: Partial<PassScope> = { uuid, batch, attempt, pass, name: 'web', project: 'default', vm: 'vm-1' };
  await new MockActivityEnvironment().run(copyDisk, {
    scope: scope as PassScope,
    mode: 'final' as const,
    snapshot: 'snapshot-1',
    disk: { name: disk(0).disk, index: 0, key: 2000, capacity, changeId: '' },
    since: '',
  });
}

describe("a disk that was exported as a stream-optimised VMDK and copied to qemu's NBD server", () => {
  test('is the one it was made of, and boots', async () => {
    const raw = await rawDisk('first.raw', [3 * MiB, 20 * MiB + 512, 39 * MiB - 4_711]);
    await rig.target.create(newInstance(0, { disks: [disk(0, { size: capacity })] }));
    await copy(await vmdkOf(raw.path), 1);
    const copied = rig.sim.diskFile('default', 'web', 0);
    await assertSameDisk(copied, raw.path);
    await bootsWith(copied, raw.greeting);
  });

  test('is the one of the last pass, whatever an earlier one has left in it', async () => {
    const earlier = await rawDisk('earlier.raw', [2 * MiB, 11 * MiB, 30 * MiB]);
    const raw = await rawDisk('last.raw', [11 * MiB + 100_000, 35 * MiB]);
    await rig.target.create(newInstance(0, { disks: [disk(0, { size: capacity })] }));
    await copy(await vmdkOf(earlier.path), 1);
    await copy(await vmdkOf(raw.path), 2);
    const copied = rig.sim.diskFile('default', 'web', 0);
    await assertSameDisk(copied, raw.path);
    await bootsWith(copied, raw.greeting);
  });
});

test('the layout of VMware that tests are built on is read by qemu as the disk that it is made of', async () => {
  const image = Buffer.concat([
    bootSector(1),
    Buffer.alloc(5 * MiB - sectorBytes),
    randomBytes(MiB),
    Buffer.alloc(2 * MiB),
  ]);
  const [raw, vmdk, back] = ['built.raw', 'built.vmdk', 'back.raw'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(raw, image);
  await writeFile(vmdk, streamOptimizedVmdk(image));
  await qemuImg('convert', '-f', 'vmdk', '-O', 'raw', vmdk, back);
  await assertSameDisk(back, raw);
});
