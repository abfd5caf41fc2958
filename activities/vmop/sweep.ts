import { Context } from '@temporalio/activity';
import { WithStartWorkflowOperation, type Client, type Workflow } from '@temporalio/client';
import pLimit from 'p-limit';
import type { SweepResult, VmopActivities } from '../../workflows/contracts/activities.ts';
import { vmCoordinatorId, vmOperationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { vmopKeys, type CoordinatorInput, type Submission, type SubmitAnswer } from '../../workflows/contracts/vmop.ts';
import { whileBeating } from '../heartbeat.ts';
import { resources } from '../kubernetes/resources.ts';
import { isOpen } from '../open-workflow.ts';
import type { VmopDeps } from './deps.ts';
import { byAcceptance } from './list-active.ts';
import { abortMigration } from './migrations.ts';
import { hasEnded, vmopOf, type Vmop } from './objects.ts';
import { releaseFinalizer } from './status.ts';

/** An operation this young is on its way to its coordinator. */
const graceMs = 10_000;
const sideBySide = 8;

/**
 * Brings active operations that have no running workflow back to their coordinators, deletes migrations whose operation is over
 * or gone, and lets go what has ended. It never acts on a VM itself.
 */
export function createSweep(deps: VmopDeps): VmopActivities['sweepVmops'] {
  return async (): Promise<SweepResult> => {
    let active = 0;
    return await whileBeating(
      () => ({ active }),
      async () => {
        const { cluster, temporal } = deps;
        // Migrations first: an operation that is missing afterwards was missing when its migration was seen.
        const migrations = await cluster.list(resources.migration);
        const vmops = (await cluster.list(resources.vmop)).map((object) => vmopOf(object));
        const open = vmops.filter((vmop) => !vmop.isTerminal).sort(byAcceptance);
        active = open.length;
        const lost = await withoutWorkflow(temporal, open);
        const limit = pLimit(sideBySide);
        await Promise.all(lost.map((vmop) => limit(() => bringBack(temporal, vmop))));
        const byUid = new Map(vmops.map((vmop) => [vmop.ref.uid, vmop]));
        const orphans = migrations.filter((migration) => {
          const owner = migration.metadata.ownerReferences?.find(({ kind }) => kind === resources.vmop.kind);
          if (owner === undefined || migration.metadata.deletionTimestamp !== undefined) return false;
          const vmop = byUid.get(owner.uid);
          return vmop === undefined || (vmop.isTerminal && !hasEnded(migration));
        });
        for (const orphan of orphans) await abortMigration(cluster, orphan);
        for (const { ref } of await withoutWorkflow(temporal, vmops.filter(isUnreleased)))
          await releaseFinalizer(cluster, ref);
        return { active, resubmitted: lost.length, migrationsDeleted: orphans.length };
      },
    );
  };
}

/** Its end is written, but whoever wrote it was ended before it let the object go. */
function isUnreleased({ isTerminal, object }: Vmop): boolean {
  return isTerminal && (object.metadata.finalizers ?? []).includes(vmopKeys.finalizer);
}

/** A list of what runs is cheap but late: what it lacks is asked for one by one. */
async function withoutWorkflow(temporal: Client, open: readonly Vmop[]): Promise<readonly Vmop[]> {
  const old = open.filter(({ ref }) => Date.now() - Date.parse(ref.createdAt) > graceMs);
  if (old.length === 0) return [];
  const running = new Set<string>();
  const query = `WorkflowType = 'vmOperation' AND ExecutionStatus = 'Running'`;
  for await (const { workflowId } of temporal.workflow.list({ query })) running.add(workflowId);
  const limit = pLimit(sideBySide);
  const checked = await Promise.all(
    old
      .filter((vmop) => vmop.isDeleting || !running.has(vmOperationId(vmop.ref.namespace, vmop.ref.uid)))
      .map((vmop) =>
        limit(async () => ({ vmop, runs: await isOpen(temporal, vmOperationId(vmop.ref.namespace, vmop.ref.uid)) })),
      ),
  );
  return checked.filter(({ vmop, runs }) => (vmop.isDeleting && !vmop.isTerminal) || !runs).map(({ vmop }) => vmop);
}

/** One that is being deleted as well: its coordinator may have told a workflow that was ended before it had listened. */
async function bringBack(temporal: Client, { ref }: Vmop): Promise<void> {
  const { namespace, vmName } = ref;
  const input: CoordinatorInput = { namespace, vmName };
  const operation = new WithStartWorkflowOperation<Workflow>('vmCoordinator', {
    taskQueue: Context.current().info.taskQueue,
    workflowId: vmCoordinatorId(namespace, vmName),
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
  await temporal.workflow.executeUpdateWithStart<Workflow, SubmitAnswer, [Submission]>(messages.submit, {
    args: [{ op: ref, again: true }],
    startWorkflowOperation: operation,
  });
}
