import { z } from 'zod';
import { defaultSettings, settingsProblem } from '../../workflows/domain/hibernate/settings.ts';
import { defaultLimits } from '../../workflows/domain/hibernate/slots.ts';
import { batches, migrationSource, migrationTarget } from './batch-config.ts';
import { serverUrl, tlsPolicy } from './tls.ts';

/** A secret is never in the file: it is in another file or in the environment. */
const secretReference = { passwordFile: z.string().exactOptional(), passwordEnv: z.string().exactOptional() };

const vcenter = z
  .strictObject({
    url: serverUrl,
    user: z.string().min(1),
    ...secretReference,
    tls: tlsPolicy.default({ mode: 'ca' }),
    allowPlainHttp: z.boolean().default(false),
    apiTimeoutMs: z.int().min(100).default(60_000),
    source: migrationSource,
  })
  .refine((entry) => (entry.passwordFile === undefined) !== (entry.passwordEnv === undefined), {
    error: 'needs exactly one of passwordFile and passwordEnv',
  });

const header = z.strictObject({
  name: z.string(),
  valueFile: z.string().exactOptional(),
  valueEnv: z.string().exactOptional(),
});

const source = z
  .strictObject({
    headers: z.array(header).default([]),
    queryFile: z.string().exactOptional(),
    queryEnv: z.string().exactOptional(),
    caFile: z.string().exactOptional(),
  })
  .refine((entry) => entry.queryFile === undefined || entry.queryEnv === undefined, {
    error: 'takes queryFile or queryEnv, not both',
  });

/** The Kubernetes API of the VMs. Without a kubeconfig: the service account of the Pod. */
const cluster = z.strictObject({
  kubeconfig: z.string().min(1).exactOptional(),
  requestTimeoutMs: z.int().min(100).default(10_000),
});

const operations = z.strictObject({
  /** Final phase of an operation that a newer one took over. */
  supersededPhase: z.enum(['Completed', 'Superseded']).default('Completed'),
  /** How long a plain stop or restart waits for the migration that it interrupts. */
  migrationAbortTimeoutMs: z.int().min(0).default(60_000),
  /** How long a migration waits until its VM can be migrated. */
  readyToMigrateMs: z.int().min(0).default(300_000),
  /** How long the target of a migration may be without progress in its preparation. */
  targetPreparationMs: z.int().min(0).default(300_000),
  /** Finished operations older than this are deleted. */
  keepHours: z.number().positive().default(24),
  /** Of each VM this many finished operations are kept. */
  keepPerVm: z.int().min(0).default(10),
});

const span = z.int().min(1);

/** Migrations of the main VMs of sets, hibernations and drains. Spans are milliseconds. */
const migrations = z
  .strictObject({
    /** Name of the registry that keeps the snapshots; absent: the only one. */
    registry: z.string().min(1).exactOptional(),
    /** Priority class of VM Pods: the scheduler must not take their seats for others. */
    priorityClass: z.string().min(1).exactOptional(),
    /** VMs that are on their way at once. */
    limits: z
      .strictObject({
        overall: z.int().min(1).default(defaultLimits.overall),
        perSource: z.int().min(1).default(defaultLimits.perSource),
        perTarget: z.int().min(1).default(defaultLimits.perTarget),
      })
      .prefault({}),
    preflight: z.enum(['strict', 'off']).default(defaultSettings.preflight),
    forceDeleteQuiesced: z.boolean().default(defaultSettings.forceDeleteQuiesced),
    quiesceSoftMs: span.default(defaultSettings.quiesceSoftMs),
    quiesceHardMs: span.default(defaultSettings.quiesceHardMs),
    restoreSoftMs: span.default(defaultSettings.restoreSoftMs),
    restoreHardMs: span.default(defaultSettings.restoreHardMs),
    stuckPodMs: span.default(defaultSettings.stuckPodMs),
    unschedulableMs: span.default(defaultSettings.unschedulableMs),
    cleanupSoftMs: span.default(defaultSettings.cleanupSoftMs),
    cleanupHardMs: span.default(defaultSettings.cleanupHardMs),
    fenceMs: span.default(defaultSettings.fenceMs),
    nodeLostMs: span.default(defaultSettings.nodeLostMs),
    clockSkewMs: span.default(defaultSettings.clockSkewMs),
    suspendMs: span.default(defaultSettings.suspendMs),
    hibernateMs: span.default(defaultSettings.hibernateMs),
    wakeMs: span.default(defaultSettings.wakeMs),
    /** Shortest pause between two looks at what nobody reports. */
    pollFloorMs: span.default(5_000),
    /** In a wait everything is read again after this time, whatever the watches say. */
    reReadMs: span.default(180_000),
    waitCeilingMs: span.default(3_600_000),
    /** How often a set with nothing to do is asked for a snapshot that was left over. */
    probeMs: span.default(600_000),
    /** How often the bridge looks for work whose workflow was lost. */
    resyncMs: span.default(60_000),
    /** A warning that lasts is repeated at most this often. */
    eventRepeatMs: span.default(300_000),
  })
  .superRefine((entry, context) => {
    const problem = settingsProblem(entry);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    if (entry.pollFloorMs > entry.reReadMs || entry.reReadMs > entry.waitCeilingMs)
      context.addIssue({ code: 'custom', message: 'pollFloorMs <= reReadMs <= waitCeilingMs must hold' });
  });

const dnsLabel = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);

/**
 * The check of new operations before they exist: where the bridge serves it and how the API server reaches it. Without this
 * section nothing is checked then, and what shouldn't be there fails later.
 */
const webhook = z
  .strictObject({
    /** `host:port` that the bridge listens on. */
    listen: z
      .string()
      .regex(/^[^:]+:\d{1,5}$/)
      .default('0.0.0.0:9443'),
    /** `https://host:port/admit`, where the API server isn't in the cluster. Without it: `service`. */
    url: z
      .url({ protocol: /^https$/ })
      .refine((url) => url.endsWith('/admit') && URL.parse(url)?.username === '', 'is https://host:port/admit')
      .exactOptional(),
    service: z
      .strictObject({
        namespace: dnsLabel.default('vmflow'),
        name: dnsLabel.default('vmflow-bridge'),
        port: z.int().min(1).max(65_535).default(443),
      })
      .prefault({}),
    /** The API server waits this long for an answer; then nothing can be created. */
    timeoutSeconds: z.int().min(1).max(30).default(2),
    /** Lifetime of the certificates that the bridge makes for itself. */
    certificateDays: z.number().positive().max(825).default(30),
    /** A certificate of your own instead, PEM; read again when the files change. */
    certFile: z.string().min(1).exactOptional(),
    keyFile: z.string().min(1).exactOptional(),
    /** What the API server trusts. Without it you write the `caBundle` yourself. */
    caFile: z.string().min(1).exactOptional(),
  })
  .refine((entry) => (entry.certFile === undefined) === (entry.keyFile === undefined), {
    error: 'takes certFile and keyFile, or neither',
  })
  .refine((entry) => entry.caFile === undefined || entry.certFile !== undefined, {
    error: 'takes caFile only beside certFile and keyFile',
  });

const registry = z
  .strictObject({
    url: serverUrl.refine(
      (url) => /^[a-z]+:\/\/[^/?#]+\/?$/i.test(url),
      'is https://host[:port] without a path: see prefix',
    ),
    /** Stands before the name of every VM. */
    prefix: z
      .string()
      .regex(/^([a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/|$))*$/)
      .refine((prefix) => !prefix.endsWith('/'), 'must not end with /')
      .default(''),
    user: z.string().min(1).exactOptional(),
    ...secretReference,
    /** A bearer token that was made for vmflow, instead of user and password. */
    tokenFile: z.string().exactOptional(),
    tokenEnv: z.string().exactOptional(),
    tls: tlsPolicy.default({ mode: 'ca' }),
    allowPlainHttp: z.boolean().default(false),
    requestTimeoutMs: z.int().min(100).default(10_000),
  })
  .refine(({ tokenFile, tokenEnv, ...entry }) => {
    const given = [entry.user, entry.passwordFile, entry.passwordEnv, tokenFile, tokenEnv].filter((part) => part);
    const hasPassword = (entry.passwordFile === undefined) !== (entry.passwordEnv === undefined);
    const hasToken = tokenFile !== undefined || tokenEnv !== undefined;
    if (given.length === 0 || (given.length === 1 && hasToken)) return true;
    return given.length === 2 && entry.user !== undefined && hasPassword;
  }, 'takes user with passwordFile or passwordEnv, or one of tokenFile and tokenEnv, or none of them');

const name = z.string().regex(/^[a-z0-9][a-z0-9.-]{0,62}$/);

/** The record of who did what, which the bridge keeps. Without this section there is none but Temporal's histories. */
const history = z.strictObject({
  /** JSON lines are appended to it; beside it are `<file>.state` and `<file>.lock`. */
  file: z.string().min(1),
  /** How often the bridge looks for what has ended. */
  everyMs: z.int().min(100).default(15_000),
});

/** `vmflow.yaml`, read by workers and the bridge only. */
export const configSchema = z.strictObject({
  vcenters: z.record(name, vcenter).default({}),
  /** OCI registries that keep the snapshots of VMs. */
  registries: z.record(name, registry).default({}),
  /** Where batches of VMs are migrated to. */
  targets: z.record(name, migrationTarget).default({}),
  batches,
  /** Named ways to download OVAs (`headersRef`): headers, a query such as a signature, a private authority. */
  sources: z.record(z.string(), source).default({}),
  /** Where downloaded OVAs are kept. */
  cacheDir: z.string().default('/var/cache/vmflow'),
  cluster: cluster.exactOptional(),
  /** Operations on VMs of the cluster. */
  operations: operations.prefault({}),
  migrations: migrations.prefault({}),
  webhook: webhook.exactOptional(),
  history: history.exactOptional(),
  limits: z.strictObject({ uploads: z.int().min(1).max(64).default(2) }).prefault({}),
});

export type ConfigFile = z.infer<typeof configSchema>;
