import { readEntry } from './entry-reader.ts';
import type { Member } from './member.ts';

const sector = 512;
/** Descriptors take 20 sectors as a rule; bounds what a hostile header makes us read. */
const maxDescriptorBytes = 1024 * 1024;

/**
 * Why a disk is no stream-optimised VMDK, or undefined. Both layouts count: VMware's (version 1 to 3, footer and markers) and
 * qemu's (version 3, grain directory in front, no footer); both set the flags for compressed grains and markers.
 */
export async function vmdkProblem(path: string, disk: Member): Promise<string | undefined> {
  const header = await readEntry(path, { offset: disk.offset, size: Math.min(disk.size, sector) });
  if (header.length < sector || header.toString('latin1', 0, 4) !== 'KDMV')
    return 'it does not start with the magic KDMV';
  const flags = header.readUInt32LE(8);
  if ((flags & 0x30000) !== 0x30000) {
    return `its header flags are 0x${flags.toString(16)}, without compressed grains and markers`;
  }
  const start = Number(header.readBigUInt64LE(28)) * sector;
  const size = Number(header.readBigUInt64LE(36)) * sector;
  if (start === 0 || size === 0) return 'it has no embedded descriptor';
  if (size > maxDescriptorBytes || start + size > disk.size) return 'its embedded descriptor lies outside of the file';
  const text = (await readEntry(path, { offset: disk.offset + start, size })).toString('latin1');
  const createType = /^\s*createType\s*=\s*"?([A-Za-z0-9]+)"?/m.exec(text)?.[1];
  return createType === 'streamOptimized'
    ? undefined
    : `its createType is "${createType ?? ''}", not "streamOptimized"`;
}
