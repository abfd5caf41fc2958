import { Context } from '@temporalio/activity';
import type { TakeOverInput, TakeOverResult, VmopActivities } from '../../workflows/contracts/activities.ts';
import { vmopKeys, type AcceptedOperation } from '../../workflows/contracts/vmop.ts';
import { supersededMessage } from '../../workflows/domain/vmop/decide.ts';
import { inWords } from '../../workflows/domain/vmop/matrix.ts';
import { OperationError, toOperationError } from '../failures.ts';
import { whileBeating } from '../heartbeat.ts';
import { toClusterOperationError } from '../kubernetes/operation-error.ts';
import type { Cluster } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { setKeys } from '../kubernetes/change.ts';
import { awaitAbort, compensate } from './compensate.ts';
import type { VmopDeps } from './deps.ts';
import { recordEvent } from '../kubernetes/events.ts';
import { endWorkflow } from './fence.ts';
import { countCompensationFailure, recordFence } from './metrics.ts';
import { annotation, conditionOf, type Vmop } from './objects.ts';
import { changeVmop, readVmop, releaseFinalizer, writeStatus } from './status.ts';

type Incumbent = Pick<AcceptedOperation, 'namespace' | 'vmName' | 'name' | 'uid' | 'type' | 'force'>;

/**
 * Takes a VM over from an older operation: closes its workflow, takes back what could still act, marks it. In this order, so
 * that at every moment the older one is either responsible or without side effects. Each part finds itself done when repeated.
 */
export function createTakeOver(deps: VmopDeps): VmopActivities['takeOver'] {
  return async (input) => {
    const { op } = input;
    const incumbent = { ...input.incumbent, namespace: op.namespace, vmName: op.vmName };
    return await whileBeating(
      () => ({ takingOver: incumbent.name }),
      async () => {
        const signal = Context.current().cancellationSignal;
        const order = { kind: 'fence', by: { name: op.name, uid: op.uid } } as const;
        const since = performance.now();
        await endWorkflow(deps.temporal, incumbent, order, signal);
        recordFence(incumbent.type, performance.now() - since);
        return await inherit(deps, input, incumbent, signal);
      },
    );
  };
}

async function inherit(
  deps: VmopDeps,
  { op }: TakeOverInput,
  incumbent: Incumbent,
  signal: AbortSignal,
): Promise<TakeOverResult> {
  const { cluster, settings } = deps;
  const vmop = await readVmop(cluster, incumbent);
  if (vmop === undefined) return { outcome: 'gone' };
  if (vmop.isTerminal) return { outcome: await afterwards(deps, op, incumbent, vmop) };
  try {
    await compensate(cluster, incumbent, op);
  } catch (err) {
    throw await bothFailed(deps, op, incumbent, err);
  }
  const isMigration = incumbent.type === 'Migrate' || incumbent.type === 'Evict';
  const isOver =
    !isMigration ||
    op.force === true ||
    (await awaitAbort(cluster, incumbent, settings.migrationAbortTimeoutMs, signal));
  const outcome = vmop.isDeleting ? await letGo(deps, incumbent) : await mark(deps, op, incumbent);
  if (isOver || outcome !== 'superseded') return { outcome };
  const seconds = settings.migrationAbortTimeoutMs / 1_000;
  const message = `the migration of operation "${incumbent.name}" was asked to stop but is still there after ${seconds} s; force it: a forced ${op.type.toLowerCase()} doesn't wait for it`;
  return { outcome: 'still-aborting', message };
}

/** An object that is being deleted is never marked: with its side effects gone it may go. */
async function letGo({ cluster }: VmopDeps, incumbent: Incumbent): Promise<'gone'> {
  await releaseFinalizer(cluster, incumbent);
  return 'gone';
}

async function mark(
  deps: VmopDeps,
  op: AcceptedOperation,
  incumbent: Incumbent,
): Promise<'superseded' | 'finished' | 'gone'> {
  const { cluster, settings } = deps;
  const by = `${op.name}/${op.uid}`;
  const annotated = await changeVmop(cluster, incumbent, (vmop) =>
    vmop.isTerminal ? [] : setKeys(vmop.object, 'annotations', { [vmopKeys.supersededBy]: by }),
  );
  if (annotated === undefined) return 'gone';
  const message = supersededMessage(op);
  const marked = await writeStatus(cluster, incumbent, () => ({
    phase: settings.supersededPhase,
    conditions: [{ type: 'Completed', status: 'True', reason: 'Superseded', message }],
  }));
  return marked === undefined ? 'gone' : await afterwards(deps, op, incumbent, marked);
}

/** What follows the mark, also when an earlier attempt got no further than that: the events, and the object may go. */
async function afterwards(
  { cluster }: VmopDeps,
  op: AcceptedOperation,
  incumbent: Incumbent,
  ended: Vmop,
): Promise<'superseded' | 'finished'> {
  const isSuperseded = isOurs(ended, op);
  if (isSuperseded) await tellBoth(cluster, op, incumbent, ended);
  await releaseFinalizer(cluster, incumbent);
  return isSuperseded ? 'superseded' : 'finished';
}

async function tellBoth(cluster: Cluster, op: AcceptedOperation, incumbent: Incumbent, marked: Vmop): Promise<void> {
  const who = op.by === undefined ? '' : `, requested by ${op.by}`;
  await recordEvent(cluster, marked.object, resources.vmop.kind, incumbent.uid, {
    type: 'Normal',
    reason: 'VirtualMachineOperationSuperseded',
    message: `${supersededMessage(op)}${who}`,
  });
  const own = await readVmop(cluster, op);
  if (own === undefined) return;
  await recordEvent(cluster, own.object, resources.vmop.kind, `${op.uid} ${incumbent.uid}`, {
    type: 'Normal',
    reason: 'VirtualMachineOperationSupersedes',
    message: `took over from ${incumbent.name} (${inWords(incumbent)})`,
  });
}

/** The mark names whoever took over: a repeat recognises its own. */
function isOurs(vmop: Vmop, op: AcceptedOperation): boolean {
  return (
    conditionOf(vmop.conditions, 'Completed')?.reason === 'Superseded' &&
    annotation(vmop.object, vmopKeys.supersededBy) === `${op.name}/${op.uid}`
  );
}

/**
 * Side effects that can't be taken back for good: the incumbent must not count as superseded, because they may still act. It
 * fails and so does the newcomer. What may heal is left to the next attempt.
 */
async function bothFailed(
  { cluster }: VmopDeps,
  op: AcceptedOperation,
  incumbent: Incumbent,
  cause: unknown,
): Promise<unknown> {
  const primary = toOperationError(cause, [toClusterOperationError]);
  if (primary.retryable || primary.code === 'FENCED') return cause;
  countCompensationFailure(incumbent.type);
  const what = `what operation "${incumbent.name}" (${inWords(incumbent)}) had asked of VirtualMachine "${op.vmName}" could not be taken back`;
  const failed = await writeStatus(cluster, incumbent, () => ({
    phase: 'Failed',
    conditions: [
      {
        type: 'Completed',
        status: 'False',
        reason: 'OperationFailed',
        message: `${op.name} (${inWords(op)}) tried to take over, but ${what}: ${primary.message}`,
      },
    ],
  })).catch((err: unknown) => toOperationError(err, [toClusterOperationError]));
  const secondary =
    failed instanceof OperationError ? ` Saying so on "${incumbent.name}" failed too: ${failed.message}` : '';
  return new OperationError('CleanupFailed', `${what}: ${primary.message}${secondary}`, {
    code: 'COMPENSATION_FAILED',
    primary: primary.details.primary,
    ...(failed instanceof OperationError ? { secondary: failed.details.primary } : {}),
    cause,
  });
}
