import { defaultPayloadConverter, type Client, type WorkflowHandle } from '@temporalio/client';
import { decoded } from '../codec/decoded.ts';
import type { Codec } from '../codec/payload-codec-adapter.ts';
import { ifFound } from '../open-workflow.ts';
import { recordedQuery } from './names.ts';
import type { Attributes, ClosedRun, Happening, Past, PastEvent } from './past.ts';
import type { EndAction } from './record.ts';

type Protocol = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
type ProtocolEvent = NonNullable<Protocol['events']>[number];
type Execution = Awaited<ReturnType<Client['workflowService']['listWorkflowExecutions']>>['executions'][number];
type Payload = Parameters<typeof defaultPayloadConverter.fromPayload>[0];
type Payloads = { readonly payloads?: Payload[] | null } | null | undefined;
type Fields = Readonly<Record<string, Payload>> | null | undefined;
type Failure = NonNullable<ProtocolEvent['workflowExecutionFailedEventAttributes']>['failure'];

/** Milliseconds for one page of visibility or one history: a connection that died is noticed so. */
const deadlineMs = 30_000;
const pageSize = 500;

/** @param codec where payloads are encrypted */
export function temporalPast(client: Client, codec?: Codec): Past {
  const inTime = <T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> =>
    client.withAbortSignal(signal, () => client.withDeadline(Date.now() + deadlineMs, call));
  return {
    async *closedSince(at = new Date(0).toISOString(), signal) {
      const query = `${recordedQuery} AND ExecutionStatus != 'Running' AND CloseTime >= '${at}'`;
      const { namespace } = client.options;
      let nextPageToken: Uint8Array | undefined;
      do {
        const request = { namespace, query, pageSize, ...(nextPageToken === undefined ? {} : { nextPageToken }) };
        const page = await inTime(signal, () => client.workflowService.listWorkflowExecutions(request));
        yield page.executions.flatMap(closedRun);
        nextPageToken = page.nextPageToken;
      } while (nextPageToken.length > 0);
    },
    async read({ workflowId, runId }, signal) {
      const history = await inTime(signal, () => ifFound(client.workflow.getHandle(workflowId, runId).fetchHistory()));
      if (history === undefined) return undefined;
      return { workflowId, runId, events: pastEvents(codec === undefined ? history : await decoded(history, codec)) };
    },
  };
}

function closedRun({ execution, closeTime }: Execution): ClosedRun[] {
  const { workflowId, runId } = execution ?? {};
  return workflowId && runId && closeTime != null ? [{ workflowId, runId, closedAt: timeOf(closeTime) }] : [];
}

/** A history as the server gives it, in our words. */
export function pastEvents({ events }: Protocol): PastEvent[] {
  return (events ?? []).flatMap((event) => {
    const what = happening(event);
    return what === undefined ? [] : [{ id: Number(event.eventId), at: timeOf(event.eventTime), what }];
  });
}

/** The one group of attributes that an event has; undefined for what records don't tell. */
function happening(event: ProtocolEvent): Happening | undefined {
  return begun(event) ?? message(event) ?? fromOutside(event) ?? end(event);
}

function begun(event: ProtocolEvent): Happening | undefined {
  const start = event.workflowExecutionStartedEventAttributes;
  if (start != null)
    return {
      kind: 'started',
      type: start.workflowType?.name ?? '',
      argument: first(start.input),
      memo: decodeAll(start.memo?.fields),
      attributes: decodeAll(start.searchAttributes?.indexedFields),
      identity: start.identity ?? '',
      ...(start.parentWorkflowExecution?.workflowId ? { parent: start.parentWorkflowExecution.workflowId } : {}),
      isContinued: Boolean(start.continuedExecutionRunId),
    };
  const upsert = event.upsertWorkflowSearchAttributesEventAttributes;
  if (upsert != null) return { kind: 'attributes', attributes: decodeAll(upsert.searchAttributes?.indexedFields) };
  return undefined;
}

function message(event: ProtocolEvent): Happening | undefined {
  const update = event.workflowExecutionUpdateAcceptedEventAttributes;
  if (update != null) {
    const { input, meta } = update.acceptedRequest ?? {};
    return {
      kind: 'update',
      name: input?.name ?? '',
      argument: first(input?.args),
      identity: meta?.identity ?? '',
    };
  }
  const done = event.workflowExecutionUpdateCompletedEventAttributes;
  if (done != null) {
    const failure = done.outcome?.failure == null ? undefined : messageOf(done.outcome.failure);
    return {
      kind: 'update-end',
      acceptedId: Number(done.acceptedEventId),
      ...(failure === undefined ? {} : { failure }),
    };
  }
  const signal = event.workflowExecutionSignaledEventAttributes;
  if (signal != null)
    return {
      kind: 'signal',
      name: signal.signalName ?? '',
      argument: first(signal.input),
      identity: signal.identity ?? '',
    };
  return undefined;
}

function fromOutside(event: ProtocolEvent): Happening | undefined {
  const cancel = event.workflowExecutionCancelRequestedEventAttributes;
  if (cancel != null) {
    const parent = cancel.externalWorkflowExecution?.workflowId;
    return {
      kind: 'cancel-requested',
      identity: cancel.identity ?? '',
      reason: cancel.cause ?? '',
      ...(parent ? { parent } : {}),
    };
  }
  const task = event.workflowTaskFailedEventAttributes;
  // Only a reset leaves the run that it makes in a failed task.
  if (task?.newRunId) return { kind: 'reset', identity: task.identity ?? '', message: task.failure?.message ?? '' };
  return undefined;
}

function end(event: ProtocolEvent): Happening | undefined {
  const ended = (how: EndAction, more: { identity?: string; reason?: string; message?: string } = {}): Happening => ({
    kind: 'end',
    how,
    ...more,
  });
  const terminated = event.workflowExecutionTerminatedEventAttributes;
  if (terminated != null)
    return ended('terminated', { identity: terminated.identity ?? '', reason: terminated.reason ?? '' });
  const failed = event.workflowExecutionFailedEventAttributes;
  if (failed != null) return ended('failed', { message: messageOf(failed.failure) });
  if (event.workflowExecutionCompletedEventAttributes != null) return ended('completed');
  if (event.workflowExecutionCanceledEventAttributes != null) return ended('canceled');
  if (event.workflowExecutionTimedOutEventAttributes != null) return ended('timed-out');
  if (event.workflowExecutionContinuedAsNewEventAttributes != null) return ended('continued');
  return undefined;
}

/** Of the failure that one of ours threw, or of the innermost: what stands around it says only where. */
function messageOf(failure: Failure | undefined): string {
  const isLast = failure?.cause == null || failure.applicationFailureInfo != null;
  return isLast ? (failure?.message ?? '') : messageOf(failure.cause);
}

function decodeAll(fields: Fields): Attributes {
  return Object.fromEntries(Object.entries(fields ?? {}).map(([name, payload]) => [name, decode(payload)]));
}

function first(input: Payloads): unknown {
  const [payload] = input?.payloads ?? [];
  return payload === undefined ? undefined : decode(payload);
}

/** What is encrypted, or no JSON, stays unknown. */
function decode(payload: Payload): unknown {
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    return undefined;
  }
}

function timeOf(time: ProtocolEvent['eventTime']): string {
  return new Date(Number(time?.seconds ?? 0) * 1_000 + Math.floor((time?.nanos ?? 0) / 1e6)).toISOString();
}
