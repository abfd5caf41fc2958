import { Context } from '@temporalio/activity';
import type { FinishInput, VmopActivities } from '../../workflows/contracts/activities.ts';
import { vmOperationId } from '../../workflows/contracts/ids.ts';
import { vmopKeys, type AcceptedOperation } from '../../workflows/contracts/vmop.ts';
import type { ConditionChange } from '../../workflows/domain/conditions.ts';
import { OperationError, toOperationError } from '../failures.ts';
import { whileBeating } from '../heartbeat.ts';
import { toClusterOperationError } from '../kubernetes/operation-error.ts';
import type { Cluster } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { isOpen } from '../open-workflow.ts';
import { compensate, awaitAbort } from './compensate.ts';
import type { VmopDeps } from './deps.ts';
import { recordEvent } from '../kubernetes/events.ts';
import { revokeRequests } from './machine.ts';
import { abortMigration, ownMigration } from './migrations.ts';
import { annotation, conditionOf } from './objects.ts';
import { releaseFinalizer, writeStatus } from './status.ts';

/** Writes how an operation ended, once and for all, then lets its object go. */
export function createFinish({ cluster, temporal }: VmopDeps): VmopActivities['finishVmop'] {
  return async (input) => {
    const { op } = input;
    if (input.unlessRuns === true && (await isOpen(temporal, vmOperationId(op.namespace, op.uid))))
      return { runs: true };
    const leftOver = input.revoke === true ? await takeBackOwn(cluster, op) : '';
    const { ok, reason, message } = input.result;
    const written = await writeStatus(cluster, op, (vmop) => {
      if (vmop.isDeleting) return undefined;
      return {
        phase: ok ? 'Completed' : 'Failed',
        conditions: [
          { type: 'Completed', status: ok ? 'True' : 'False', reason, message: `${message}${leftOver}` },
          ...signalCondition(input),
        ],
        ...(ok && reason === 'Completed' ? { progress: '100%' } : {}),
      };
    });
    if (written === undefined) return {};
    const now = conditionOf(written.conditions, 'Completed');
    if (now !== undefined && written.isTerminal && now.reason !== 'Superseded') {
      await recordEvent(cluster, written.object, resources.vmop.kind, op.uid, {
        type: now.status === 'True' ? 'Normal' : 'Warning',
        reason: now.status === 'True' ? 'VirtualMachineOperationSucceeded' : 'VirtualMachineOperationFailed',
        message: `${now.reason}: ${now.message}`,
      });
    }
    await releaseFinalizer(cluster, op);
    return {};
  };
}

function signalCondition({ signalSent, result }: FinishInput): ConditionChange[] {
  if (signalSent === undefined) return [];
  return [{ type: 'SignalSent', status: 'False', reason: 'SignalSentError', message: result.message }];
}

/** What can't be taken back is said, so that nobody believes it gone. Transient errors are for the next attempt. */
async function takeBackOwn(cluster: Cluster, op: AcceptedOperation): Promise<string> {
  try {
    await compensate(cluster, op, op);
    return '';
  } catch (err) {
    const known = toOperationError(err, [toClusterOperationError]);
    if (known.retryable) throw err;
    if (known.code === 'FENCED' || known.code === 'NOT_CLAIMED') return '';
    return `; taking back what it had asked for failed too: ${known.message}`;
  }
}

/**
 * For an object that somebody deleted: a start request that nobody has answered is taken back, a migration is aborted and must
 * be gone, everything else stays as it is. Then the object may go.
 */
export function createRelease({ cluster }: VmopDeps): VmopActivities['releaseVmop'] {
  return async (op) => {
    await whileBeating(
      () => ({ releasing: op.name }),
      async () => {
        await writeStatus(cluster, op, ({ phase, isDeleting }) =>
          phase === 'Terminating' || !isDeleting ? undefined : { phase: 'Terminating', conditions: [] },
        );
        await takeBackUnanswered(cluster, op);
        await releaseFinalizer(cluster, op);
      },
    );
  };
}

async function takeBackUnanswered(cluster: Cluster, op: AcceptedOperation): Promise<void> {
  const migration = await ownMigration(cluster, op);
  if (migration !== undefined) {
    await abortMigration(cluster, migration);
    await awaitAbort(cluster, op, Number.POSITIVE_INFINITY, Context.current().cancellationSignal);
    return;
  }
  const machine = await cluster.get(resources.machine, op.namespace, op.vmName);
  if (machine === undefined || annotation(machine, vmopKeys.receipt) !== op.uid) return;
  const instance = await cluster.get(resources.instance, op.namespace, op.vmName);
  const isAnswered = op.type !== 'Start' && annotation(machine, vmopKeys.restartRequested) === undefined;
  if (isAnswered || (op.type === 'Start' && instance !== undefined)) return;
  try {
    await revokeRequests(cluster, op, ['Start']);
  } catch (err) {
    // A newer operation has the VM: what is requested now is its own.
    if (!(err instanceof OperationError)) throw err;
  }
}
