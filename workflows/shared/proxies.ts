import { proxyActivities, workflowInfo, type ActivityInterfaceFor, type ActivityOptions } from '@temporalio/workflow';
import { transferQueueOf, waitQueueOf } from '../contracts/task-queues.ts';

/** Longest summary the server takes, in bytes; names are mostly ASCII, so characters with some room left. */
const longestSummary = 180;

export function oneLine(text: string): string {
  return text.length <= longestSummary ? text : `${text.slice(0, longestSummary - 1)}…`;
}

/** Activities on the workflow's own queue, labelled with what this call is for. */
export function control<T>(options: ActivityOptions, summary: string): ActivityInterfaceFor<T> {
  return proxyActivities<T>({ ...options, summary: oneLine(summary) });
}

/** Activities on the transfer queue that belongs to the workflow's own. */
export function transfer<T>(options: ActivityOptions, summary: string): ActivityInterfaceFor<T> {
  const taskQueue = transferQueueOf(workflowInfo().taskQueue);
  return proxyActivities<T>({ ...options, taskQueue, summary: oneLine(summary) });
}

/** Activities that wait for a far side, on the waiting queue that belongs to the workflow's own. */
export function waiting<T>(options: ActivityOptions, summary: string): ActivityInterfaceFor<T> {
  const taskQueue = waitQueueOf(workflowInfo().taskQueue);
  return proxyActivities<T>({ ...options, taskQueue, summary: oneLine(summary) });
}
