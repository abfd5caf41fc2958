import { VSphereError, VimFault } from '../faults.ts';
import type { SourceCallOptions } from '../source-port.ts';
import type { DatastoreAccess } from './datastore-access.ts';
import { parseDatastorePath, trackingFileOf } from './datastore-path.ts';
import { refOf } from './vm-ref.ts';

/** Whether the change tracking file lies beside each disk. What keeps that from being told now leaves it undefined. */
export async function verifyTracking(
  files: DatastoreAccess,
  disks: readonly string[],
  options: SourceCallOptions & { readonly vm?: string },
): Promise<Readonly<Record<string, boolean | undefined>>> {
  const found: Record<string, boolean | undefined> = {};
  for (const disk of disks) found[disk] = await hasTrackingFile(files, disk, options);
  return found;
}

async function hasTrackingFile(
  files: DatastoreAccess,
  disk: string,
  options: SourceCallOptions & { readonly vm?: string },
): Promise<boolean | undefined> {
  try {
    const { datastore, path } = parseDatastorePath(disk);
    const vm = options.vm === undefined ? undefined : refOf(options.vm);
    return (await files.size({ datastore, path: trackingFileOf(path), disk: path, vm }, options)) !== undefined;
  } catch (error) {
    if (error instanceof VSphereError || error instanceof VimFault) return undefined;
    throw error;
  }
}
