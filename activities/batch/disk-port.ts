/** A range of a disk, bytes. */
export interface Extent {
  readonly start: number;
  readonly length: number;
}

/** A disk of a source VM as it was at one snapshot. Offsets and lengths are bytes. Close it when done. */
export interface DiskReader {
  readonly capacity: number;
  /** Change id of the snapshot it reads; empty where there is no change tracking. */
  readonly changeId: string;
  /**
   * The disk in ascending order, from this byte on or a little before; what is left out reads as zeros. The bytes are there until
   * the next ones are asked for.
   */
  stream(signal: AbortSignal, from?: number): AsyncIterable<{ readonly start: number; readonly data: Uint8Array }>;
  close(): Promise<void>;
}

/** A disk of a target instance. Writes are positioned: repeating one changes nothing. */
export interface DiskWriter {
  readonly capacity: number;
  /** Whether it reads as zeros where nothing was written yet. */
  readonly isZeroed: boolean;
  write(start: number, data: Uint8Array): Promise<void>;
  zero(start: number, length: number): Promise<void>;
  /** @param into may be used for the answer */
  read(start: number, length: number, into?: Buffer): Promise<Uint8Array>;
  /** Resolves once everything written is kept. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
