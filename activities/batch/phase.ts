import type { MemberPhase } from '../../workflows/contracts/batch.ts';
import type { EntryStatus } from '../../workflows/domain/batch/records.ts';

const phases: Readonly<Partial<Record<EntryStatus, MemberPhase>>> = {
  Blocked: 'blocked',
  Waiting: 'waiting',
  Finished: 'finished',
  Error: 'error',
  Canceled: 'canceled',
  Conflict: 'conflict',
};

/** What a row says of an entry until the entry speaks for itself. */
export function asShown(status: EntryStatus): MemberPhase {
  return phases[status] ?? 'running';
}
