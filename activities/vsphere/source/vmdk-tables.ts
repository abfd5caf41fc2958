import type { ByteReader } from './byte-reader.ts';
import type { VmdkHeader } from './vmdk-header.ts';
import { sector, vmdkError } from './vmdk-header.ts';

const entryBytes = 4;
/** An entry of the value 1 stands for a grain of zeros, which is not in the file. */
const firstRealEntry = 2;

/**
 * Counts the grains that the tables in front of the data name: such a file has no other sign of its end. Reads up to the end of the
 * last table and holds the directory and one table.
 */
export async function grainsInFront(reader: ByteReader, header: VmdkHeader, directoryAt: number): Promise<number> {
  const { capacity, grainSize, entriesPerTable } = header;
  const tableCount = Math.ceil(capacity / grainSize / entriesPerTable);
  const directory = await readAt(reader, directoryAt * sector, tableCount * entryBytes, 'grain directory');
  const tables = Array.from({ length: tableCount }, (_, index) => directory.readUInt32LE(index * entryBytes));
  let grains = 0;
  for (const table of tables.filter((at) => at !== 0)) {
    const entries = await readAt(reader, table * sector, entriesPerTable * entryBytes, 'grain table');
    for (let at = 0; at < entries.length; at += entryBytes) {
      if (entries.readUInt32LE(at) >= firstRealEntry) grains += 1;
    }
  }
  return grains;
}

async function readAt(reader: ByteReader, position: number, length: number, what: string): Promise<Buffer> {
  const ahead = position - reader.position;
  if (ahead < 0) throw vmdkError(`its ${what} at ${position} stands in front of what was read already`);
  await reader.skip(ahead);
  const bytes = await reader.upTo(length);
  if (bytes.length < length) throw vmdkError(`its ${what} at ${position} lies outside of the file`);
  return bytes;
}
