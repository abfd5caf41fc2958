import { elapsedMs } from '../time.ts';
import type { Decision } from './decide.ts';
import type { Observation } from './observation.ts';
import { reasons, type Way } from './reasons.ts';
import type { Context } from './situation.ts';
import type { HoldReason, Next, WaitReason } from './step.ts';
import { shownSteps } from './steps.ts';

/** What is written and told about a decision before anybody acts on it. */
export interface Report {
  /** Phase for the set; `settled`: what its agents amount to. Absent: as it is. */
  readonly phase?: 'Migrating' | 'Failed' | 'Pending' | 'settled';
  /** Condition `Migrating`. */
  readonly condition: { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string };
  /** Warning on the set. */
  readonly warning?: string;
  readonly waitingFor?: 'person' | 'slot' | 'capacity' | 'far-side';
  /** A person has to decide, in one of these ways. */
  readonly conflict?: { readonly code: HoldReason; readonly ways: readonly Way[] };
  /** The VM does not run at the moment: it is in its snapshot, or on its way into or out of it. */
  readonly isAtRisk: boolean;
}

/** How a decision is shown. Without it a wait would be silent. */
export function reportOf(decision: Decision, observation: Observation, context: Context): Report {
  const { next } = decision;
  const isAtRisk = atRisk(observation);
  const phase = phaseOf(decision, observation, context);
  const shown = phase === undefined ? { isAtRisk } : { phase, isAtRisk };
  if (next.kind === 'wait' || next.kind === 'hold') return { ...shown, ...told(next) };
  if (next.kind === 'leave' || next.kind === 'end')
    return { ...shown, condition: { status: 'False', reason: 'NotRequested', message: '' } };
  if (isDebt(observation, context.settings.cleanupSoftMs, context)) {
    const message = 'the VM runs on its target; its snapshot could not be dropped yet and is tried again';
    const reason = 'SnapshotCleanupPending';
    return { ...shown, condition: { status: 'True', reason, message }, warning: reason, waitingFor: 'far-side' };
  }
  const { shown: step } = decision;
  return { ...shown, condition: { status: 'True', reason: step, message: shownSteps[step].says } };
}

function told(next: Extract<Next, { kind: 'wait' | 'hold' }>): Omit<Report, 'phase' | 'isAtRisk'> {
  const { says, event, waitingFor, ways } = reasons[next.reason];
  const message = next.detail === undefined || next.detail === '' ? says : `${says}: ${next.detail}`;
  const condition = { status: next.kind === 'wait' ? 'True' : 'False', reason: next.reason, message } as const;
  return {
    condition,
    ...(event === undefined ? {} : { warning: event }),
    ...(waitingFor === undefined ? {} : { waitingFor }),
    ...(next.kind === 'hold' && ways !== undefined ? { conflict: { code: next.reason, ways } } : {}),
  };
}

/**
 * Failed is only shown while there is a record: without one the phase Migrating is all that says that a VM without Pod and tag
 * is lost.
 */
function phaseOf({ next, row }: Decision, { set }: Observation, context: Context): Report['phase'] {
  const isMigrating = set?.phase === 'Migrating' || set?.record !== undefined;
  if (next.kind === 'leave' || next.kind === 'end') return undefined;
  if (!isMigrating) return row === 'D15' ? 'Pending' : undefined;
  if (next.kind === 'act' && next.ending !== undefined) return undefined;
  if (next.kind === 'act' && next.action.do === 'writeRecord' && set.phase !== 'Migrating') return undefined;
  if (next.kind !== 'act' && fails(next.reason)) return set.record === undefined ? undefined : 'Failed';
  if (isOverdue({ set }, context)) return 'settled';
  return 'Migrating';
}

function fails(reason: WaitReason | HoldReason): boolean {
  return reasons[reason].fails === true;
}

/** The set goes on; the snapshot is still owed. */
function isOverdue(observation: Pick<Observation, 'set'>, context: Context): boolean {
  return isDebt(observation, context.settings.cleanupHardMs, context);
}

function isDebt({ set }: Pick<Observation, 'set'>, limitMs: number, { now }: Context): boolean {
  const record = set?.record;
  return record?.stage === 'cleanup' && elapsedMs(record.stageAt, now) >= limitMs;
}

function atRisk({ set, pod }: Observation): boolean {
  const stage = set?.record?.stage;
  if (stage === undefined || stage === 'preparing' || stage === 'cleanup') return false;
  return stage !== 'quiescing' || pod === undefined || pod.vmId === '';
}
