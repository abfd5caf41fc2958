import { Context } from '@temporalio/activity';
import type { VmopActivities } from '../../workflows/contracts/activities.ts';
import { vmopKeys, type AcceptedOperation, type Pins } from '../../workflows/contracts/vmop.ts';
import { kindOf } from '../../workflows/domain/vmop/matrix.ts';
import { notSupported } from '../../workflows/domain/vmop/proof.ts';
import { OperationError } from '../failures.ts';
import { ClusterError, type Cluster, type KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { change, setKeys } from '../kubernetes/change.ts';
import type { VmopDeps } from './deps.ts';
import { changeMachine, revokeRequests, setRequests } from './machine.ts';
import { annotation, changeRequests, isOwnedBy, migrationName } from './objects.ts';
import { readVmop } from './status.ts';

/**
 * The one write that makes the VM change. It takes effect once however often it is sent: requests carry a receipt in the same
 * write, deletes name the instance, migrations have a name and an owner. Answers what it really acted on.
 */
export function createSendSignal({ cluster }: VmopDeps): VmopActivities['sendSignal'] {
  return async ({ op, pins }) => {
    // An operation that is being taken over doesn't begin to act; what is under way ends first.
    Context.current().cancellationSignal.throwIfAborted();
    return await signals[kindOf(op)](cluster, op, pins);
  };
}

type Signal = (cluster: Cluster, op: AcceptedOperation, pins: Pins) => Promise<Pins>;

function request(key: string): Signal {
  return async (cluster, op, pins) => {
    await changeMachine(cluster, op, (machine) =>
      isSent(machine, op) ? [] : setKeys(machine, 'annotations', { [key]: 'true', [vmopKeys.receipt]: op.uid }),
    );
    return pins;
  };
}

const stop: Signal = async (cluster, op, pins) => {
  const target = pins.instanceUid ?? (await calledOff(cluster, op));
  if (target === undefined) return pins;
  await removeInstance(cluster, op, target);
  return { ...pins, instanceUid: target };
};

/** A grace period that is lowered after the delete comes too late: first this, then that. */
const forcedStop: Signal = async (cluster, op, pins) => {
  const target = pins.instanceUid ?? (await calledOff(cluster, op));
  if (target === undefined) return pins;
  await cutGracePeriod(cluster, op, target);
  await removeInstance(cluster, op, target);
  return { ...pins, instanceUid: target };
};

/**
 * Each part is repeatable, and what runs now is left alone when it isn't what ran before. Where nothing runs (any more), what was
 * to be restarted is started.
 */
const forcedRestart: Signal = async (cluster, op, pins) => {
  const { instanceUid = '' } = pins;
  const machine = await changeMachine(cluster, op, (current) =>
    setKeys(current, 'annotations', { [vmopKeys.receipt]: op.uid }),
  );
  // In this order: a start that the machine doesn't show any more has made an instance that is seen now.
  const instance = await cluster.get(resources.instance, op.namespace, op.vmName);
  if (instance === undefined && !hasStartPending(machine)) {
    await changeMachine(cluster, op, (current) =>
      setKeys(current, 'annotations', { [vmopKeys.startRequested]: 'true' }),
    );
    return pins;
  }
  if (instance?.metadata.uid !== instanceUid) return pins;
  await cutGracePeriod(cluster, op, instanceUid);
  await changeMachine(
    cluster,
    op,
    (current) => {
      const wanted = [{ action: 'Stop', uid: instanceUid }, { action: 'Start' }] as const;
      const isThere = changeRequests(current).some(({ action, uid }) => action === 'Stop' && uid === instanceUid);
      return isThere ? [] : [setRequests(current, wanted)];
    },
    { status: true },
  );
  await removeInstance(cluster, op, instanceUid);
  return pins;
};

const migrate: Signal = async (cluster, op, pins) => {
  const name = migrationName(op);
  if (name.length > 253) {
    const text = `the name of operation "${op.name}" is too long for its migration: at most ${253 - 'vmop-'.length} characters`;
    throw new OperationError('InvalidRequest', text, { code: 'NAME_TOO_LONG' });
  }
  const own = await readVmop(cluster, op);
  if (own === undefined) throw new OperationError('NotFound', `operation "${op.name}" is gone`, { code: 'DELETED' });
  try {
    await cluster.create(resources.migration, op.namespace, migrationBody(op, own.object));
  } catch (err) {
    if (!(err instanceof ClusterError) || err.reason !== 'AlreadyExists') throw err;
    const there = await cluster.get(resources.migration, op.namespace, name);
    if (there !== undefined && isOwnedBy(there, op.uid) && there.metadata.deletionTimestamp === undefined) return pins;
    // An earlier operation of this name left it: it goes first. Retryable.
    throw new OperationError('Busy', `the migration "${name}" of an earlier operation is still there`, {
      code: 'NAME_TAKEN',
      cause: err,
    });
  }
  return pins;
};

const unsupported: Signal = (_cluster, op) => {
  throw new OperationError('Refused', notSupported(op), { code: 'NOT_SUPPORTED' });
};

const signals: Readonly<Record<ReturnType<typeof kindOf>, Signal>> = {
  Start: request(vmopKeys.startRequested),
  Restart: request(vmopKeys.restartRequested),
  'Restart!': forcedRestart,
  Stop: stop,
  'Stop!': forcedStop,
  Migrate: migrate,
  Evict: migrate,
  Restore: unsupported,
  Clone: unsupported,
};

function isSent(machine: KubeObject, op: AcceptedOperation): boolean {
  return annotation(machine, vmopKeys.receipt) === op.uid;
}

/** Nothing runs: what would make it run is taken back. Answers the instance that came up meanwhile, if one did. */
async function calledOff(cluster: Cluster, op: AcceptedOperation): Promise<string | undefined> {
  await revokeRequests(cluster, op);
  return (await cluster.get(resources.instance, op.namespace, op.vmName))?.metadata.uid;
}

function hasStartPending(machine: KubeObject | undefined): boolean {
  if (machine === undefined) return false;
  return (
    annotation(machine, vmopKeys.startRequested) !== undefined ||
    changeRequests(machine).some(({ action }) => action === 'Start')
  );
}

async function cutGracePeriod(cluster: Cluster, op: AcceptedOperation, instanceUid: string): Promise<void> {
  const { namespace, vmName } = op;
  await change(cluster, { resource: resources.instance, namespace, name: vmName }, ({ metadata, spec }) =>
    metadata.uid !== instanceUid || spec?.['terminationGracePeriodSeconds'] === 0
      ? []
      : [{ op: 'add', path: '/spec', value: { ...spec, terminationGracePeriodSeconds: 0 } }],
  );
}

/** Exactly this instance; another one, or none, means that it is gone already. */
async function removeInstance(cluster: Cluster, { namespace, vmName }: AcceptedOperation, uid: string): Promise<void> {
  const instance = await cluster.get(resources.instance, namespace, vmName);
  if (instance?.metadata.uid !== uid || instance.metadata.deletionTimestamp !== undefined) return;
  try {
    await cluster.remove(resources.instance, namespace, vmName, { uid });
  } catch (err) {
    if (!(err instanceof ClusterError) || err.reason !== 'Conflict') throw err;
  }
}

function migrationBody(op: AcceptedOperation, own: KubeObject): object {
  const nodeSelector = (own.spec?.['migrate'] as { nodeSelector?: object } | undefined)?.nodeSelector;
  return {
    metadata: {
      name: migrationName(op),
      namespace: op.namespace,
      annotations: own.metadata.annotations,
      ownerReferences: [
        {
          apiVersion: own.apiVersion,
          kind: resources.vmop.kind,
          name: op.name,
          uid: op.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: { vmiName: op.vmName, ...(nodeSelector === undefined ? {} : { addedNodeSelector: nodeSelector }) },
  };
}
