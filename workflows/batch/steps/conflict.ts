import type { ConflictCode, Finding } from '../../domain/batch/records.ts';
import type { EntryRun } from '../entry-run.ts';
import { now } from '../entry-state.ts';

/** Something that a person has to decide. The source stays off until then, or until the window ends; others may import meanwhile. */
export async function conflict(run: EntryRun, finding: Finding<ConflictCode>, moment: string): Promise<void> {
  const { state } = run;
  await run.slots.release();
  state.event('queue-entry-conflicted', { code: finding.code, moment });
  state.enter('Conflict', `${finding.code}: ${finding.message}`, { conflict: { ...finding, moment, since: now() } });
  await run.news.send();
}
