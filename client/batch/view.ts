import type { BatchSpecAnswer, BatchView, MemberRow } from '../../workflows/contracts/batch.ts';
import { batchId, shardId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { searchKeys } from '../../workflows/contracts/attributes.ts';
import type { BatchSpec } from '../../workflows/domain/batch/records.ts';
import { eta, etaTimes, type EtaTimes } from '../../workflows/domain/batch/eta.ts';
import { windowState } from '../../workflows/domain/batch/windows.ts';
import { naturally } from '../output/names.ts';
import type { ExecutionView } from '../gateway.ts';
import { defined, omit } from '../objects.ts';
import { isSettled } from './find.ts';
import type { Session } from '../session.ts';
import { ask, askStatus } from '../status-query.ts';

/** What the workflow says, as of now. */
type BatchStatusNow = Omit<BatchView, 'pace'> & { readonly eta?: EtaTimes };

/** What `batch get` prints. */
export interface BatchDocument extends Partial<
  Omit<BatchStatusNow, 'kind' | 'batch' | 'batchStatus' | 'status' | 'id'>
> {
  readonly id: string;
  readonly runId: string;
  readonly name: string;
  readonly phase: string;
  /** `server`: no worker answered, so this is what Temporal itself recorded last. */
  readonly answeredBy: 'worker' | 'server';
  readonly counts: BatchView['counts'];
  readonly next: readonly string[];
  readonly spec?: BatchSpec;
  readonly items?: readonly MemberRow[];
  readonly link: string;
}

export async function loadBatch(session: Session, execution: ExecutionView): Promise<BatchDocument> {
  const { workflowId, runId } = execution;
  const status = await askStatus<BatchView>(session, { workflowId });
  return mergeBatch(execution, status && asNow(session, status), await session.link(workflowId, runId));
}

/** A batch that nothing happens to knows an earlier time: what depends on it is told by that of the client. */
function asNow({ runtime }: Session, { pace, ...status }: BatchView): BatchStatusNow {
  const now = runtime.now().getTime();
  const windows = status.windows.map((window) => ({ ...window, state: windowState(window, now) }));
  // When a person will have decided nobody can tell.
  const isOver = isSettled({ phase: status.batchStatus, counts: status.counts });
  const found = pace === undefined || isOver ? undefined : eta({ ...pace, now, windows });
  return { ...status, windows, ...defined({ eta: found === undefined ? undefined : etaTimes(found) }) };
}

/** Pure: what the workflow says, else what the server recorded. */
export function mergeBatch(
  { workflowId, runId, attributes }: ExecutionView,
  status: BatchStatusNow | undefined,
  link: string,
): BatchDocument {
  const recorded = {
    batch: textOf(attributes, 'batch') ?? workflowId,
    phase: textOf(attributes, 'status') ?? 'Started',
  };
  const own =
    status === undefined ? { counts: {}, next: [] } : omit(status, 'kind', 'id', 'batch', 'batchStatus', 'status');
  return {
    ...{ id: workflowId, runId },
    name: status?.batch ?? recorded.batch,
    phase: status?.batchStatus ?? recorded.phase,
    answeredBy: status === undefined ? 'server' : 'worker',
    ...own,
    link,
  };
}

function textOf(attributes: ExecutionView['attributes'], key: 'batch' | 'status'): string | undefined {
  const value = attributes[searchKeys[key].name];
  return typeof value === 'string' ? value : undefined;
}

/** What was asked for; undefined: nobody can say now. */
export async function specOf(session: Session, name: string): Promise<BatchSpec | undefined> {
  return (await ask<BatchSpecAnswer>(session, { workflowId: batchId(name) }, messages.spec))?.spec;
}

/** A shard answers in pages of this size. */
const pageSize = 200;

interface EntriesPage {
  readonly rows: readonly MemberRow[];
  readonly cursor?: number;
}

/** All members, with what the shards know of each. */
export async function membersOf(session: Session, { name, shards = 0 }: BatchDocument): Promise<readonly MemberRow[]> {
  const rows: MemberRow[] = [];
  for (let shard = 0; shard < shards; shard++) {
    for (let cursor: number | undefined = 0; cursor !== undefined;) {
      const page: EntriesPage | undefined = await ask<EntriesPage>(
        session,
        { workflowId: shardId(name, shard) },
        messages.entries,
        { cursor, limit: pageSize },
      );
      rows.push(...(page?.rows ?? []));
      cursor = page?.cursor;
    }
  }
  return rows.sort((a, b) => naturally.compare(a.name, b.name) || (a.uuid < b.uuid ? -1 : 1));
}
