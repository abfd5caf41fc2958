import type { ConflictCode, Finding, InstanceRecord } from '../../domain/batch/records.ts';
import { now } from '../../shared/now.ts';
import type { EntryRun } from '../entry-run.ts';

/** Something that a person has to decide. The source stays off until then, or until the window ends; others may import meanwhile. */
export async function conflict(run: EntryRun, finding: Finding<ConflictCode>, moment: string): Promise<void> {
  const { state } = run;
  await run.slots.release();
  state.event('queue-entry-conflicted', { code: finding.code, moment });
  state.enter('Conflict', inWords(finding), { conflict: { ...finding, moment, since: now() } });
}

/** As messages begin: with the code that people look for. */
export function inWords({ code, message }: Finding): string {
  return `${code}: ${message}`;
}

/** Before anything was copied with its source off. */
export function vmGone({ source_specific_id }: InstanceRecord): Finding<'SOURCE_VM_GONE'> {
  return {
    code: 'SOURCE_VM_GONE',
    message: 'the VM is not at the source any more',
    expected: source_specific_id,
    found: 'nothing',
  };
}
