import type { Extent } from '../../batch/disk-port.ts';
import { isFaultType } from '../fault-hierarchy.ts';
import { VimFault, VSphereError } from '../faults.ts';
import type { MoRef, VSphereSession } from '../port.ts';
import type { SourceCallOptions } from '../source-port.ts';
import type { DiskAreas } from '../vm-port.ts';
import { isUsable } from './change-id.ts';
import { mergeExtents } from './extents.ts';
import { readDisks } from './snapshot-disks.ts';
import { callOptions } from './ticking.ts';

export interface ChangedAreasQuery {
  readonly vm: MoRef;
  /** undefined: up to now. */
  readonly snapshot: MoRef | undefined;
  readonly disk: { readonly key: number; readonly capacity: number };
  /** A change id, or `*` = what is allocated. */
  readonly since: string;
}

const method = 'QueryChangedDiskAreas';

/**
 * What changed on a disk, in ascending order: too much perhaps, never too little. undefined: nothing follows from this change id
 * any more, so that the whole disk has to be copied.
 */
export async function changedAreas(
  session: VSphereSession,
  query: ChangedAreasQuery,
  options: SourceCallOptions,
): Promise<readonly Extent[] | undefined> {
  const { vm, snapshot, disk, since } = query;
  const current = (await readDisks(session, snapshot ?? vm, options)).find(({ key }) => key === disk.key);
  if (current === undefined) throw wrong(query, 'there is no such disk');
  if (current.capacity !== disk.capacity) throw wrong(query, `the disk has ${current.capacity} bytes now`);
  if (since === '*' ? current.changeId === '' : !isUsable(since, current.changeId)) return undefined;
  try {
    return mergeExtents(await askAll(session, query, options));
  } catch (error) {
    if (isUselessId(error)) return undefined;
    throw error;
  }
}

/** One answer may cover a part of the disk only. */
async function askAll(
  session: VSphereSession,
  query: ChangedAreasQuery,
  options: SourceCallOptions,
): Promise<readonly Extent[]> {
  const { vm, snapshot, disk, since } = query;
  const found: Extent[] = [];
  for (let at = 0; at < disk.capacity;) {
    const ask = {
      deviceKey: disk.key,
      startOffset: at,
      changeId: since,
      ...(snapshot === undefined ? {} : { snapshot }),
    };
    const answer = await session.vms.changedDiskAreas(vm, ask, callOptions(options));
    check(query, answer, at);
    found.push(...answer.areas.map((area) => clip(area, disk.capacity)));
    at = answer.startOffset + answer.length;
  }
  return found;
}

/** What would let the copy miss something, or never end. */
function check(query: ChangedAreasQuery, { startOffset, length, areas }: DiskAreas, asked: number): void {
  if (startOffset > asked) throw wrong(query, `asked from ${asked} on, the answer begins at ${startOffset}`);
  if (startOffset + length <= asked) throw wrong(query, `the answer to ${asked} covers nothing`);
  const beyond = areas.find((area) => area.start < 0 || area.length <= 0 || area.start >= query.disk.capacity);
  if (beyond !== undefined)
    throw wrong(query, `the area of ${beyond.length} bytes at ${beyond.start} is not on the disk`);
}

/** Areas are rounded to the blocks that the server keeps track of; a disk need not end with one. */
const clip = ({ start, length }: Extent, capacity: number): Extent => ({
  start,
  length: Math.min(length, capacity - start),
});

/** A disk that is gone is no question of its change id. */
function isUselessId(error: unknown): boolean {
  if (!(error instanceof VimFault)) return false;
  if (isFaultType(error.faultType, 'FileFault')) return true;
  return error.faultType === 'InvalidArgument' && error.fields['invalidProperty'] !== 'deviceKey';
}

function wrong({ vm, disk }: ChangedAreasQuery, what: string): VSphereError {
  const message = `${method} on disk ${disk.key} of ${vm.type}:${vm.value}: ${what}.`;
  return new VSphereError('PROTOCOL', message, { kind: 'vim-fault', method, message });
}
