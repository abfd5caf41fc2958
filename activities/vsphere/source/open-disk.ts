import type { DiskReader } from '../../batch/disk-port.ts';
import { VSphereError } from '../faults.ts';
import type { MoRef, VSphereSession } from '../port.ts';
import type { SourceCallOptions } from '../source-port.ts';
import type { DatastoreAccess } from './datastore-access.ts';
import { diskDevices } from './disk-records.ts';
import { exportedDisk } from './export-devices.ts';
import { ExportedDisk } from './exported-disk.ts';
import { readDevices } from './snapshot-disks.ts';
import type { SourceDeps } from './source-deps.ts';
import { callOptions } from './ticking.ts';

export interface DiskOfSnapshot {
  readonly vm: MoRef;
  readonly snapshot: MoRef;
  readonly disk: { readonly name: string; readonly key: number; readonly capacity: number };
}

/**
 * A whole disk as it was at a snapshot, by an export lease. The lease belongs to a session of its own, which lives until the
 * reader is closed.
 */
export async function openDisk(
  deps: SourceDeps,
  files: DatastoreAccess,
  wanted: DiskOfSnapshot,
  options: SourceCallOptions,
): Promise<DiskReader> {
  const session = await deps.openSession();
  let lease: MoRef | undefined;
  try {
    const devices = await readDevices(session, wanted.snapshot, options);
    const changeId = checkDisk(devices, wanted);
    lease = await session.vms.exportSnapshot(wanted.snapshot, callOptions(options));
    const { deviceUrls, leaseTimeoutS } = await session.waitForLease(lease, callOptions(options));
    const device = exportedDisk(devices, wanted.disk.key, deviceUrls);
    return new ExportedDisk({ session, lease, leaseTimeoutS, device, files, changeId, ...wanted });
  } catch (error) {
    await giveUp(session, lease);
    throw error;
  }
}

/** Its change id. */
function checkDisk(devices: unknown, { snapshot, disk }: DiskOfSnapshot): string {
  const found = diskDevices(devices).find(({ key }) => key === disk.key);
  const problem =
    found === undefined
      ? 'the snapshot has no such disk'
      : found.name !== disk.name
        ? `the disk of the snapshot is ${found.name}`
        : found.capacity !== disk.capacity
          ? `the disk of the snapshot has ${found.capacity} bytes, not ${disk.capacity}`
          : undefined;
  if (found !== undefined && problem === undefined) return found.changeId;
  const message = `Disk ${disk.key} (${disk.name}) can't be read at ${snapshot.value}: ${problem ?? ''}.`;
  throw new VSphereError('PROTOCOL', message, { kind: 'lookup', method: 'ExportSnapshot', message });
}

/** Leaves nothing open; what fails now ends with the session. */
async function giveUp(session: VSphereSession, lease: MoRef | undefined): Promise<void> {
  if (lease !== undefined) await session.leaseAbort(lease).catch(() => undefined);
  await session.close();
}
