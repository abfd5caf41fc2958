import { Context } from '@temporalio/activity';
import { z } from 'zod';
import type { CopyTransferActivities } from '../../workflows/contracts/batch-activities.ts';
import { eta, etaTimes, withSample, type EtaSample } from '../../workflows/domain/batch/eta.ts';
import { OperationError } from '../failures.ts';
import { lastBeat, raiseFence, whileBeating, type Fence } from '../heartbeat.ts';
import type { Target } from '../incus/port.ts';
import type { Source } from '../vsphere/source-port.ts';
import { DiskCopy, type CopyProgress } from './copy/disk-copy.ts';
import { withHoles, type Piece } from './copy/pieces.ts';
import { readAreas, type ReadExtent } from './copy/read-areas.ts';
import { byteCounter } from '../transfer-metrics.ts';
import type { BatchDeps } from './deps.ts';
import type { DiskWriter, Extent } from './disk-port.ts';

type CopyInput = Parameters<CopyTransferActivities['copyDisk']>[0];

const beatSchema = z.object({ offset: z.number(), bytesWritten: z.number() });

/** The pace is looked at this often. */
const sampleEveryMs = 5_000;

/**
 * Copies one disk: what changed since the change id, or all of it. Writes are positioned, so that a second attempt over the first
 * one's work comes to the same; it goes on where the heartbeat says that all before is kept and proven. An attempt that lost its
 * place stops before it writes more.
 */
export function createCopyDisk(deps: BatchDeps): CopyTransferActivities['copyDisk'] {
  return async (input) => {
    const { scope, disk } = input;
    const last = lastBeat(beatSchema);
    const progress = { offset: last?.offset ?? 0, bytesRead: 0, bytesWritten: last?.bytesWritten ?? 0 };
    const report = new Report(progress, disk.capacity);
    const fence = raiseFence(deps.liveness);
    try {
      return await whileBeating(
        () => report.details(),
        async () => {
          const [source, target] = [await deps.source(scope.source), await deps.target(scope.target)];
          const writer = await target.openDisk(scope.project, scope.name, disk.index, {
            signal: fence.signal,
            writable: true,
          });
          try {
            await copy({ input, source, target, writer, fence, report });
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
  readonly report: Report;
}

async function copy(parts: CopyParts): Promise<void> {
  const { input, source, fence, writer, report } = parts;
  const { scope, disk, snapshot, since } = input;
  if (writer.capacity < disk.capacity)
    throw new OperationError(
      'InvalidRequest',
      `disk ${disk.name} has ${disk.capacity} bytes, its volume at the target only ${writer.capacity}`,
      { code: 'VOLUME_TOO_SMALL' },
    );
  const options = { signal: fence.signal };
  const areas = since === '' ? undefined : await source.changedAreas(scope.vm, snapshot, disk, since, options);
  report.covers(areas ?? [{ start: 0, length: disk.capacity }]);
  const run = async (pieces: AsyncIterable<Piece>, isFresh: boolean): Promise<void> => {
    const isResumed = Context.current().info.attempt > 1;
    const isOver = areas === undefined && !isFresh;
    await new DiskCopy({
      ...{ writer, pieces, isResumed, compares: isOver, holes: isFresh ? 'skip' : 'zero' },
      progress: report.progress,
      onSent: byteCounter('disk-copy'),
      check: () => checkPlace(parts),
    }).run();
  };
  const { offset } = report.progress;
  if (areas !== undefined) {
    const read: ReadExtent = (extent, into) => readExactly(parts, extent, into);
    await run(withHoles(areas, readAreas(areas, read, offset), offset), false);
    return;
  }
  const reader = await source.openDisk(scope.vm, snapshot, disk, options);
  try {
    const all = [{ start: 0, length: disk.capacity }];
    const isFresh = writer.isZeroed && scope.pass === 1 && input.isAgain !== true;
    await run(withHoles(all, reader.stream(fence.signal, offset), offset), isFresh);
  } finally {
    await reader.close();
  }
}

async function readExactly(
  { input, source, fence }: CopyParts,
  { start, length }: Extent,
  into: Buffer,
): Promise<Uint8Array> {
  const { disk, scope } = input;
  const data = await source.readRange({ name: disk.name, vm: scope.vm }, start, length, { signal: fence.signal, into });
  if (data.length === length) return data;
  throw new OperationError(
    'Unavailable',
    `disk ${disk.name}: asked for ${length} bytes at ${start}, got ${data.length}`,
    { code: 'SHORT_READ' },
  );
}

/** A pass with a higher number has begun, or another attempt: this one is over. */
async function checkPlace({ fence, target, input }: CopyParts): Promise<void> {
  await fence.check();
  const { project, name, pass } = input.scope;
  const current = await target.readFence(project, name, { signal: fence.signal });
  if (current === pass) return;
  throw new OperationError('LeaseLost', `copy pass ${current} writes to ${name} by now, this is pass ${pass}`, {
    code: 'FENCED',
    retryable: false,
  });
}

/** What the heartbeat says: where the copy is, how fast, and when it will be done if that goes on. Bytes, bytes per second, ISO 8601. */
class Report {
  readonly progress: CopyProgress;
  #total: number;
  #samples: EtaSample[] = [];

  constructor(progress: CopyProgress, total: number) {
    this.progress = progress;
    this.#total = total;
  }

  /** What lies before the offset was read by an earlier attempt. */
  covers(areas: readonly Extent[]): void {
    const { offset } = this.progress;
    this.#total = areas.reduce((sum, { length }) => sum + length, 0);
    this.progress.bytesRead = areas.reduce(
      (sum, { start, length }) => sum + Math.min(Math.max(offset - start, 0), length),
      0,
    );
  }

  details(): object {
    const now = Date.now();
    const { bytesRead } = this.progress;
    const last = this.#samples.at(-1);
    if (last === undefined || now - last.at >= sampleEveryMs)
      this.#samples = withSample(this.#samples, { at: now, done: bytesRead });
    const done = eta({ samples: this.#samples, total: this.#total, now });
    return {
      phase: 'copying',
      ...this.progress,
      bytesTotal: this.#total,
      ...this.#pace(),
      ...(done === undefined ? {} : { eta: etaTimes(done) }),
    };
  }

  #pace(): { readonly bytesPerSecond?: number } {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || last.at <= first.at) return {};
    return { bytesPerSecond: Math.round(((last.done - first.done) * 1_000) / (last.at - first.at)) };
  }
}
