import type { Client } from '@temporalio/client';
import { createBatchSpecs } from './batch/batch-specs.ts';
import type { BatchDeps } from './batch/deps.ts';
import { createBatchActivities, createBatchTransfers } from './batch/index.ts';
import { createInventories } from './batch/inventories.ts';
import type { ControlActivities, TransferActivities, WaitActivities } from '../workflows/contracts/activities.ts';
import type { Config } from './config.ts';
import type { ErrorTranslator } from './failures.ts';
import type { Liveness } from './heartbeat.ts';
import type { HibernateDeps } from './hibernate/deps.ts';
import { createHibernateActivities, createHibernateWaits } from './hibernate/index.ts';
import { createHibernationRequest, createHibernationRequestWaits } from './hibernate/request-hibernation.ts';
import { createLookupOva } from './lookup/lookup-ova.ts';
import { createLookup, type WorkerIdentity } from './lookup/lookup.ts';
import type { TemplateDeps } from './template/deps.ts';
import { createDestroyRollback, createDestroyTemp } from './template/destroy.ts';
import { createEnsureSource } from './template/ensure-source.ts';
import { createFinalizeTemp } from './template/finalize-temp.ts';
import { createImportToTemp } from './template/import-to-temp.ts';
import { createObserve } from './template/observe-activity.ts';
import { createPreflight } from './template/preflight.ts';
import { createRenameToProd } from './template/rename-to-prod.ts';
import { createSources, toSourceOperationError, type Log } from './template/sources.ts';
import { createSwapNames } from './template/swap-names.ts';
import { validateTemplateSwap, validateTemplateSwapFleet } from './template/validate.ts';
import { createVerifyProd } from './template/verify-prod.ts';
import { toClusterOperationError } from './kubernetes/operation-error.ts';
import type { Cluster } from './kubernetes/port.ts';
import { toTargetOperationError } from './incus/operation-error.ts';
import type { Targets } from './incus/targets.ts';
import { toRegistryOperationError } from './registry/operation-error.ts';
import type { Registries } from './registry/registries.ts';
import { noCluster, type VmopDeps } from './vmop/deps.ts';
import { createVmopActivities, createVmopWaits } from './vmop/index.ts';
import { createSource } from './vsphere/source.ts';
import type { Source } from './vsphere/source-port.ts';
import { toVSphereOperationError } from './vsphere/operation-error.ts';
import type { VSphere } from './vsphere/port.ts';

/** What a worker process gives its activities. */
export interface ActivityDeps {
  readonly config: Config;
  readonly vsphere: VSphere;
  /** Absent: no `cluster` in `vmflow.yaml`. */
  readonly cluster?: Cluster;
  readonly registries: Registries;
  /** Where batches of VMs are migrated to. */
  readonly targets: Targets;
  /** For activities that end or look at other workflows. */
  readonly temporal: Client;
  readonly log: Log;
  readonly identity: WorkerIdentity;
  readonly liveness?: Liveness;
}

/** How the errors of each far side become failures of the contract. */
export const errorTranslators: readonly ErrorTranslator[] = [
  toVSphereOperationError,
  toClusterOperationError,
  toRegistryOperationError,
  toTargetOperationError,
  toSourceOperationError,
];

/** The schedules are there for every installation: without a cluster they find nothing, instead of failing every 30 s. */
const nothingToKeepUp: Pick<ControlActivities, 'sweepVmops' | 'collectVmops'> = {
  sweepVmops: () => Promise.resolve({ active: 0, resubmitted: 0, migrationsDeleted: 0 }),
  collectVmops: () => Promise.resolve({ deleted: 0 }),
};

/** Short activities: what a control worker registers. */
export function createControlActivities(deps: ActivityDeps): ControlActivities {
  const template = templateDeps(deps);
  const renameToProd = createRenameToProd(template);
  const batch = batchDeps(deps);
  return {
    validateTemplateSwap,
    validateTemplateSwapFleet,
    preflight: createPreflight(template),
    observe: createObserve(template),
    finalizeTemp: createFinalizeTemp(template),
    swapNames: createSwapNames(template),
    restore: renameToProd,
    promote: renameToProd,
    verifyProd: createVerifyProd(template),
    destroyTemp: createDestroyTemp(template),
    destroyRollback: createDestroyRollback(template),
    ...createVmopActivities(vmopDeps(deps)),
    ...(deps.cluster === undefined ? nothingToKeepUp : {}),
    ...createHibernateActivities(hibernateDeps(deps)),
    ...createHibernationRequest(clusterOf(deps)),
    ...createBatchActivities(batch),
    ...createLookup({ ...deps, batch }, deps.identity),
  };
}

/** Waits that may take long: what a control worker registers for the waiting queue. */
export function createWaitActivities(deps: ActivityDeps): WaitActivities {
  return {
    ...createVmopWaits(vmopDeps(deps)),
    ...createHibernateWaits(hibernateDeps(deps)),
    ...createHibernationRequestWaits(clusterOf(deps)),
  };
}

/** Long transfers: what a transfer worker registers. */
export function createTransferActivities(deps: ActivityDeps): TransferActivities {
  const template = templateDeps(deps);
  return {
    ensureSource: createEnsureSource(template),
    importToTemp: createImportToTemp(template),
    ...createBatchTransfers(batchDeps(deps)),
    ...createLookupOva(deps.config, deps.log),
  };
}

function batchDeps({ config, vsphere, targets, temporal, log, liveness }: ActivityDeps): BatchDeps {
  const source = async (name: string): Promise<Source> => {
    const endpoint = await config.vcenter(name);
    const { datacenters = [], syncLimit = 1, syncTimeoutMs = 10_000 } = config.file.vcenters[name]?.source ?? {};
    return createSource(vsphere, endpoint, { datacenters, syncLimit, syncTimeoutMs });
  };
  return {
    config,
    source,
    target: async (name) => targets.of(await config.target(name)),
    temporal,
    specs: createBatchSpecs(temporal),
    inventories: createInventories(source),
    log,
    ...(liveness === undefined ? {} : { liveness }),
  };
}

function vmopDeps({ cluster, config, temporal }: ActivityDeps): VmopDeps {
  return { cluster: cluster ?? noCluster(config.path), settings: config.file.operations, temporal };
}

function templateDeps({ config, vsphere, log, liveness }: ActivityDeps): TemplateDeps {
  return { config, vsphere, sources: createSources(config, log), ...(liveness === undefined ? {} : { liveness }) };
}

function hibernateDeps(deps: ActivityDeps): HibernateDeps {
  const { config, temporal, registries } = deps;
  const { registry, limits, priorityClass, ...entry } = config.file.migrations;
  const { pollFloorMs, reReadMs, waitCeilingMs, probeMs, resyncMs, eventRepeatMs, ...migration } = entry;
  return {
    cluster: clusterOf(deps),
    registry: async () => registries.of(await config.registry(registry)),
    settings: { migration, gate: limits, pollFloorMs, reReadMs, waitCeilingMs, probeMs, resyncMs, eventRepeatMs },
    ...(priorityClass === undefined ? {} : { priorityClass }),
    temporal,
  };
}

function clusterOf({ cluster, config }: ActivityDeps): Cluster {
  return cluster ?? noCluster(config.path);
}
