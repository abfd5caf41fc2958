import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { cleanText } from '../../activities/history/redact.ts';
import { loadConfig } from '../../activities/config.ts';
import { codecOf } from '../../activities/codec/codec.ts';
import type { Codec } from '../../activities/codec/payload-codec-adapter.ts';
import { temporalPast } from '../../activities/history/history-adapter.ts';
import { createCluster } from '../../activities/kubernetes/client-node-adapter.ts';
import type { Cluster, ResourceWatch } from '../../activities/kubernetes/port.ts';
import { resources } from '../../activities/kubernetes/resources.ts';
import type { ConfigFile } from '../../activities/schemas/config.ts';
import { createLog, type WorkerLog } from '../log.ts';
import { readSettings, type WorkerSettings } from '../settings.ts';
import { HistoryKeeper } from './history-keeper.ts';
import { temporalCoordinators } from './coordinators.ts';
import { serveBridgeHealth } from './health-server.ts';
import { Intake } from './intake.ts';
import { bridgeMetrics } from './metrics.ts';
import { openMetrics } from './open-metrics.ts';
import { historyMetric, readinessMetric } from './process-metrics.ts';
import { onTakeOver } from './take-over-count.ts';
import { SetIntake } from './set-intake.ts';
import { temporalSetWork } from './set-work.ts';
import { startWebhook, type RunningWebhook } from './webhook.ts';
import { startWorkerTracing, type WorkerTracing } from '../tracing.ts';

/**
 * Runs until SIGTERM or SIGINT: hands VM operations to their coordinators, answers whether new ones may be created, and keeps the
 * record of who did what.
 */
async function runBridge(): Promise<void> {
  const told = stopSignal();
  const settings = readSettings('bridge');
  const log = createLog(settings.logLevel, 'bridge');
  const { file, path } = await loadConfig(settings.configPath);
  if (file.cluster === undefined && file.history === undefined)
    throw new Error(
      `${path} names no Kubernetes cluster and no record: the bridge needs a section "cluster:" or "history:".`,
    );
  const tracing = await startWorkerTracing('bridge', settings.buildId, log);
  const codec = await codecOf(process.env);
  const temporal = connectLazily(settings, tracing, codec);
  const keeper = keepHistory(temporal.client, { settings, file, log }, codec);
  try {
    const measure = (registry: Registry): void => {
      openMetrics(registry, temporal.client);
      if (keeper !== undefined) historyMetric(registry, () => keeper.lastLookAt);
    };
    const basics = { settings, file, log, measure };
    if (file.cluster === undefined) await serveRecordOnly(told, basics);
    else await serveCluster(told, file.cluster, temporal.client, basics);
  } finally {
    await keeper?.stop();
    await temporal.close();
    await tracing.stop();
  }
}

/** Writes down who did what, where `vmflow.yaml` names a file for it. */
function keepHistory(
  client: Client,
  { settings, file, log }: Omit<Basics, 'measure'>,
  codec: Codec | undefined,
): HistoryKeeper | undefined {
  if (file.history === undefined) return undefined;
  const owner = `${settings.identity} ${crypto.randomUUID()}`;
  const keeper = new HistoryKeeper({ ...file.history, past: temporalPast(client, codec), owner, log });
  keeper.start();
  return keeper;
}

/** Without a cluster there is nothing to hand over, but batches and templates have a record too. */
async function serveRecordOnly(told: Promise<NodeJS.Signals>, { settings, log, measure }: Basics): Promise<void> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  let isStopping = false;
  const readiness = (): Readonly<Record<string, boolean>> => ({ running: !isStopping });
  readinessMetric(registry, readiness);
  measure(registry);
  const health = await serveBridgeHealth(settings.healthAddress, { registry, readiness });
  log.info({ healthPort: health.port, buildId: settings.buildId }, 'bridge started');
  log.info({ signal: await told }, 'bridge stops');
  isStopping = true;
  await health.close();
}

async function serveCluster(
  told: Promise<NodeJS.Signals>,
  section: NonNullable<ConfigFile['cluster']>,
  client: Client,
  basics: Basics,
): Promise<void> {
  const { settings, file, log } = basics;
  const cluster = createCluster({ ...section, userAgent: 'vmflow-bridge', log });
  try {
    const vmops = cluster.watch(resources.vmop);
    const coordinators = temporalCoordinators(client, settings.taskQueue);
    // Sets need a registry: without one there are none, and perhaps not even their definition.
    const hasSets = Object.keys(file.registries).length > 0;
    const sets = hasSets ? watchSets(cluster, client, basics) : {};
    const intake = new Intake({ watch: vmops, coordinators, log });
    await serveUntil(told, { ...basics, vmops, intake, ...sets });
  } finally {
    await cluster.close();
  }
}

function watchSets(
  cluster: Cluster,
  client: Client,
  { settings, file, log }: Basics,
): Required<Pick<Parts, 'sets' | 'setIntake'>> {
  const sets = cluster.watch(resources.set);
  const setIntake = new SetIntake({
    sets,
    pods: cluster.watch(resources.pod),
    hibernations: cluster.watch(resources.hibernation),
    work: temporalSetWork(client, settings.taskQueue),
    log,
    probeMs: file.migrations.probeMs,
    resyncMs: file.migrations.resyncMs,
  });
  return { sets, setIntake };
}

interface Basics {
  readonly settings: WorkerSettings;
  readonly file: ConfigFile;
  readonly log: WorkerLog;
  /** Adds what is measured of Temporal and of the record. */
  readonly measure: (registry: Registry) => void;
}

interface Parts extends Basics {
  readonly vmops: ResourceWatch;
  readonly intake: Intake;
  readonly sets?: ResourceWatch;
  readonly setIntake?: SetIntake;
}

async function serveUntil(told: Promise<NodeJS.Signals>, parts: Parts): Promise<void> {
  const { settings, file, vmops, intake, sets, setIntake, log, measure } = parts;
  let webhook: RunningWebhook | undefined;
  let isStopping = false;
  const isSynced = becomesTrue(vmops.ready);
  const state = { pending: () => intake.pending, certificateEndsAt: () => webhook?.certificateEndsAt() };
  const metrics = bridgeMetrics(vmops, state, sets);
  const stopCounting = onTakeOver(vmops, metrics.superseded);
  const readiness = (): Readonly<Record<string, boolean>> => ({
    watch: isSynced(),
    webhook: file.webhook === undefined || webhook?.isPublished() === true,
    running: !isStopping,
  });
  readinessMetric(metrics.registry, readiness);
  measure(metrics.registry);
  const health = await serveBridgeHealth(settings.healthAddress, { registry: metrics.registry, readiness });
  try {
    webhook = await startWebhook(file, log, metrics.rejected);
    const ports = { healthPort: health.port, webhookPort: webhook?.port };
    log.info({ ...ports, taskQueue: settings.taskQueue, buildId: settings.buildId }, 'bridge started');
    log.info({ signal: await told }, 'bridge stops');
  } finally {
    isStopping = true;
    stopCounting();
    await Promise.all([intake.stop(), setIntake?.stop(), webhook?.stop()]);
    await health.close();
  }
}

/** Nothing is sent before the first call, and that may fail: the webhook works without Temporal. */
function connectLazily(
  { identity }: WorkerSettings,
  tracing: WorkerTracing,
  codec: Codec | undefined,
): { readonly client: Client; close(): Promise<void> } {
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const connection = Connection.lazy(connectionOptions);
  const client = new Client({
    connection,
    namespace: namespace ?? 'vmflow',
    identity,
    interceptors: tracing.client,
    ...(codec === undefined ? {} : { dataConverter: { payloadCodecs: [codec] } }),
  });
  return { client, close: () => connection.close() };
}

function becomesTrue(promise: Promise<void>): () => boolean {
  let isTrue = false;
  promise.then(
    () => (isTrue = true),
    () => undefined, // closed before its first list: it stays false
  );
  return () => isTrue;
}

function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve);
  });
}

/** Entry of the process: a failure is printed once and ends it, so that its supervisor starts a new one. */
export function main(): void {
  runBridge().then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`vmflow bridge: ${cleanText(error instanceof Error ? error.message : String(error))}\n`);
      process.exit(1);
    },
  );
}
