import { deflateSync } from 'node:zlib';

/**
 * Stream-optimised VMDKs as VMware's tools write them: header, descriptor, compressed grains, grain tables, grain directory,
 * footer and end-of-stream marker, in one forward pass.
 */
const sector = 512;
const grainSectors = 128;
const grainBytes = grainSectors * sector;
const entriesPerTable = 512;
const descriptorSectors = 20;
const overheadSectors = 128;
/** "The grain directory's place is in the footer." */
const directoryAtEnd = 0xffffffffffffffffn;
const markers = { endOfStream: 0, grainTable: 1, grainDirectory: 2, footer: 3 } as const;

export interface VmdkOptions {
  /** Of the disk; rounded up to whole grains of 64 KiB. Default: the image's size. */
  readonly capacityBytes?: number;
  /** In the embedded descriptor; default `streamOptimized`. Tests of refusals change it. */
  readonly createType?: string;
}

/** The VMDK of a raw image held in memory. Grains of zeros take no space. */
export function streamOptimizedVmdk(image: Uint8Array, options: VmdkOptions = {}): Buffer {
  return Buffer.concat([...vmdkChunks([image], { ...options, capacityBytes: options.capacityBytes ?? image.length })]);
}

/** The same piece by piece, for images that don't fit into memory; `capacityBytes` must cover the image. */
export function* vmdkChunks(
  image: Iterable<Uint8Array>,
  options: VmdkOptions & { readonly capacityBytes: number },
): Generator<Buffer, void, undefined> {
  const grainCount = Math.max(1, Math.ceil(options.capacityBytes / grainBytes));
  const capacity = grainCount * grainSectors;
  yield vmdkHead(options);
  let at = overheadSectors;
  const tables: number[] = [];
  let table = new Uint32Array(entriesPerTable);
  let grain = 0;
  const placed = (bytes: Buffer): Buffer => {
    at += bytes.length / sector;
    return bytes;
  };
  const closeTable = function* (): Generator<Buffer, void, undefined> {
    if (table.every((entry) => entry === 0)) {
      tables.push(0);
    } else {
      yield placed(metadataMarker(markers.grainTable, (entriesPerTable * 4) / sector));
      tables.push(at);
      yield placed(littleEndian(table));
    }
    table = new Uint32Array(entriesPerTable);
  };
  for (const data of grainsOf(image)) {
    if (grain >= grainCount) throw new RangeError('the image is larger than the disk');
    if (data.some((byte) => byte !== 0)) {
      table[grain % entriesPerTable] = at;
      yield placed(grainMarker(grain * grainSectors, data));
    }
    grain += 1;
    if (grain % entriesPerTable === 0) yield* closeTable();
  }
  const tableCount = Math.ceil(grainCount / entriesPerTable);
  while (tables.length < tableCount) yield* closeTable();
  const directory = littleEndian(Uint32Array.from(tables));
  yield placed(metadataMarker(markers.grainDirectory, directory.length / sector));
  const directoryAt = at;
  yield placed(directory);
  yield placed(metadataMarker(markers.footer, 1));
  yield placed(header(capacity, BigInt(directoryAt)));
  yield placed(metadataMarker(markers.endOfStream, 0));
}

/** Header, embedded descriptor and padding: what a format check looks at. Also the head of sparse test bodies. */
export function vmdkHead(options: VmdkOptions & { readonly capacityBytes: number }): Buffer {
  const capacity = Math.max(1, Math.ceil(options.capacityBytes / grainBytes)) * grainSectors;
  const head = Buffer.alloc(overheadSectors * sector);
  header(capacity, directoryAtEnd).copy(head);
  head.write(descriptor(capacity, options.createType ?? 'streamOptimized'), sector);
  return head;
}

function header(capacity: number, grainDirectory: bigint): Buffer {
  const bytes = Buffer.alloc(sector);
  bytes.write('KDMV', 0);
  bytes.writeUInt32LE(3, 4);
  bytes.writeUInt32LE(0x30001, 8);
  bytes.writeBigUInt64LE(BigInt(capacity), 12);
  bytes.writeBigUInt64LE(BigInt(grainSectors), 20);
  bytes.writeBigUInt64LE(1n, 28);
  bytes.writeBigUInt64LE(BigInt(descriptorSectors), 36);
  bytes.writeUInt32LE(entriesPerTable, 44);
  bytes.writeBigUInt64LE(0n, 48);
  bytes.writeBigUInt64LE(grainDirectory, 56);
  bytes.writeBigUInt64LE(BigInt(overheadSectors), 64);
  bytes.write('\n \r\n', 73);
  bytes.writeUInt16LE(1, 77);
  return bytes;
}

function descriptor(capacity: number, createType: string): string {
  const cylinders = Math.min(65535, Math.ceil(capacity / (255 * 63)));
  return [
    '# Disk DescriptorFile',
    'version=1',
    'CID=7d3c5a01',
    'parentCID=ffffffff',
    `createType="${createType}"`,
    '',
    '# Extent description',
    `RDONLY ${String(capacity)} SPARSE "disk.vmdk"`,
    '',
    '# The Disk Data Base',
    '#DDB',
    'ddb.adapterType = "lsilogic"',
    `ddb.geometry.cylinders = "${String(cylinders)}"`,
    'ddb.geometry.heads = "255"',
    'ddb.geometry.sectors = "63"',
    'ddb.virtualHWVersion = "4"',
    '',
  ].join('\n');
}

/** Cuts the image into grains, the last one padded with zeros. */
function* grainsOf(image: Iterable<Uint8Array>): Generator<Buffer, void, undefined> {
  let grain = Buffer.alloc(grainBytes);
  let filled = 0;
  for (const chunk of image) {
    for (let taken = 0; taken < chunk.length;) {
      const count = Math.min(chunk.length - taken, grainBytes - filled);
      grain.set(chunk.subarray(taken, taken + count), filled);
      taken += count;
      filled += count;
      if (filled === grainBytes) {
        yield grain;
        grain = Buffer.alloc(grainBytes);
        filled = 0;
      }
    }
  }
  if (filled > 0) yield grain;
}

/** Marker and data of a grain: start sector, compressed size, zlib data, padded to a sector. */
function grainMarker(startSector: number, data: Uint8Array): Buffer {
  const compressed = deflateSync(data);
  const bytes = Buffer.alloc(Math.ceil((12 + compressed.length) / sector) * sector);
  bytes.writeBigUInt64LE(BigInt(startSector), 0);
  bytes.writeUInt32LE(compressed.length, 8);
  compressed.copy(bytes, 12);
  return bytes;
}

/** Marker before a table: number of sectors that follow, size 0, type. */
function metadataMarker(type: number, sectors: number): Buffer {
  const bytes = Buffer.alloc(sector);
  bytes.writeBigUInt64LE(BigInt(sectors), 0);
  bytes.writeUInt32LE(type, 12);
  return bytes;
}

function littleEndian(entries: Uint32Array): Buffer {
  const bytes = Buffer.alloc(Math.ceil((entries.length * 4) / sector) * sector);
  entries.forEach((entry, index) => bytes.writeUInt32LE(entry, index * 4));
  return bytes;
}
