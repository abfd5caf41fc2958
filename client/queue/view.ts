import type { MigrationView, Timeline } from '../../workflows/contracts/batch.ts';
import { copyPassId } from '../../workflows/contracts/ids.ts';
import type { EtaTimes } from '../../workflows/domain/batch/eta.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { describeIfThere } from '../execution/wait.ts';
import type { ExecutionView } from '../gateway.ts';
import { defined, omit } from '../objects.ts';
import type { Session } from '../session.ts';
import { ask, askStatus } from '../status-query.ts';
import { entryOf, type EntryRow } from './rows.ts';

/** A copy of disks that is under way. */
export interface CopyView {
  readonly pass: number;
  readonly attempt: number;
  readonly phase?: string;
  readonly bytesDone?: number;
  readonly bytesTotal?: number;
  readonly bytesPerSecond?: number;
  /** When this disk is done if it goes on like this. */
  readonly eta?: EtaTimes;
  /** Why the attempt before ended. */
  readonly lastFailure?: string;
  readonly reportedAt?: string;
}

/** What `queue get` prints. */
export interface EntryDocument
  extends
    Omit<EntryRow, 'since' | 'message' | 'conflict' | 'waitingFor'>,
    Partial<Omit<MigrationView, 'kind' | 'id' | 'status' | 'entryStatus' | keyof EntryRow>>,
    Partial<Pick<MigrationView, 'since' | 'message' | 'conflict' | 'waitingFor'>> {
  /** `server`: no worker answered, so this is what Temporal itself recorded last. */
  readonly answeredBy: 'worker' | 'server';
  readonly steps: MigrationView['steps'];
  readonly next: readonly string[];
  readonly copy?: CopyView;
  readonly timeline?: Timeline;
}

export async function loadEntry(session: Session, execution: ExecutionView): Promise<EntryDocument> {
  const { workflowId } = execution;
  const status = await askStatus<MigrationView>(session, { workflowId });
  const row = await entryOf(session, execution);
  const document = withTrouble(mergeEntry(row, status), await describeIfThere(session, { workflowId }));
  const copy = await copyOf(session, document);
  return copy === undefined ? document : { ...document, copy };
}

/** Pure: what the workflow says over what the server recorded. */
export function mergeEntry(row: EntryRow, status: MigrationView | undefined): EntryDocument {
  const recorded = omit(row, 'conflict', 'waitingFor');
  if (status === undefined) {
    const waitingFor = row.waitingFor as MigrationView['waitingFor'];
    return { ...recorded, ...defined({ waitingFor }), answeredBy: 'server', steps: [], next: [] };
  }
  const own = omit(status, 'kind', 'id', 'status', 'entryStatus');
  return { ...recorded, ...own, phase: status.entryStatus, answeredBy: 'worker' };
}

/** A call that is made again and again is what it waits for: its workflow hears of it only when it ends. */
function withTrouble(document: EntryDocument, execution: ExecutionView | undefined): EntryDocument {
  const failures = (execution?.pending ?? []).flatMap(({ attempt, lastFailure }) => (attempt > 1 ? [lastFailure] : []));
  const trouble = failures.find((failure) => failure !== undefined);
  if (trouble === undefined || document.waitingFor !== undefined) return document;
  const { message = document.phase } = document;
  return { ...document, waitingFor: 'far-side', message: `${message} (${trouble})` };
}

/** What happened so far; undefined: nobody can say now. */
export async function timelineOf(session: Session, id: string): Promise<Timeline | undefined> {
  return await ask<Timeline>(session, { workflowId: id }, messages.timeline);
}

/** Progress of the copy that is under way, from what its activity reports. */
async function copyOf(session: Session, { uuid, copyPass, phase }: EntryDocument): Promise<CopyView | undefined> {
  if (copyPass === undefined || !/import tasks$/.test(phase)) return undefined;
  const execution = await describeIfThere(session, { workflowId: copyPassId(uuid, copyPass) });
  const activity = execution?.pending.find(({ type }) => type === 'copyDisk' || type === 'verifyDisk');
  if (activity === undefined) return undefined;
  const beat = (activity.heartbeat ?? {}) as Partial<Omit<CopyView, 'bytesDone'>> & { readonly bytesRead?: number };
  return {
    pass: copyPass,
    attempt: activity.attempt,
    ...defined({
      phase: beat.phase,
      bytesDone: beat.bytesRead,
      bytesTotal: beat.bytesTotal,
      bytesPerSecond: beat.bytesPerSecond,
      eta: beat.eta,
      lastFailure: activity.lastFailure,
      reportedAt: activity.heartbeatAt,
    }),
  };
}
