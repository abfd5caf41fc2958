import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildOva, smallDisk, type BuiltOva } from '../support/ova-builder.ts';
import { ensureDebianPackage } from './debian.ts';

const run = promisify(execFile);

/** A bootable image that Debian ships: GRUB's rescue disk. */
const rescueImage = '/usr/lib/grub-rescue/grub-rescue-cdrom.iso';

/** Where a stream-optimised disk comes from, and what it is, for the reader. */
export interface SampleDisk {
  readonly bytes: Buffer;
  readonly origin: string;
}

/** A real bootable disk where Debian's packages are to be had; else a small one of our own. */
export async function sampleDisk(dir: string): Promise<SampleDisk> {
  const hasTools = await ensureDebianPackage(['qemu-utils', 'grub-rescue-pc']);
  if (!hasTools || !existsSync(rescueImage))
    return {
      bytes: smallDisk(),
      origin: 'a small disk of our own (qemu-utils and grub-rescue-pc are not to be had here)',
    };
  await mkdir(dir, { recursive: true });
  const vmdk = join(dir, 'rescue.vmdk');
  await run('qemu-img', ['convert', '-f', 'raw', '-O', 'vmdk', '-o', 'subformat=streamOptimized', rescueImage, vmdk]);
  const bytes = await readFile(vmdk);
  await rm(vmdk);
  return { bytes, origin: "GRUB's bootable rescue disk, converted by qemu-img" };
}

/** An OVA of one version around a disk. */
export async function sampleOva(path: string, version: string, disk: Buffer): Promise<BuiltOva> {
  return await buildOva({ path, name: 'rescue', disks: [disk], descriptor: { productVersion: version } });
}
