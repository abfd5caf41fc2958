import { detectOs } from './os.ts';
import type { BatchStatus, DiskRecord, EntryStatus, InstanceRecord, NicRecord } from './records.ts';

/** One batch that an instance is a member of. */
export interface Membership {
  readonly batch: string;
  readonly status: BatchStatus;
  /** The instance may not migrate under the restriction overrides of this batch. */
  readonly isExcluded: boolean;
}

/** The entry of an instance that is not over. */
export interface LiveEntry {
  readonly batch: string;
  readonly status: EntryStatus;
}

export interface SyncRights {
  readonly mayUpdate: boolean;
  /** What follows when the source doesn't have the VM any more (one that couldn't be read is not missing). */
  readonly ifMissing: 'forget' | 'keep' | 'conflict';
  readonly why: string;
}

/** Statuses in which nothing was made yet that depends on the record. */
const beforeCreation: ReadonlySet<EntryStatus> = new Set(['Blocked', 'Waiting']);

/**
 * What a sync may do with an instance, table of the specification §8.2. While a batch runs only what can't migrate is updated, so
 * that it can heal; an entry on its way learns of changes by its own final checks alone.
 */
export function syncRights(memberships: readonly Membership[], entry?: LiveEntry): SyncRights {
  if (entry !== undefined && !beforeCreation.has(entry.status))
    return fixed(`its migration in batch ${entry.batch} is ${entry.status}; only the final checks read it anew`);
  const active = memberships.filter(({ status }) => status === 'Running' || status === 'Error');
  const holding = active.find(({ isExcluded }) => !isExcluded);
  if (holding !== undefined) return fixed(`batch ${holding.batch} is ${holding.status}`);
  if (entry !== undefined && !active.some(({ batch }) => batch === entry.batch))
    return fixed(`it has an entry in batch ${entry.batch}, which doesn't run`);
  if (active.length > 0)
    return {
      mayUpdate: true,
      ifMissing: entry === undefined ? 'forget' : 'conflict',
      why: `it can't migrate in batch ${active.map(({ batch }) => batch).join(', ')} as it is`,
    };
  return {
    mayUpdate: true,
    ifMissing: memberships.every(({ isExcluded }) => isExcluded) ? 'forget' : 'keep',
    why: memberships.length === 0 ? 'it is in no batch' : 'none of its batches runs',
  };
}

function fixed(why: string): SyncRights {
  return { mayUpdate: false, ifMissing: 'keep', why };
}

/**
 * The record of an instance after it was read again, rules of the specification §8.3: the source is right, but what a guest that
 * is off doesn't report is kept, and so is what was found out about its disks.
 */
export function mergeRecord(previous: InstanceRecord, fresh: InstanceRecord): InstanceRecord {
  const guest = {
    os: kept(fresh.os, previous.os),
    os_description: kept(fresh.os_description, previous.os_description),
    os_template: kept(fresh.os_template, previous.os_template),
  };
  // Verified disks without background import: it was taken back for another disk of the VM, not at the source.
  const wasTracked = previous.background_import || previous.disks.some((disk) => disk.background_import_verified);
  const isSameTracking = fresh.background_import && wasTracked;
  return {
    ...fresh,
    ...guest,
    ...detectOs({ ...guest, description: fresh.description }),
    architecture: kept(kept(fresh.architecture, previous.architecture), 'x86_64'),
    nics: fresh.nics.map((nic) => mergeNic(previous.nics, nic)),
    disks: fresh.disks.map((disk) => (isSameTracking ? mergeDisk(previous.disks, disk) : unverified(disk))),
  };
}

function kept(value: string, before: string): string {
  return value === '' ? before : value;
}

/** Addresses belong to the NIC on its network: on another network it has others. */
function mergeNic(previous: readonly NicRecord[], nic: NicRecord): NicRecord {
  const isSameNetwork = (other: NicRecord): boolean =>
    nic.uuid === '' ? other.location === nic.location : other.uuid === nic.uuid;
  const before = previous.find((other) => other.hardware_address === nic.hardware_address && isSameNetwork(other));
  if (before === undefined) return nic;
  return {
    ...nic,
    uuid: kept(nic.uuid, before.uuid),
    ipv4_address: kept(nic.ipv4_address, before.ipv4_address),
    ipv6_address: kept(nic.ipv6_address, before.ipv6_address),
  };
}

/** A disk that has another size is looked at again; the others of the VM are not. */
function mergeDisk(previous: readonly DiskRecord[], disk: DiskRecord): DiskRecord {
  const before = previous.find(({ name, capacity }) => name === disk.name && capacity === disk.capacity);
  return { ...disk, background_import_verified: before?.background_import_verified ?? false };
}

function unverified(disk: DiskRecord): DiskRecord {
  return { ...disk, background_import_verified: false };
}
