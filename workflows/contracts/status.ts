import type { Conflict } from './conflict.ts';

/** What an operation is waiting for; value of the search attribute `OpWaitingFor`. */
export type WaitingFor = 'person' | 'window' | 'slot' | 'capacity' | 'far-side' | 'superseded';

export type StepState = 'pending' | 'active' | 'done' | 'skipped' | 'failed';

/** One line of the step list. The list is complete from the start, so that a person sees what is still to come. */
export interface Step {
  readonly id: string;
  readonly title: string;
  readonly state: StepState;
  readonly detail?: string;
}

/** Answer of the query `status`, the same for every operation. Times are ISO 8601 in UTC. */
export interface OperationStatus {
  readonly kind: string;
  readonly id: string;
  /** The operation's own status word, also in the search attribute `OpStatus`. */
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** Since when this status holds. */
  readonly since: string;
  /** When the current wait ends by itself; absent: no deadline. */
  readonly deadline?: string;
  readonly waitingFor?: WaitingFor;
  /** 0…1, from the phase table. */
  readonly progress?: number;
  /** Attempt number of the running step where it is known. */
  readonly attempt?: number;
  readonly conflict?: Conflict;
  readonly steps: readonly Step[];
  /** Commands ready to paste. */
  readonly next: readonly string[];
}
