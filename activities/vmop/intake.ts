import type { IntakeResult, VmopActivities } from '../../workflows/contracts/activities.ts';
import { vmopKeys, type AcceptedOperation, type Pins, type VmFacts } from '../../workflows/contracts/vmop.ts';
import { inWords } from '../../workflows/domain/vmop/matrix.ts';
import type { Cluster, KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { setFinalizer, setKeys } from '../kubernetes/change.ts';
import type { VmopDeps } from './deps.ts';
import { recordEvent } from '../kubernetes/events.ts';
import { annotation, conditionOf, isOwnedBy, migrationName, vmOf, vmopOf, type Vmop } from './objects.ts';
import { changeVmop, readVmop, writeStatus } from './status.ts';

/** First status of a newcomer, and what is needed to decide about it. Repeats find everything written. */
export function createIntake({ cluster }: VmopDeps): VmopActivities['intake'] {
  return async ({ op, incumbents }) => {
    const closed: IntakeResult = { state: 'closed', ended: [], tookOver: [] };
    const vmop = await readVmop(cluster, op);
    if (vmop === undefined || vmop.isTerminal) return closed;
    const [vm, ended] = await Promise.all([
      cluster.get(resources.vm, op.namespace, op.vmName),
      whichEnded(cluster, incumbents),
    ]);
    if (vmop.isDeleting) return { ...closed, state: 'deleting', ended };
    const earlier = vmop.phase === undefined ? { state: 'new' as const } : await leftByEarlierRun(cluster, vmop, vm);
    const marked = await introduce(cluster, op, vm);
    if (marked === undefined) return { ...closed, ended };
    return {
      ...earlier,
      ...factsOf(vm),
      ended,
      tookOver: vmop.phase === undefined ? [] : await takenOverBy(cluster, op),
    };
  };
}

/** The VM and the operations as they are now; read only. */
export function createLookAtVm({ cluster }: VmopDeps): VmopActivities['lookAtVm'] {
  return async ({ namespace, vmName, operations }) => {
    const [vm, ended] = await Promise.all([
      cluster.get(resources.vm, namespace, vmName),
      whichEnded(cluster, operations),
    ]);
    return { ...factsOf(vm), ended };
  };
}

function factsOf(object: KubeObject | undefined): { vm?: VmFacts } {
  if (object === undefined) return {};
  const { uid, runPolicy, phase } = vmOf(object);
  return { vm: { uid, runPolicy, phase } };
}

/** Sequence number, label, finalizer, then the first status, then the event that says so. */
async function introduce(
  cluster: Cluster,
  op: AcceptedOperation,
  vm: KubeObject | undefined,
): Promise<Vmop | undefined> {
  const isMigration = op.type === 'Migrate' || op.type === 'Evict';
  const marked = await changeVmop(cluster, op, ({ object, isDeleting }) => [
    ...setKeys(object, 'annotations', { [vmopKeys.seq]: String(op.seq) }),
    ...(vm === undefined ? [] : setKeys(object, 'labels', { [vmopKeys.vmUidLabel]: vm.metadata.uid })),
    ...(isMigration && !isDeleting ? setFinalizer(object, vmopKeys.finalizer, true) : []),
  ]);
  if (marked === undefined) return undefined;
  const message = 'accepted; nothing was done yet';
  const written = await writeStatus(cluster, op, ({ phase }) =>
    phase === undefined
      ? {
          phase: 'Pending',
          conditions: [
            { type: 'Completed', status: 'Unknown', reason: 'Unknown', message },
            { type: 'SignalSent', status: 'Unknown', reason: 'Unknown', message },
          ],
        }
      : undefined,
  );
  if (written === undefined) return undefined;
  await recordEvent(cluster, written.object, resources.vmop.kind, op.uid, {
    type: 'Normal',
    reason: 'VirtualMachineOperationStarted',
    message: `${inWords(op)} of VirtualMachine "${op.vmName}" accepted as number ${op.seq}`,
  });
  return written;
}

/**
 * How far an earlier run got. Traces of a signal are the condition, the receipt on the machine, the migration object; a stop
 * leaves none, but may be sent again to the instance it was meant for.
 */
async function leftByEarlierRun(
  cluster: Cluster,
  { ref, object, conditions }: Vmop,
  vm: KubeObject | undefined,
): Promise<Pick<IntakeResult, 'state' | 'pins'>> {
  const instanceUid = annotation(object, vmopKeys.pinnedInstance);
  if (instanceUid === undefined) return { state: 'new' };
  const vmUid = object.metadata.labels?.[vmopKeys.vmUidLabel] ?? vm?.metadata.uid ?? '';
  const pins: Pins = { vmUid, ...(instanceUid === '' ? {} : { instanceUid }) };
  if (conditionOf(conditions, 'SignalSent')?.status === 'True') return { state: 'signalled', pins };
  const [machine, migration] = await Promise.all([
    cluster.get(resources.machine, ref.namespace, ref.vmName),
    cluster.get(resources.migration, ref.namespace, migrationName(ref)),
  ]);
  const hasTrace =
    ref.type === 'Stop' ||
    (machine !== undefined && annotation(machine, vmopKeys.receipt) === ref.uid) ||
    (migration !== undefined && isOwnedBy(migration, ref.uid));
  return hasTrace ? { state: 'unsure', pins } : { state: 'claimed' };
}

async function whichEnded(cluster: Cluster, incumbents: readonly AcceptedOperation[]): Promise<string[]> {
  const read = await Promise.all(
    incumbents.map(async (incumbent) => ({ incumbent, vmop: await readVmop(cluster, incumbent) })),
  );
  return read.filter(({ vmop }) => vmop?.isTerminal ?? true).map(({ incumbent }) => incumbent.uid);
}

/** What it has marked as superseded in an earlier run: its own phase rules are as wide as they were then. */
async function takenOverBy(cluster: Cluster, op: AcceptedOperation): Promise<IntakeResult['tookOver']> {
  const objects = await cluster.list(resources.vmop, op.namespace);
  return objects
    .filter((object) => annotation(object, vmopKeys.supersededBy) === `${op.name}/${op.uid}`)
    .map((object) => vmopOf(object).ref)
    .map(({ type, force }) => (force === undefined ? { type } : { type, force }));
}
