import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findTool } from './tool.ts';
import { tools } from './tools.ts';

const run = promisify(execFile);

/** Runs qemu-img; fails with what it says. */
export async function qemuImg(...args: readonly string[]): Promise<string> {
  return (await run(await findTool(tools.qemuImg), args)).stdout;
}

/** Fails where the two raw images (files or NBD addresses) differ in content or length; where they have holes doesn't matter. */
export async function assertSameDisk(one: string, other: string): Promise<void> {
  await qemuImg('compare', '-f', 'raw', '-F', 'raw', one, other);
  // It calls disks the same of which one goes on with zeros.
  assert.equal(await sizeOfDisk(one), await sizeOfDisk(other));
}

async function sizeOfDisk(image: string): Promise<number> {
  const info = JSON.parse(await qemuImg('info', '-f', 'raw', '--output', 'json', image)) as { 'virtual-size': number };
  return info['virtual-size'];
}

/** Copies what an NBD server serves into a file, in libnbd's way. */
export async function nbdCopy(uri: string, file: string): Promise<void> {
  await run(await findTool(tools.nbdcopy), [uri, file]);
}
