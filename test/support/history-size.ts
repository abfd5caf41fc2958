import type { WorkflowHandle } from '@temporalio/client';

export interface HistorySize {
  readonly events: number;
  /** Bytes of the largest one, of whatever kind. */
  readonly largestPayload: number;
}

/** What a run costs Temporal: storage, replay and billing follow its events. */
export async function historySize(handle: WorkflowHandle): Promise<HistorySize> {
  const { events = [] } = await handle.fetchHistory();
  return { events: events?.length ?? 0, largestPayload: largestIn(events) };
}

function largestIn(value: unknown): number {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return 0;
  const { data } = value as { data?: unknown };
  const own = data instanceof Uint8Array ? data.length : 0;
  return Object.values(value).reduce<number>((largest, part) => Math.max(largest, largestIn(part)), own);
}
