import { OperationError } from '../failures.ts';
import type { MoRef, VSphereSession } from '../vsphere/port.ts';
import { field } from './read-vm.ts';

/** Left free on the datastore besides what the disks need. */
const reserveBytes = 1024 ** 3;

/** Refuses a datastore that can't be used or hasn't room for `needBytes`. */
export async function checkDatastore(
  session: VSphereSession,
  datastore: MoRef,
  name: string,
  needBytes: number,
): Promise<void> {
  const [content] = await session.retrieve(
    [datastore],
    ['summary.accessible', 'summary.maintenanceMode', 'summary.freeSpace'],
  );
  const get = (path: string): unknown => content?.props.get(path);
  if (get('summary.accessible') === false) throw unusable(name, 'is not accessible');
  const mode = field({ mode: get('summary.maintenanceMode') }, 'mode');
  if (mode !== undefined && mode !== 'normal') throw unusable(name, `is in maintenance (${mode})`);
  const free = Number(get('summary.freeSpace') ?? Number.POSITIVE_INFINITY);
  if (free >= needBytes + reserveBytes) return;
  throw new OperationError(
    'NoSpace',
    `datastore ${name} has ${gib(free)} free, the import needs ${gib(needBytes)} and leaves ${gib(reserveBytes)}`,
    {
      code: 'INSUFFICIENT_SPACE',
      facts: { freeBytes: free, needBytes },
      next: 'free some space; the operation tries again by itself',
    },
  );
}

function unusable(name: string, why: string): OperationError {
  return new OperationError('NoSpace', `datastore ${name} ${why}`, {
    code: 'DATASTORE_UNUSABLE',
    next: 'bring it back; the operation tries again by itself',
  });
}

function gib(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}
