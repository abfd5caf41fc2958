import type { InstanceRecord } from '../../workflows/domain/batch/records.ts';
import type { BatchDeps } from './deps.ts';
import { onSource } from './entry-source.ts';

/** Looks for the change tracking files of disks that nobody has looked at; what can't be told now is looked at again later. */
export async function verified(deps: BatchDeps, source: string, record: InstanceRecord): Promise<InstanceRecord> {
  const open = record.disks.filter((disk) => disk.supported && !disk.background_import_verified);
  if (!record.background_import || open.length === 0) return record;
  const found = await onSource(deps, source, (port, options) =>
    port.verifyBackgroundImport(
      open.map(({ name }) => name),
      { ...options, vm: record.source_specific_id },
    ),
  );
  return {
    ...record,
    background_import: !Object.values(found).includes(false),
    disks: record.disks.map((disk) =>
      found[disk.name] === true ? { ...disk, background_import_verified: true } : disk,
    ),
  };
}
