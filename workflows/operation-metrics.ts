import {
  ContinueAsNew,
  TemporalFailure,
  isCancellation,
  metricMeter,
  workflowInfo,
  type Next,
  type WorkflowExecuteInput,
  type WorkflowInboundCallsInterceptor as Inbound,
  type WorkflowInterceptors,
} from '@temporalio/workflow';
import { kindAndStatus } from './shared/attributes.ts';

/** Counts operations that end. The SDK's own numbers know the type of a workflow, but not what its end means for who asked. */
class OperationMetrics implements Inbound {
  execute(input: WorkflowExecuteInput, next: Next<Inbound, 'execute'>): Promise<unknown> {
    const result = next(input);
    // Beside the result, not before it: it gets where it goes as early as without us, and histories replay the same.
    result.then(
      () => record('Completed'),
      (error: unknown) => {
        const end = endOf(error);
        if (end !== undefined) record(end);
      },
    );
    return result;
  }
}

/** Undefined: a run that goes on in another one, or a task that is tried again. */
function endOf(error: unknown): string | undefined {
  if (error instanceof ContinueAsNew || !(error instanceof TemporalFailure)) return undefined;
  return isCancellation(error) ? 'Canceled' : 'Failed';
}

function record(end: string): void {
  const { kind, status = end } = kindAndStatus();
  // Made here: modules are evaluated outside of workflows.
  metricMeter
    .createCounter('vmflow_operations_ended', '1', 'Operations that ended, by what became of them')
    .add(1, { kind, status });
  const { startTime, continuedFromExecutionRunId } = workflowInfo();
  // Whatever the SDK calls it, it is the start of this run; when the first one began the others aren't told.
  if (continuedFromExecutionRunId !== undefined) return;
  metricMeter
    .createHistogram('vmflow_operation_duration', 'int', 'ms', 'From start to end, of operations of one run')
    .record(Date.now() - startTime.getTime(), { kind });
}

export const interceptors = (): WorkflowInterceptors => ({ inbound: [new OperationMetrics()] });
