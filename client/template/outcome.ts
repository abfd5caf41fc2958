import { exitCodes, exitOfFailureType, type ExitCode } from '../exit-codes.ts';
import type { TemplateView } from './view.ts';

/** True when nothing more happens by itself that the person who asked would wait for; a kept previous version is no work. */
export function isSettled(view: TemplateView): boolean {
  return view.execution !== 'running' || ['Keeping', 'Completed', 'Undone', 'Failed', 'Cancelled'].includes(view.phase);
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
