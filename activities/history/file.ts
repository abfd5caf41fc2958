import { createReadStream } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { dirname } from 'node:path';
import type { HistoryRecord } from './record.ts';

/** Readable for a group that ships logs, writable for the bridge. */
const mode = 0o640;
const chunkBytes = 65_536;

/**
 * Appends records as JSON lines; when it resolves they are on the disk. The file is opened anew each time: it may have been moved
 * away in between.
 */
export async function appendRecords(path: string, records: readonly HistoryRecord[]): Promise<void> {
  const file = await open(path, 'a', mode);
  try {
    const isNew = (await file.stat()).size === 0;
    await file.appendFile(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    await file.sync();
    if (isNew) await syncFolder(path);
  } finally {
    await file.close();
  }
}

/** A new name is on the disk only when its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Cuts off a last line that was not written to its end. A missing file is fine. */
export async function mendFile(path: string): Promise<void> {
  const file = await openIfThere(path, 'r+');
  if (file === undefined) return;
  try {
    const { size } = await file.stat();
    const end = await endOfLastLine(file, size);
    if (end === size) return;
    await file.truncate(end);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function endOfLastLine(file: FileHandle, size: number): Promise<number> {
  const chunk = Buffer.alloc(chunkBytes);
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - chunkBytes);
    const { bytesRead } = await file.read(chunk, 0, end - start, start);
    const at = chunk.subarray(0, bytesRead).lastIndexOf('\n');
    if (at !== -1) return start + at + 1;
    end = start;
  }
  return 0;
}

/**
 * The records of a file in its order; none where there is no file. Lines that are no records are left out: the last one may be
 * being written.
 */
export async function* readRecords(path: string): AsyncGenerator<HistoryRecord> {
  const file = await openIfThere(path, 'r');
  if (file === undefined) return;
  const input = createReadStream('', { fd: file });
  try {
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      const record = recordIn(line);
      if (record !== undefined) yield record;
    }
  } finally {
    input.destroy();
  }
}

function recordIn(line: string): HistoryRecord | undefined {
  try {
    const parsed = JSON.parse(line) as Partial<HistoryRecord> | null;
    const isRecord = typeof parsed?.id === 'string' && typeof parsed.run === 'string' && typeof parsed.at === 'string';
    return isRecord ? (parsed as HistoryRecord) : undefined;
  } catch {
    return undefined;
  }
}

async function openIfThere(path: string, flags: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, flags);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
