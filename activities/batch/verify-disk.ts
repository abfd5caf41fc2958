import { randomInt } from 'node:crypto';
import type { CopyTransferActivities, DiskComparison } from '../../workflows/contracts/batch-activities.ts';
import { toOperationError } from '../failures.ts';
import { raiseFence, whileBeating } from '../heartbeat.ts';
import { toVSphereOperationError } from '../vsphere/operation-error.ts';
import type { Source } from '../vsphere/source-port.ts';
import type { BatchDeps } from './deps.ts';
import type { DiskWriter, Extent } from './disk-port.ts';

type VerifyInput = Parameters<CopyTransferActivities['verifyDisk']>[0];

const blockBytes = 1024 * 1024;

/** Of each kind: what changed last, and anywhere on the disk. A disk of no more blocks is compared whole. */
const mostBlocks = 256;

/**
 * Reads blocks from both sides and compares them: some of those that this pass has copied, and some anywhere. That finds what
 * reading back the target can't: that something wrong came from the source, or that something was left out. Changes nothing.
 */
export function createVerifyDisk(deps: BatchDeps): CopyTransferActivities['verifyDisk'] {
  return async (input) => {
    const { scope, disk } = input;
    const fence = raiseFence(deps.liveness);
    const progress = { bytesRead: 0, bytesTotal: 0 };
    try {
      return await whileBeating(
        () => ({ phase: 'verifying', ...progress }),
        async () => {
          const [source, target] = [await deps.source(scope.source), await deps.target(scope.target)];
          const blocks = blocksOf(disk.capacity, await copiedAreas(source, input, fence.signal));
          progress.bytesTotal = blocks.reduce((sum, { length }) => sum + length, 0);
          const copy = await target.openDisk(scope.project, scope.name, disk.index, {
            signal: fence.signal,
            writable: false,
          });
          const read = ({ start, length }: Extent): Promise<Uint8Array> =>
            source.readRange({ name: disk.name, vm: scope.vm }, start, length, { signal: fence.signal });
          try {
            return await compare(blocks, read, copy, (bytes) => (progress.bytesRead += bytes));
          } finally {
            await copy.close();
          }
        },
      );
    } finally {
      fence.dispose();
    }
  };
}

async function copiedAreas(source: Source, input: VerifyInput, signal: AbortSignal): Promise<readonly Extent[]> {
  const { scope, disk, snapshot, since } = input;
  if (since === '') return [];
  return (await source.changedAreas(scope.vm, snapshot, disk, since, { signal })) ?? [];
}

async function compare(
  blocks: readonly Extent[],
  readSource: (extent: Extent) => Promise<Uint8Array>,
  copy: DiskWriter,
  onRead: (bytes: number) => void,
): Promise<DiskComparison> {
  let bytes = 0;
  for (const block of blocks) {
    const { start, length } = block;
    const [there, here] = await Promise.all([copy.read(start, length), readSource(block).catch(unreadable)]);
    // A source that has never shown its disks this way is taken as it is.
    if ('unread' in here) return { bytes, unread: here.unread };
    if (Buffer.compare(there, here) !== 0) return { bytes, differs: block };
    bytes += length;
    onRead(length);
  }
  return { bytes };
}

/** Failures that say that there is nothing to be read here; with all others it is tried again. */
const silent: ReadonlySet<string> = new Set(['NotFound', 'Forbidden', 'Refused', 'InvalidRequest']);

function unreadable(error: unknown): { readonly unread: string } {
  const { type, message } = toOperationError(error, [toVSphereOperationError]);
  if (!silent.has(type)) throw error;
  return { unread: message };
}

/** Ascending, without overlap, on the boundaries of blocks. */
function blocksOf(capacity: number, copied: readonly Extent[]): readonly Extent[] {
  const count = Math.ceil(capacity / blockBytes);
  const last = new Set(copied.flatMap(({ start, length }) => indexesOf(start, length)));
  const chosen = new Set([...chosenFrom([...last]), ...anyOf(count)]);
  return [...chosen]
    .toSorted((one, other) => one - other)
    .map((index) => ({ start: index * blockBytes, length: Math.min(blockBytes, capacity - index * blockBytes) }));
}

function indexesOf(start: number, length: number): number[] {
  const first = Math.floor(start / blockBytes);
  return Array.from({ length: Math.ceil((start + length) / blockBytes) - first }, (_, index) => first + index);
}

function anyOf(count: number): number[] {
  if (count <= mostBlocks) return Array.from({ length: count }, (_, index) => index);
  return Array.from({ length: mostBlocks }, () => randomInt(count));
}

function chosenFrom(indexes: readonly number[]): readonly number[] {
  if (indexes.length <= mostBlocks) return indexes;
  return Array.from({ length: mostBlocks }, () => indexes[randomInt(indexes.length)] ?? 0);
}
