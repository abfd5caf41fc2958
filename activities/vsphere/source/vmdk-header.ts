import { VSphereError } from '../faults.ts';

export const sector = 512;

/** More than this can't be counted in bytes. */
export const mostSectors = BigInt(Math.floor(Number.MAX_SAFE_INTEGER / sector));

/** "The grain directory's place is in the footer": the file was written in one forward pass. */
const directoryAtEnd = 0xffffffffffffffffn;

export interface VmdkHeader {
  /** Bytes of the disk. */
  readonly capacity: number;
  /** Bytes. */
  readonly grainSize: number;
  readonly entriesPerTable: number;
  /** Sector of the grain directory; undefined: in the footer. */
  readonly directoryAt: number | undefined;
  /** Sector of the first grain. */
  readonly overhead: number;
}

export function vmdkError(what: string): VSphereError {
  const message = `The exported disk is no usable stream-optimised VMDK: ${what}.`;
  return new VSphereError('PROTOCOL', message, { kind: 'http', method: 'GET of an exported disk', message });
}

/** Reads the first sector (or the footer) of a sparse VMDK and refuses what a stream of compressed grains can't be. */
export function parseVmdkHeader(bytes: Buffer): VmdkHeader {
  if (bytes.length < sector) throw vmdkError(`it ends after ${bytes.length} bytes`);
  if (bytes.toString('latin1', 0, 4) !== 'KDMV') throw vmdkError('it does not start with the magic KDMV');
  const version = bytes.readUInt32LE(4);
  const flags = bytes.readUInt32LE(8);
  const grainSectors = sectors(bytes, 20, 'grain');
  const entriesPerTable = bytes.readUInt32LE(44);
  const directory = bytes.readBigUInt64LE(56);
  if (version < 1 || version > 3) throw vmdkError(`its version ${version} is unknown`);
  if ((flags & 0x30000) !== 0x30000)
    throw vmdkError(`its flags are 0x${flags.toString(16)}, without compressed grains`);
  if (bytes.readUInt16LE(77) !== 1) throw vmdkError(`its compression ${bytes.readUInt16LE(77)} is unknown`);
  // Memory is bounded by the grain.
  if (grainSectors < 8 || grainSectors > 2048 || (grainSectors & (grainSectors - 1)) !== 0)
    throw vmdkError(`its grains have ${grainSectors} sectors`);
  if (entriesPerTable !== 512) throw vmdkError(`its grain tables have ${entriesPerTable} entries`);
  return {
    capacity: sectors(bytes, 12, 'capacity') * sector,
    grainSize: grainSectors * sector,
    entriesPerTable,
    directoryAt: directory === directoryAtEnd ? undefined : sectors(bytes, 56, 'grain directory'),
    overhead: sectors(bytes, 64, 'overhead'),
  };
}

function sectors(bytes: Buffer, at: number, what: string): number {
  const value = bytes.readBigUInt64LE(at);
  if (value > mostSectors) throw vmdkError(`its ${what} of ${value} sectors is too large`);
  return Number(value);
}
