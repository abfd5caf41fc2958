import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rm, truncate, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Volume } from './model.ts';

/** Disks as sparse files of one directory. */
export class VolumeFiles {
  readonly #dir: string;
  #count = 0;

  constructor(dir: string) {
    this.#dir = dir;
  }

  nextFile(): string {
    return join(this.#dir, `volume-${++this.#count}.img`);
  }

  async create({ file, size }: Volume): Promise<void> {
    await (await open(file, 'w')).close();
    await truncate(file, size);
  }

  async remove({ file }: Volume): Promise<void> {
    await rm(file, { force: true });
  }

  /** SHA-256 in hex of the first bytes; without a length of all. */
  async digest({ file }: Volume, length = Infinity): Promise<string> {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(file, { end: length - 1 }) as AsyncIterable<Buffer>) hash.update(chunk);
    return hash.digest('hex');
  }

  async with<T>({ file }: Volume, work: (handle: FileHandle) => Promise<T>): Promise<T> {
    const handle = await open(file, 'r+');
    try {
      return await work(handle);
    } finally {
      await handle.close();
    }
  }
}
