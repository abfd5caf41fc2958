import { exitCodes, exitOfFailureType, type ExitCode } from '../exit-codes.ts';
import type { TemplateView } from './view.ts';

/** True when the swap has ended. Its last status may be seen before the execution is closed. */
export function isOver(view: TemplateView): boolean {
  return view.execution !== 'running' || ['Completed', 'Undone', 'Failed', 'Cancelled'].includes(view.phase);
}

/** True when there is nothing more to wait for; keeping the previous version is no work. */
export function isSettled(view: TemplateView): boolean {
  return isOver(view) || view.phase === 'Keeping';
}

/** How a settled or conflicting swap ends a command that waited for `goal`. */
export function exitOfView(view: TemplateView, goal: 'update' | 'undo'): ExitCode {
  switch (view.phase) {
    case 'Completed':
    case 'Keeping':
      return view.result?.plan?.problem === undefined ? exitCodes.ok.code : exitCodes.refused.code;
    case 'Undone':
      return goal === 'undo' ? exitCodes.ok.code : exitCodes.cancelled.code;
    case 'Cancelled':
      return exitCodes.cancelled.code;
    case 'Conflict':
      return exitCodes.refused.code;
    case 'Failed':
      return view.failure === undefined ? exitCodes.failed.code : exitOfFailureType(view.failure.type);
    case 'Terminated':
    case 'TimedOut':
      return exitCodes.failed.code;
    default:
      return exitCodes.ok.code;
  }
}
