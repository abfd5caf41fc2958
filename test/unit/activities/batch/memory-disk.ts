import type { DiskWriter, Extent } from '../../../../activities/batch/disk-port.ts';

/** A disk in memory that keeps what it was asked for, and does it wrong where a test says so. */
export class MemoryDisk implements DiskWriter {
  readonly content: Buffer;
  readonly isZeroed = true;
  readonly written: Extent[] = [];
  readonly zeroed: Extent[] = [];
  flushes = 0;
  /** Called before a write is applied; may throw, or change the bytes. */
  onWrite: (start: number, data: Buffer) => void = () => undefined;

  constructor(capacity: number) {
    this.content = Buffer.alloc(capacity);
  }

  get capacity(): number {
    return this.content.length;
  }

  get bytesWritten(): number {
    return this.written.reduce((sum, { length }) => sum + length, 0);
  }

  async write(start: number, data: Uint8Array): Promise<void> {
    await Promise.resolve();
    const applied = Buffer.from(data);
    this.onWrite(start, applied);
    this.written.push({ start, length: data.length });
    this.content.set(applied, start);
  }

  async zero(start: number, length: number): Promise<void> {
    await Promise.resolve();
    this.zeroed.push({ start, length });
    this.content.fill(0, start, start + length);
  }

  read(start: number, length: number): Promise<Uint8Array> {
    return Promise.resolve(Buffer.from(this.content.subarray(start, start + length)));
  }

  flush(): Promise<void> {
    this.flushes += 1;
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
