import { readAreas } from '../../batch/copy/read-areas.ts';
import type { DiskReader, Extent } from '../../batch/disk-port.ts';
import type { LeaseDeviceUrl, MoRef, VSphereSession } from '../port.ts';
import { ByteReader } from './byte-reader.ts';
import { changedAreas } from './changed-areas.ts';
import type { DatastoreAccess } from './datastore-access.ts';
import { besides, parseDatastorePath } from './datastore-path.ts';
import { ExportKeeper } from './export-keeper.ts';
import { isDescriptor, parseFlatDescriptor } from './vmdk-descriptor.ts';
import { sector, vmdkError } from './vmdk-header.ts';
import type { Grain } from './vmdk-stream.ts';
import { readVmdkStream } from './vmdk-stream.ts';

const limits = {
  /** A server that sends nothing for this long is given up. */
  stallMs: 60_000,
  /** Descriptors of disks are some hundred bytes. */
  descriptorBytes: 64 * 1024,
} as const;

export interface ExportedDiskParts {
  /** Of its own: closed with the disk. */
  readonly session: VSphereSession;
  readonly lease: MoRef;
  readonly leaseTimeoutS: number;
  readonly device: LeaseDeviceUrl;
  readonly files: DatastoreAccess;
  readonly vm: MoRef;
  readonly snapshot: MoRef;
  readonly disk: { readonly name: string; readonly key: number; readonly capacity: number };
  readonly changeId: string;
}

/**
 * One disk of an export lease: a stream-optimised VMDK, or the descriptor of a flat disk whose content is then read from its file.
 * Closing it completes the lease if everything was read, else aborts it.
 */
export class ExportedDisk implements DiskReader {
  readonly capacity: number;
  readonly changeId: string;
  readonly #parts: ExportedDiskParts;
  readonly #keeper: ExportKeeper;
  #isComplete = false;

  constructor(parts: ExportedDiskParts) {
    this.capacity = parts.disk.capacity;
    this.changeId = parts.changeId;
    this.#parts = parts;
    this.#keeper = new ExportKeeper(parts.session, parts.lease, parts.leaseTimeoutS);
  }

  async *stream(signal: AbortSignal, from = 0): AsyncGenerator<Grain, void> {
    const either = AbortSignal.any([signal, this.#keeper.lost]);
    for await (const grain of this.#grains(either, from)) {
      either.throwIfAborted();
      yield grain;
      this.#keeper.percent = ((grain.start + grain.data.length) / this.capacity) * 100;
    }
    // A caller that left at the last piece takes it for unfinished: so must the lease.
    signal.throwIfAborted();
    this.#isComplete = true;
  }

  /** Never throws: what was read was checked, and the lease ends with its session at the latest. */
  async close(): Promise<void> {
    const { session, lease } = this.#parts;
    await this.#keeper.stop();
    const end = this.#isComplete ? session.leaseComplete(lease) : session.leaseAbort(lease);
    await end.catch(() => undefined);
    await session.close();
  }

  async *#grains(signal: AbortSignal, from: number): AsyncGenerator<Grain, void> {
    const { session, device, disk } = this.#parts;
    const reader = new ByteReader(session.vms.downloadExport(device, { signal, stallMs: limits.stallMs }));
    try {
      const first = await reader.upTo(sector);
      if (!isDescriptor(first.toString('latin1', 0, 64))) {
        yield* readVmdkStream(first, reader, disk.capacity, from);
        return;
      }
      const rest = await reader.upTo(limits.descriptorBytes);
      yield* this.#flat(Buffer.concat([first, rest]).toString('utf8'), signal, from);
    } finally {
      await reader.close();
    }
  }

  /** What the server keeps no record of may be anywhere. */
  async #allocated(signal: AbortSignal): Promise<readonly Extent[]> {
    const { session, vm, snapshot, disk } = this.#parts;
    const known = await changedAreas(session, { vm, snapshot, disk, since: '*' }, { signal });
    return known ?? [{ start: 0, length: this.capacity }];
  }

  async *#flat(descriptor: string, signal: AbortSignal, from: number): AsyncGenerator<Grain, void> {
    const { files, disk, vm } = this.#parts;
    const { capacity, file } = parseFlatDescriptor(descriptor);
    if (capacity !== disk.capacity) throw vmdkError(`it has ${capacity} bytes, the disk has ${disk.capacity}`);
    const { datastore, path } = parseDatastorePath(disk.name);
    const flat = { datastore, path: besides(path, file), disk: path, vm };
    const size = await files.size(flat, { signal });
    if (size !== capacity) throw vmdkError(`its file ${file} has ${size ?? 'no'} bytes instead of ${capacity}`);
    yield* readAreas(
      await this.#allocated(signal),
      ({ start, length }, into) => files.read(flat, start, length, { signal, into }),
      from,
    );
  }
}
