import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { Client } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import {
  NativeConnection,
  Runtime,
  Worker,
  type NativeConnectionOptions,
  type WorkerOptions,
} from '@temporalio/worker';
import { codecOf } from '../activities/codec/codec.ts';
import type { Codec } from '../activities/codec/payload-codec-adapter.ts';
import { FailureMapper } from '../activities/failures.ts';
import {
  createControlActivities,
  createTransferActivities,
  createWaitActivities,
  errorTranslators,
  type ActivityDeps,
} from '../activities/index.ts';
import { cleanText } from '../activities/history/redact.ts';
import { loadConfig, secretFileWarnings } from '../activities/config.ts';
import { createCluster } from '../activities/kubernetes/client-node-adapter.ts';
import { createTargets } from '../activities/incus/targets.ts';
import { createRegistries } from '../activities/registry/registries.ts';
import { createVSphere } from '../activities/vsphere/vsphere-adapter.ts';
import { transferQueueOf, waitQueueOf } from '../workflows/contracts/task-queues.ts';
import { failureConverterPath, workflowBundlePath, type BundleKind } from './bundle.ts';
import { serveHealth } from './health.ts';
import { histogramBucketOverrides } from './histograms.ts';
import { ConnectionLiveness } from './liveness.ts';
import { createLog } from './log.ts';
import { readSettings, type WorkerKind, type WorkerSettings } from './settings.ts';
import { codeCounter } from './sdk-codes.ts';
import { temporalLogger } from './temporal-logger.ts';
import { startWorkerTracing, type WorkerTracing } from './tracing.ts';

const sdkVersion = '1.24.0';

/** An activity notices a cancellation, and people see its progress, with the next heartbeat: the longest that may take. */
const heartbeatThrottle = '2 seconds';

/** A worker that died leaves its cached workflows to others after this time: sooner than a person gives up waiting. */
export const stickyTimeout = '4 seconds';

/** A running swap gets time to finish; a transfer stops at once and is taken up by another worker. */
export const shutdown = { grace: '25 seconds', force: '55 seconds' } as const;

/** Runs one worker process until it is told to stop (SIGTERM, SIGINT). */
export async function runWorker(kind: WorkerKind): Promise<void> {
  const settings = readSettings(kind);
  const log = createLog(settings.logLevel, kind);
  const metricsPort = await freePort();
  const codes = codeCounter();
  Runtime.install({
    logger: temporalLogger(log, codes.count),
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } },
      metrics: { prometheus: { bindAddress: `127.0.0.1:${metricsPort}`, histogramBucketOverrides } },
    },
  });
  codes.begin(Runtime.instance().metricMeter);
  const tracing = await startWorkerTracing(kind, settings.buildId, log);
  const config = await loadConfig(settings.configPath);
  for (const warning of await secretFileWarnings(config.file)) log.warn(warning);
  const codec = await codecOf(process.env);
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const connection = await connectTo(connectionOptions);
  const vsphere = createVSphere({ allowInsecureTls: settings.allowInsecureTls, log });
  const cluster = config.file.cluster === undefined ? undefined : createCluster({ ...config.file.cluster, log });
  const registries = createRegistries({ allowInsecureTls: settings.allowInsecureTls });
  const targets = createTargets({ allowInsecureTls: settings.allowInsecureTls });
  const liveness = new ConnectionLiveness(connection);
  const deps: ActivityDeps = {
    config,
    vsphere,
    ...(cluster === undefined ? {} : { cluster }),
    registries,
    targets,
    temporal: new Client({
      connection,
      namespace: namespace ?? 'vmflow',
      interceptors: tracing.client,
      ...(codec === undefined ? {} : { dataConverter: { payloadCodecs: [codec] } }),
    }),
    liveness,
    identity: { buildId: settings.buildId, sdk: sdkVersion },
    log: { warn: (message, facts) => log.warn(facts ?? {}, message) },
  };
  try {
    const connected = { connection, namespace: namespace ?? 'vmflow', ...converterOf(codec) };
    const bundle = codec === undefined ? 'plain' : 'encoded';
    const worker = await Worker.create({
      ...connected,
      ...(await optionsOf(kind, settings, deps, { tracing, bundle })),
    });
    const waiter =
      kind === 'control' ? await Worker.create({ ...connected, ...waiterOptions(settings, deps, tracing) }) : undefined;
    const health = await serveHealth(settings.healthAddress, { status: () => worker.getStatus(), metricsPort });
    log.info(
      { taskQueue: worker.options.taskQueue, healthPort: health.port, buildId: settings.buildId },
      'worker started',
    );
    try {
      await runTogether(worker, waiter);
    } finally {
      await health.close();
    }
  } finally {
    liveness.stop();
    await vsphere.close();
    await cluster?.close();
    await registries.close();
    await targets.close();
    await connection.close();
    await tracing.stop();
  }
}

/** Both end when one does: by a signal, or because it failed. */
async function runTogether(worker: Worker, waiter: Worker | undefined): Promise<void> {
  if (waiter === undefined) {
    await worker.run();
    return;
  }
  const endOther = (other: Worker) => (): void => {
    if (other.getState() === 'RUNNING') other.shutdown();
  };
  await Promise.all([worker.run().finally(endOther(waiter)), waiter.run().finally(endOther(worker))]);
}

/** Waiting costs next to nothing: what it costs is a heartbeat now and then. */
const waits = 5_000;

function waiterOptions(
  settings: WorkerSettings,
  deps: ActivityDeps,
  tracing: WorkerTracing,
): Omit<WorkerOptions, 'connection' | 'namespace'> {
  return {
    ...commonOptions(settings, tracing),
    taskQueue: waitQueueOf(settings.taskQueue),
    activities: createWaitActivities(deps),
    maxConcurrentActivityTaskExecutions: waits,
  };
}

function commonOptions(settings: WorkerSettings, tracing: WorkerTracing): Partial<WorkerOptions> {
  return {
    identity: settings.identity,
    ...versionOf(settings),
    shutdownGraceTime: shutdown.grace,
    shutdownForceTime: shutdown.force,
    maxHeartbeatThrottleInterval: heartbeatThrottle,
    // The first one is the outermost: a span ends with the failure that Temporal is told.
    interceptors: { activity: [...tracing.activity, () => ({ inbound: new FailureMapper(errorTranslators) })] },
  };
}

/** The name of the deployment that all kinds of workers are one of, for `temporal worker deployment`. */
const deploymentName = 'vmflow';

function versionOf({ isVersioned, buildId }: WorkerSettings): Partial<WorkerOptions> {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- shown by vmflow version; its successor turns versioning on
  if (!isVersioned) return { buildId };
  const version = { deploymentName, buildId };
  return {
    workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior: 'AUTO_UPGRADE' },
  };
}

async function optionsOf(
  kind: WorkerKind,
  settings: WorkerSettings,
  deps: ActivityDeps,
  { tracing, bundle }: { readonly tracing: WorkerTracing; readonly bundle: BundleKind },
): Promise<Omit<WorkerOptions, 'connection' | 'namespace'>> {
  const common = commonOptions(settings, tracing);
  if (kind === 'transfer') {
    return {
      ...common,
      taskQueue: transferQueueOf(settings.taskQueue),
      activities: createTransferActivities(deps),
      // Bandwidth is neither CPU nor memory: a fixed number.
      maxConcurrentActivityTaskExecutions: deps.config.file.limits.uploads + deps.config.file.batches.diskCopies,
    };
  }
  return {
    ...common,
    taskQueue: settings.taskQueue,
    activities: createControlActivities(deps),
    workflowBundle: { codePath: await workflowBundlePath(bundle) },
    stickyQueueScheduleToStartTimeout: stickyTimeout,
    ...(settings.maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows: settings.maxCachedWorkflows }),
  };
}

function converterOf(codec: Codec | undefined): Pick<WorkerOptions, 'dataConverter'> {
  return codec === undefined ? {} : { dataConverter: { payloadCodecs: [codec], failureConverterPath } };
}

/** A worker without its server says where it looked, and leaves the next try to its supervisor. */
async function connectTo(options: NativeConnectionOptions): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(options);
  } catch (cause) {
    const address = options.address ?? '127.0.0.1:7233';
    const text = cause instanceof Error ? cause.message : String(cause);
    // The core describes its whole chain of causes; the last one is what people know.
    const why = /message: "([^"]+)"/.exec(text)?.[1] ?? text;
    throw new Error(
      `can't reach Temporal at ${address}: ${why}; is the server running, and are TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the TLS settings right?`,
      { cause },
    );
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Entry of a process: a failure is printed once and ends it, so that its supervisor starts a new one. */
export function main(kind: WorkerKind): void {
  runWorker(kind).then(
    () => process.exit(0),
    (err: unknown) => {
      process.stderr.write(`vmflow ${kind} worker: ${cleanText(err instanceof Error ? err.message : String(err))}\n`);
      process.exit(1);
    },
  );
}
