import { deflateSync } from 'node:zlib';

const sector = 512;
const grainBytes = 64 * 1024;
const entriesPerTable = 512;

/**
 * A stream-optimised VMDK in qemu's layout: version 3, flags 0x30003, a redundant and a primary directory with their tables in front
 * of the data, no markers, no footer, no end of stream, the last sector not filled.
 */
export function qemuVmdk(image: Uint8Array): Buffer {
  const grains = Math.ceil(image.length / grainBytes);
  const tables = Math.ceil(grains / entriesPerTable);
  const directorySectors = Math.ceil((tables * 4) / sector);
  const redundantAt = 21;
  const directoryAt = redundantAt + directorySectors + tables * 4;
  const overhead = Math.ceil((directoryAt + directorySectors + tables * 4) / 128) * 128;
  const head = Buffer.alloc(overhead * sector);
  writeHeader(head, { capacity: image.length / sector, redundantAt, directoryAt, overhead });
  const body: Buffer[] = [];
  let at = overhead;
  for (let grain = 0; grain < grains; grain += 1) {
    const data = Buffer.alloc(grainBytes);
    data.set(image.subarray(grain * grainBytes, (grain + 1) * grainBytes));
    if (data.every((byte) => byte === 0)) continue;
    if (body.length > 0) body.push(Buffer.alloc(at * sector - overhead * sector - lengthOf(body)));
    const packed = deflateSync(data);
    const marker = Buffer.alloc(12);
    marker.writeBigUInt64LE(BigInt(grain * 128), 0);
    marker.writeUInt32LE(packed.length, 8);
    for (const directory of [redundantAt, directoryAt]) {
      const table = directory + directorySectors + Math.floor(grain / entriesPerTable) * 4;
      head.writeUInt32LE(at, table * sector + (grain % entriesPerTable) * 4);
    }
    body.push(marker, packed);
    at += Math.ceil((12 + packed.length) / sector);
  }
  for (const directory of [redundantAt, directoryAt]) {
    for (let table = 0; table < tables; table += 1) {
      head.writeUInt32LE(directory + directorySectors + table * 4, directory * sector + table * 4);
    }
  }
  return Buffer.concat([head, ...body]);
}

const lengthOf = (parts: readonly Buffer[]): number => parts.reduce((sum, part) => sum + part.length, 0);

function writeHeader(
  head: Buffer,
  at: {
    readonly capacity: number;
    readonly redundantAt: number;
    readonly directoryAt: number;
    readonly overhead: number;
  },
): void {
  head.write('KDMV', 0);
  head.writeUInt32LE(3, 4);
  head.writeUInt32LE(0x30003, 8);
  head.writeBigUInt64LE(BigInt(at.capacity), 12);
  head.writeBigUInt64LE(128n, 20);
  head.writeBigUInt64LE(1n, 28);
  head.writeBigUInt64LE(20n, 36);
  head.writeUInt32LE(entriesPerTable, 44);
  head.writeBigUInt64LE(BigInt(at.redundantAt), 48);
  head.writeBigUInt64LE(BigInt(at.directoryAt), 56);
  head.writeBigUInt64LE(BigInt(at.overhead), 64);
  head.write('\n \r\n', 73);
  head.writeUInt16LE(1, 77);
}
