import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { pastEvents } from '../../../activities/history/history-adapter.ts';
import type { PastRun } from '../../../activities/history/past.ts';
import { recordedHistories, type Recorded } from '../../replay/histories.ts';

/** What was recorded, as a run of a Temporal would be read. */
export function pastRun({ workflowId, history }: Recorded): PastRun {
  const start = history.events[0]?.['workflowExecutionStartedEventAttributes'] as { originalExecutionRunId: string };
  return {
    workflowId,
    runId: start.originalExecutionRunId,
    events: pastEvents(historyFromJSON(history)),
  };
}

export async function pastRuns(): Promise<readonly { readonly name: string; readonly run: PastRun }[]> {
  return (await recordedHistories()).map((recorded) => ({ name: recorded.name, run: pastRun(recorded) }));
}
