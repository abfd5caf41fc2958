import type { ClientInterceptors } from '@temporalio/client';
import type { WorkerInterceptors } from '@temporalio/worker';
import { isTracingWanted } from '../activities/tracing/wanted.ts';
import { causeOf } from '../activities/kubernetes/classify.ts';
import { clientInterceptors } from '../workflows/contracts/ask-again.ts';
import type { WorkerLog } from './log.ts';
import type { ProcessKind } from './settings.ts';

/** What a process puts into its clients and workers; without a collector nothing but our own. */
export interface WorkerTracing {
  readonly client: ClientInterceptors;
  readonly activity: NonNullable<WorkerInterceptors['activity']>;
  /** Sends what is left, for a while. */
  stop(): Promise<void>;
}

/** Milliseconds: a supervisor waits, and a collector that is away doesn't come back for us. */
const patienceMs = 3_000;

export async function startWorkerTracing(
  kind: ProcessKind,
  version: string,
  log: Pick<WorkerLog, 'info' | 'warn'>,
): Promise<WorkerTracing> {
  if (!isTracingWanted(process.env)) return { client: clientInterceptors, activity: [], stop: () => Promise.resolve() };
  const [{ startTracing }, { tracedClientInterceptors }, { tracedActivity }] = await Promise.all([
    import('../activities/tracing/tracing-adapter.ts'),
    import('../activities/tracing/temporal-client-adapter.ts'),
    import('../activities/tracing/temporal-activity-adapter.ts'),
  ]);
  let isTold = false;
  const tracing = startTracing({
    service: `vmflow-${kind}`,
    version,
    stopMs: patienceMs,
    onFailure(error) {
      if (!isTold) log.warn({ error: causeOf(error) }, 'Traces can not be sent, those of this time are lost');
      isTold = true;
    },
  });
  return { client: tracedClientInterceptors(), activity: [tracedActivity], stop: () => tracing.stop() };
}
