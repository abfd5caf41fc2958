import type { HibernationPhase } from '../domain/hibernate/hibernation.ts';
import type { OperationStatus } from './status.ts';

export type Desire = 'Hibernate' | 'Wake';

/** Input of `requestHibernation`: what a person asks of the VM of one Pod. It waits for the end. */
export interface RequestHibernationInput {
  readonly namespace: string;
  readonly podName: string;
  readonly desire: Desire;
  readonly by?: string;
  readonly reason?: string;
  /** Only say what would be done. */
  readonly dryRun?: boolean;
}

/** The CocoonHibernation that was asked. It has the name of its Pod. */
export interface HibernationRef {
  readonly uid: string;
  /** What counts is said about this generation or a later one. */
  readonly generation: number;
}

/** Answer of the update `request` of `requestHibernation`. */
export type HibernationAnswer =
  /** `created`: there was none. `changed`: it wanted something else, or had failed. `in-progress`: it wants that already. */
  | ({
      readonly outcome: 'created' | 'changed' | 'in-progress';
      /** What it had reached before. */
      readonly phase?: HibernationPhase;
    } & HibernationRef)
  | { readonly outcome: 'already-so'; readonly phase?: HibernationPhase }
  | { readonly outcome: 'would-create' | 'would-change'; readonly phase?: HibernationPhase };

/** `superseded`: somebody wants the opposite meanwhile. `deleted`: the object is gone. */
export interface RequestHibernationResult {
  readonly outcome:
    'Hibernated' | 'Active' | 'Failed' | 'superseded' | 'deleted' | 'already-so' | 'would-create' | 'would-change';
  readonly message: string;
}

export interface RequestHibernationStatus extends OperationStatus {
  readonly desire: Desire;
  readonly podName: string;
}
