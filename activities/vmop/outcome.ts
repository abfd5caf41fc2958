import { Context } from '@temporalio/activity';
import type { OutcomeResult, SignalInput, VmopWaits } from '../../workflows/contracts/activities.ts';
import type { AcceptedOperation } from '../../workflows/contracts/vmop.ts';
import { inWords, type VmopType } from '../../workflows/domain/vmop/matrix.ts';
import { progressOf } from '../../workflows/domain/vmop/migration.ts';
import { proofOf, type World } from '../../workflows/domain/vmop/proof.ts';
import { whileBeating } from '../heartbeat.ts';
import type { Cluster, KubeObject, Resource } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { untilAnswered } from '../kubernetes/await-change.ts';
import type { VmopDeps } from './deps.ts';
import { recordEvent } from '../kubernetes/events.ts';
import { followMigration } from './follow-migration.ts';
import { instanceOf, isOwnedBy, migrationName, migrationOf, vmOf } from './objects.ts';
import { writeStatus } from './status.ts';

/** Says that the signal was sent, then waits for the proof that the VM did it. Reads only, besides the progress it shows. */
export function createAwaitOutcome(deps: VmopDeps): VmopWaits['awaitOutcome'] {
  return async (input) => {
    const { op } = input;
    await markInProgress(deps.cluster, op);
    return await whileBeating(
      () => ({ waitingFor: `the outcome of ${op.name}` }),
      () => waitForProof(deps, input),
    );
  };
}

async function waitForProof(deps: VmopDeps, { op, pins }: SignalInput): Promise<OutcomeResult> {
  const { cluster } = deps;
  const { namespace, vmName } = op;
  const isMigration = op.type === 'Migrate' || op.type === 'Evict';
  const objects = [
    { resource: resources.vm, namespace, name: vmName },
    isMigration
      ? { resource: resources.migration, namespace, name: migrationName(op) }
      : { resource: resources.instance, namespace, name: vmName },
  ];
  const follow = followMigration(deps, op);
  return await untilAnswered<OutcomeResult>(cluster, objects, Context.current().cancellationSignal, async () => {
    const seen = await worldOf(op, (resource, name) => Promise.resolve(cluster.watch(resource).get(namespace, name)));
    const proof = proofOf(op, pins, seen);
    // What the watch shows may be old: only what is read now proves anything.
    const confirmed =
      proof === undefined
        ? undefined
        : proofOf(op, pins, await worldOf(op, (resource, name) => cluster.get(resource, namespace, name)));
    if (confirmed !== undefined) return { answer: confirmed };
    if (proof !== undefined) return { againInMs: 500 };
    return await follow(seen);
  });
}

async function worldOf(
  op: AcceptedOperation,
  read: (resource: Resource, name: string) => Promise<KubeObject | undefined>,
): Promise<World> {
  const isMigration = op.type === 'Migrate' || op.type === 'Evict';
  const [vm, instance, migration] = await Promise.all([
    read(resources.vm, op.vmName),
    isMigration ? undefined : read(resources.instance, op.vmName),
    isMigration ? read(resources.migration, migrationName(op)) : undefined,
  ]);
  return {
    ...(vm === undefined ? {} : { vm: vmOf(vm) }),
    ...(instance === undefined ? {} : { instance: instanceOf(instance) }),
    ...(migration !== undefined && isOwnedBy(migration, op.uid)
      ? { migration: progressOf(migrationOf(migration)) }
      : {}),
  };
}

/** Past tense of what is done to a VM, as its events call it. */
const doings: Readonly<Partial<Record<VmopType, string>>> = {
  Start: 'Started',
  Stop: 'Stopped',
  Restart: 'Restarted',
  Migrate: 'Migrated',
  Evict: 'Evicted',
};

async function markInProgress(cluster: Cluster, op: AcceptedOperation): Promise<void> {
  const isMigration = op.type === 'Migrate' || op.type === 'Evict';
  const message = `${inWords(op)} of VirtualMachine "${op.vmName}" was asked for`;
  const marked = await writeStatus(cluster, op, (vmop) => {
    const isMarked = vmop.conditions.some(({ type, status }) => type === 'SignalSent' && status === 'True');
    if (isMarked || vmop.phase === 'Terminating') return undefined;
    return {
      phase: isMigration ? 'Pending' : 'InProgress',
      conditions: [
        { type: 'SignalSent', status: 'True', reason: 'SignalSentSuccess', message },
        {
          type: 'Completed',
          status: 'False',
          reason: isMigration ? 'MigrationPending' : `${op.type}InProgress`,
          message: isMigration ? 'waits for its turn' : message,
        },
      ],
      ...(isMigration ? { progress: '0%' } : {}),
    };
  });
  if (marked === undefined || marked.isTerminal) return;
  await recordEvent(cluster, marked.object, resources.vmop.kind, op.uid, {
    type: 'Normal',
    reason: 'VirtualMachineOperationInProgress',
    message,
  });
  const vm = await cluster.get(resources.vm, op.namespace, op.vmName);
  const reason = doings[op.type];
  if (vm === undefined || reason === undefined) return;
  const who = op.by === undefined ? '' : `, requested by ${op.by}`;
  const text = `initiated by operation ${op.name} (${inWords(op)})${who}`;
  await recordEvent(cluster, vm, resources.vm.kind, op.uid, { type: 'Normal', reason, message: text });
}
