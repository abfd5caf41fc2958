import { VSphereError } from '../faults.ts';
import type { ByteReader } from './byte-reader.ts';
import { Inflater } from './inflater.ts';
import { inOrder } from './in-order.ts';
import { grainsInFront } from './vmdk-tables.ts';
import type { VmdkHeader } from './vmdk-header.ts';
import { mostSectors, parseVmdkHeader, sector, vmdkError } from './vmdk-header.ts';

/** Start sector (8) and compressed size (4) in front of a grain; with size 0 and a type (4) in front of metadata. */
const markerBytes = 12;
/** So many grains are decompressed at once, each in a thread of its own. */
const inflatedAtOnce = 4;

const markers = { endOfStream: 0, grainTable: 1, grainDirectory: 2, footer: 3 } as const;

export interface Grain {
  readonly start: number;
  readonly data: Uint8Array;
}

interface CompressedGrain {
  readonly start: number;
  readonly compressed: Buffer;
  readonly place: Place;
}

/** What one grain is read into and decompressed by. */
interface Place {
  readonly inflater: Inflater;
  readonly compressed: Buffer;
  readonly data: Buffer;
}

/**
 * The data of a stream-optimised VMDK in ascending order; what is left out reads as zeros. `first` is the file's first sector, which
 * `reader` has given away already. Both layouts are read: VMware's, written in one forward pass with markers, footer and end of
 * stream, and qemu's with the tables in front and nothing at the end. A stream that ended early is `TRANSPORT`, everything
 * else that doesn't fit `PROTOCOL`; memory is bounded by a few grains, and the bytes of one are there until the next is asked for.
 * Grains before `from` are passed over.
 */
export async function* readVmdkStream(
  first: Buffer,
  reader: ByteReader,
  capacity: number,
  from = 0,
): AsyncGenerator<Grain, void> {
  const header = parseVmdkHeader(first);
  if (header.capacity !== capacity) throw vmdkError(`it has ${header.capacity} bytes, the disk has ${capacity}`);
  const places = Array.from({ length: inflatedAtOnce }, () => placeFor(header));
  try {
    const grains = compressedGrains(reader, header, from, places);
    yield* inOrder(grains, inflatedAtOnce, (grain) => inflateGrain(grain, header));
  } finally {
    for (const { inflater } of places) inflater.close();
  }
}

function placeFor({ grainSize }: VmdkHeader): Place {
  return {
    inflater: new Inflater(),
    compressed: Buffer.allocUnsafeSlow(mostCompressed(grainSize)),
    data: Buffer.allocUnsafeSlow(grainSize),
  };
}

/** Compression can add a little to what it can't compress. */
const mostCompressed = (grainSize: number): number => grainSize * 2;

async function* compressedGrains(
  reader: ByteReader,
  header: VmdkHeader,
  from: number,
  places: readonly Place[],
): AsyncGenerator<CompressedGrain, void> {
  const { directoryAt, overhead } = header;
  const expected = directoryAt === undefined ? undefined : await grainsInFront(reader, header, directoryAt);
  if (!(await reader.skip(overhead * sector - reader.position))) throw truncated(reader);
  let seen = 0;
  let given = 0;
  let end = 0;
  for (;;) {
    // Without an end of stream the last grain is told by the number of grains; nothing need fill its last sector.
    if (seen === expected) return;
    await exactly(reader, (sector - (reader.position % sector)) % sector);
    const marker = await exactly(reader, markerBytes);
    const size = marker.readUInt32LE(8);
    if (size === 0) {
      if (await passMetadata(reader, marker, header)) break;
      continue;
    }
    const start = grainStart(marker, size, header);
    if (start < end) throw vmdkError(`its grain at ${start} comes after ${end}`);
    end = start + header.grainSize;
    seen += 1;
    const place = places[given % places.length];
    if (end <= from || place === undefined) {
      if (!(await reader.skip(size))) throw truncated(reader);
      continue;
    }
    given += 1;
    const compressed = await reader.fill(place.compressed.subarray(0, size));
    if (compressed.length < size) throw truncated(reader);
    yield { start, compressed, place };
  }
  if (expected !== undefined) throw vmdkError(`it has ${seen} of the ${expected} grains that its tables name`);
}

/** True: the stream is over. */
async function passMetadata(reader: ByteReader, marker: Buffer, header: VmdkHeader): Promise<boolean> {
  const rest = await exactly(reader, sector - markerBytes);
  const type = rest.readUInt32LE(0);
  const length = marker.readBigUInt64LE(0);
  if (type === markers.endOfStream) {
    if (length !== 0n) throw vmdkError('its end of stream has a length');
    return true;
  }
  if (type !== markers.grainTable && type !== markers.grainDirectory && type !== markers.footer)
    throw vmdkError(`its metadata of type ${type} is unknown`);
  if (length > mostSectors) throw vmdkError(`its metadata of ${length} sectors is too large`);
  if (type === markers.footer) {
    const footer = parseVmdkHeader(await exactly(reader, sector));
    if (footer.capacity !== header.capacity) throw vmdkError('its footer tells another capacity than its header');
    return false;
  }
  if (!(await reader.skip(Number(length) * sector))) throw truncated(reader);
  return false;
}

function grainStart(marker: Buffer, size: number, { capacity, grainSize }: VmdkHeader): number {
  const start = Number(marker.readBigUInt64LE(0)) * sector;
  if (start % grainSize !== 0 || start >= capacity)
    throw vmdkError(`it has a grain at ${start}, which none can begin at`);
  if (size > mostCompressed(grainSize)) throw vmdkError(`its grain at ${start} has ${size} compressed bytes`);
  return start;
}

async function inflateGrain(
  { start, compressed, place }: CompressedGrain,
  { capacity, grainSize }: VmdkHeader,
): Promise<Grain> {
  const data = await place.inflater.inflate(compressed, place.data).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw vmdkError(`its grain at ${start} can't be decompressed (${why})`);
  });
  const length = Math.min(grainSize, capacity - start);
  if (data.length !== grainSize && data.length !== length)
    throw vmdkError(`its grain at ${start} has ${data.length} bytes instead of ${grainSize}`);
  return { start, data: data.subarray(0, length) };
}

async function exactly(reader: ByteReader, count: number): Promise<Buffer> {
  const bytes = await reader.upTo(count);
  if (bytes.length < count) throw truncated(reader);
  return bytes;
}

function truncated(reader: ByteReader): VSphereError {
  const message = `The exported disk ended after ${reader.position} bytes, before it was complete: the copy starts again.`;
  return new VSphereError('TRANSPORT', message, { kind: 'http', method: 'GET of an exported disk', message });
}
