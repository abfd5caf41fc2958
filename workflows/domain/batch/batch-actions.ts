import type { BatchStatus } from './records.ts';

export type BatchAction = 'apply' | 'start' | 'resume' | 'stop' | 'edit' | 'reset' | 'delete';

export interface BatchSituation {
  readonly status: BatchStatus;
  /** An entry is committed: a source is off, or about to be. */
  readonly isCommitted: boolean;
  readonly force: boolean;
}

/** In which statuses an action is taken. Table of the specification §5. */
const allowed: Readonly<Record<BatchAction, readonly BatchStatus[]>> = {
  apply: ['Defined', 'Running', 'Stopped', 'Error', 'Finished'],
  edit: ['Defined', 'Running', 'Stopped', 'Error', 'Finished'],
  start: ['Defined', 'Stopped', 'Error'],
  resume: ['Stopped', 'Error'],
  stop: ['Running'],
  reset: ['Defined', 'Running', 'Stopped', 'Error', 'Finished'],
  delete: ['Defined', 'Stopped', 'Error', 'Finished'],
};

/** Why an action is refused now; undefined: it is not. */
export function actionRefusal(action: BatchAction, { status, isCommitted, force }: BatchSituation): string | undefined {
  if (!allowed[action].includes(status)) {
    const hint = action === 'delete' && status === 'Running' ? ': stop it first' : '';
    return `the batch is ${status}; ${action} needs ${allowed[action].join(', ')}${hint}`;
  }
  if (!isCommitted) return undefined;
  if (action === 'reset' && !force) return 'a VM is in its downtime: wait for its end, or reset with force';
  if (action === 'delete') return 'a VM is in its downtime: wait for its end, or reset with force';
  return undefined;
}
