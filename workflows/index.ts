import { setWorkflowOptions, workflowInfo } from '@temporalio/workflow';
import { orphan } from './batch/orphan.ts';
import { syncAll } from './batch/sync-all.ts';
import { requestHibernation } from './hibernate/request-hibernation.ts';
import { requestMigration } from './hibernate/request-migration.ts';
import { lookup } from './lookup/lookup.ts';
import { templateSwap } from './template/template-swap.ts';
import { vmopGc, vmopSweep } from './vmop/upkeep.ts';
import { vmOperation } from './vmop/vm-operation.ts';

export { batch } from './batch/batch.ts';
export { batchShard } from './batch/batch-shard.ts';
export { copyPass } from './batch/copy-pass.ts';
export { migration } from './batch/migration.ts';
export { orphan } from './batch/orphan.ts';
export { slots } from './batch/slots.ts';
export { source } from './batch/source.ts';
export { syncAll } from './batch/sync-all.ts';
export { cocoonSet } from './hibernate/cocoon-set.ts';
export { drainNode } from './hibernate/drain-node.ts';
export { hibernation } from './hibernate/hibernation.ts';
export { migrateMain } from './hibernate/migrate-main.ts';
export { migrationGate } from './hibernate/migration-gate.ts';
export { requestHibernation } from './hibernate/request-hibernation.ts';
export { requestMigration } from './hibernate/request-migration.ts';
export { lookup } from './lookup/lookup.ts';
export { templateSwap } from './template/template-swap.ts';
export { templateSwapFleet } from './template/template-swap-fleet.ts';
export { vmopGc, vmopSweep } from './vmop/upkeep.ts';
export { vmCoordinator } from './vmop/vm-coordinator.ts';
export { vmOperation } from './vmop/vm-operation.ts';

/**
 * What ends within hours stays with the build that began it, where workers are versioned (`VMFLOW_VERSIONING`). All others live on from build to
 * build and are kept compatible by patches.
 */
const finite: readonly ((...args: never[]) => Promise<unknown>)[] = [
  ...[templateSwap, vmOperation],
  ...[lookup, orphan, requestHibernation, requestMigration, syncAll, vmopGc, vmopSweep],
];
for (const workflow of finite) setWorkflowOptions(pinnedWhereVersioned, workflow);

/** A server refuses the answers of workers without versions when these ask for it. */
function pinnedWhereVersioned(): { versioningBehavior?: 'PINNED' } {
  return workflowInfo().currentDeploymentVersion?.deploymentName ? { versioningBehavior: 'PINNED' } : {};
}
