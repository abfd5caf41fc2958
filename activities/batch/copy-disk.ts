import type { CopyTransferActivities } from '../../workflows/contracts/batch-activities.ts';
import { OperationError } from '../failures.ts';
import { raiseFence, whileBeating, type Fence } from '../heartbeat.ts';
import type { Target } from '../incus/port.ts';
import type { Source, SourceCallOptions } from '../vsphere/source-port.ts';
import type { BatchDeps } from './deps.ts';
import type { DiskWriter } from './disk-port.ts';

type CopyInput = Parameters<CopyTransferActivities['copyDisk']>[0];

/** How much is read from a running series of changed areas at once. */
const chunk = 4 * 1024 * 1024;
/** How often the mark on the target is asked whether somebody else writes by now. */
const fenceEvery = 64 * 1024 * 1024;

/**
 * Copies one disk: what changed since the change id, or all of it. Writes are positioned, so that a second attempt over the first
 * one's work comes to the same; an attempt that lost its place stops before it writes more.
 */
export function createCopyDisk(deps: BatchDeps): CopyTransferActivities['copyDisk'] {
  return async (input) => {
    const { scope, disk } = input;
    const fence = raiseFence(deps.liveness);
    const progress = { bytesRead: 0, bytesWritten: 0, bytesTotal: disk.capacity };
    try {
      return await whileBeating(
        () => ({ phase: 'copying', ...progress }),
        async () => {
          const [source, target] = [await deps.source(scope.source), await deps.target(scope.target)];
          const options = { signal: fence.signal };
          const writer = await target.openDisk(scope.project, scope.name, disk.index, { ...options, writable: true });
          try {
            const copy = new Copy({ input, source, target, writer, fence, progress });
            await copy.run();
          } finally {
            await writer.close();
          }
          return { bytesRead: progress.bytesRead, bytesWritten: progress.bytesWritten };
        },
      );
    } finally {
      fence.dispose();
    }
  };
}

interface CopyParts {
  readonly input: CopyInput;
  readonly source: Source;
  readonly target: Target;
  readonly writer: DiskWriter;
  readonly fence: Fence;
  readonly progress: { bytesRead: number; bytesWritten: number };
}

class Copy {
  readonly #parts: CopyParts;
  #sinceFence = Number.POSITIVE_INFINITY;

  constructor(parts: CopyParts) {
    this.#parts = parts;
  }

  async run(): Promise<void> {
    const { input, source, fence, writer } = this.#parts;
    const { scope, disk, snapshot, since } = input;
    const options: SourceCallOptions = { signal: fence.signal };
    const { key, capacity, name } = disk;
    if (writer.capacity < capacity)
      throw new OperationError(
        'InvalidRequest',
        `disk ${name} has ${capacity} bytes, its volume at the target only ${writer.capacity}`,
        {
          code: 'VOLUME_TOO_SMALL',
        },
      );
    const areas =
      since === '' ? undefined : await source.changedAreas(scope.vm, snapshot, { key, capacity }, since, options);
    if (areas === undefined) await this.#whole(options);
    else await this.#changed(areas, options);
    await this.#check();
    await writer.flush();
  }

  /** What the source leaves out reads as zeros, also where an earlier copy has left something. */
  async #whole(options: SourceCallOptions): Promise<void> {
    const { input, source, fence, writer } = this.#parts;
    const { scope, snapshot, disk, isAgain = false } = input;
    const reader = await source.openDisk(scope.vm, snapshot, disk, options);
    const isFresh = writer.isZeroed && scope.pass === 1 && !isAgain;
    let at = 0;
    try {
      for await (const { start, data } of reader.stream(fence.signal)) {
        this.#parts.progress.bytesRead += data.length;
        if (start > at && !isFresh) await this.#zero(at, start - at);
        if (isZero(data)) {
          if (!isFresh) await this.#zero(start, data.length);
        } else await this.#write(start, data);
        at = start + data.length;
      }
      if (at < disk.capacity && !isFresh) await this.#zero(at, disk.capacity - at);
    } finally {
      await reader.close();
    }
  }

  async #changed(areas: readonly { start: number; length: number }[], options: SourceCallOptions): Promise<void> {
    const { input, source } = this.#parts;
    for (const { start, length } of areas) {
      for (let at = start; at < start + length; at += chunk) {
        const size = Math.min(chunk, start + length - at);
        const data = await source.readRange({ name: input.disk.name, vm: input.scope.vm }, at, size, options);
        if (data.length !== size)
          throw new OperationError(
            'Unavailable',
            `disk ${input.disk.name}: asked for ${size} bytes at ${at}, got ${data.length}`,
            {
              code: 'SHORT_READ',
            },
          );
        this.#parts.progress.bytesRead += size;
        await this.#write(at, data);
      }
    }
  }

  async #write(start: number, data: Uint8Array): Promise<void> {
    await this.#before(data.length);
    await this.#parts.writer.write(start, data);
    this.#parts.progress.bytesWritten += data.length;
  }

  async #zero(start: number, length: number): Promise<void> {
    await this.#before(0);
    await this.#parts.writer.zero(start, length);
  }

  async #before(bytes: number): Promise<void> {
    this.#sinceFence += bytes;
    if (this.#sinceFence < fenceEvery) return;
    await this.#check();
    this.#sinceFence = 0;
  }

  /** A pass with a higher number has begun, or another attempt: this one is over. */
  async #check(): Promise<void> {
    const { fence, target, input } = this.#parts;
    await fence.check();
    const { project, name, pass } = input.scope;
    const current = await target.readFence(project, name, { signal: fence.signal });
    if (current === pass) return;
    throw new OperationError('LeaseLost', `copy pass ${current} writes to ${name} by now, this is pass ${pass}`, {
      code: 'FENCED',
      retryable: false,
    });
  }
}

function isZero(data: Uint8Array): boolean {
  const buffer = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return buffer.length > 0 && buffer[0] === 0 && buffer.subarray(1).equals(buffer.subarray(0, -1));
}
