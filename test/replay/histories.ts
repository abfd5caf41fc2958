import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Recorded by an earlier build; never regenerated to make a test pass. */
export const historiesDir = fileURLToPath(new URL('../histories', import.meta.url));

export interface HistoryEvent {
  readonly eventId: string;
  readonly eventType: string;
  readonly userMetadata?: { readonly summary?: unknown };
  readonly [attributes: string]: unknown;
}

export interface Recorded {
  readonly name: string;
  readonly workflowId: string;
  readonly history: { readonly events: readonly HistoryEvent[] };
}

export async function recordedHistories(): Promise<Recorded[]> {
  const files = (await readdir(historiesDir)).filter((name) => name.endsWith('.json')).sort();
  return await Promise.all(
    files.map(async (file) => {
      const { workflowId, history } = JSON.parse(await readFile(join(historiesDir, file), 'utf8')) as Omit<
        Recorded,
        'name'
      >;
      return { name: file.replace(/\.json$/, ''), workflowId, history };
    }),
  );
}

/** What a history went through: workflow type, the steps in their order, messages, and how it ended. Equal paths are one. */
export function pathOf(events: readonly HistoryEvent[]): string[] {
  return events.flatMap((event) => {
    const word = wordOf(event);
    return word === undefined ? [] : [word];
  });
}

function wordOf(event: HistoryEvent): string | undefined {
  const short = event.eventType.replace('EVENT_TYPE_', '');
  switch (short) {
    case 'WORKFLOW_EXECUTION_STARTED':
      return nested(event, 'workflowExecutionStartedEventAttributes', 'workflowType');
    case 'ACTIVITY_TASK_SCHEDULED':
      return nested(event, 'activityTaskScheduledEventAttributes', 'activityType');
    case 'ACTIVITY_TASK_FAILED':
    case 'ACTIVITY_TASK_TIMED_OUT':
    case 'ACTIVITY_TASK_CANCELED':
    case 'TIMER_STARTED':
    case 'TIMER_FIRED':
    case 'WORKFLOW_EXECUTION_CANCEL_REQUESTED':
    case 'WORKFLOW_EXECUTION_SIGNALED':
    case 'START_CHILD_WORKFLOW_EXECUTION_FAILED':
    case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
    case 'CHILD_WORKFLOW_EXECUTION_FAILED':
    case 'CHILD_WORKFLOW_EXECUTION_CANCELED':
    case 'WORKFLOW_EXECUTION_COMPLETED':
    case 'WORKFLOW_EXECUTION_FAILED':
    case 'WORKFLOW_EXECUTION_CANCELED':
      return short.toLowerCase();
    case 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED':
      return `update ${updateName(event)}`;
    default:
      return undefined;
  }
}

function nested(event: HistoryEvent, attributes: string, key: string): string {
  const value = (event[attributes] as Record<string, { name?: string } | undefined> | undefined)?.[key];
  return value?.name ?? '?';
}

function updateName(event: HistoryEvent): string {
  const accepted = event['workflowExecutionUpdateAcceptedEventAttributes'] as
    { acceptedRequest?: { input?: { name?: string } } } | undefined;
  return accepted?.acceptedRequest?.input?.name ?? '?';
}
