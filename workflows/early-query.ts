import type { ActivateInput, Next, WorkflowInterceptors, WorkflowInternalsInterceptor } from '@temporalio/workflow';
import { askAgainMessage } from './contracts/ask-again.ts';

/**
 * A query that comes to a worker which doesn't hold the workflow makes it rebuild the workflow from its history. The SDK (1.24.0)
 * then hands over also the events of a workflow task that nobody has started yet, with the time of the task before, and keeps what
 * the workflow makes of them for when that task is started: commands that no replay gives again, so that the workflow is stuck for
 * ever. It is told by a history that has grown while its time, which is that of the start of a task, stands still. The state is
 * thrown away and the query fails; who asked asks again.
 */
class EarlyQueries implements WorkflowInternalsInterceptor {
  #last: { readonly time: string; readonly events: number } | undefined;

  activate(input: ActivateInput, next: Next<WorkflowInternalsInterceptor, 'activate'>): void {
    const { timestamp, historyLength, jobs } = input.activation;
    const isQuery = jobs?.every(({ queryWorkflow }) => queryWorkflow != null) ?? true;
    if (!isQuery && timestamp != null) {
      const now = { time: `${String(timestamp.seconds)}.${timestamp.nanos ?? 0}`, events: historyLength ?? 0 };
      const grows = this.#last?.time === now.time && now.events > this.#last.events;
      if (grows && !isCoarse(timestamp.nanos ?? 0)) throw new Error(askAgainMessage);
      this.#last = now;
    }
    next(input);
  }
}

/** Of a clock of milliseconds, which may tell the same time twice: that of the time-skipping test server. */
function isCoarse(nanos: number): boolean {
  return nanos % 1_000_000 === 0;
}

export const interceptors = (): WorkflowInterceptors => ({ internals: [new EarlyQueries()] });
