import { Context } from '@temporalio/activity';
import type { VmopType } from '../../workflows/domain/vmop/matrix.ts';

/** How long it took until the workflow of what is taken over was closed, milliseconds. With the worker's other metrics. */
export function recordFence(incumbentType: VmopType, ms: number): void {
  Context.current()
    .metricMeter.createHistogram(
      'vmflow_vmop_fence_duration',
      'int',
      'ms',
      'Time to close the workflow of an older operation',
    )
    .record(Math.round(ms), { incumbent_type: incumbentType });
}

/** What an older operation had asked for could not be taken back. */
export function countCompensationFailure(incumbentType: VmopType): void {
  Context.current()
    .metricMeter.createCounter('vmflow_vmop_compensation_failures', '1', 'Side effects that could not be taken back')
    .add(1, { incumbent_type: incumbentType });
}
