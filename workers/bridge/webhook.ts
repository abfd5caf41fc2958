import { setTimeout as sleep } from 'node:timers/promises';
import type { ConfigFile } from '../../activities/schemas/config.ts';
import { createCluster } from '../../activities/kubernetes/client-node-adapter.ts';
import type { OperationKind } from '../../workflows/domain/vmop/matrix.ts';
import type { WorkerLog } from '../log.ts';
import { parseAddress } from '../settings.ts';
import { admissionDesk } from './admission-desk.ts';
import { givenIdentities, ownIdentities, type IdentitySource } from './identity.ts';
import { IdentityKeeper, type KeeperTimes } from './identity-keeper.ts';
import { ensureConfiguration, type WebhookTarget } from './webhook-configuration.ts';
import { serveWebhook } from './webhook-server.ts';

type WebhookConfig = NonNullable<ConfigFile['webhook']>;

export interface WebhookTimes extends Partial<KeeperTimes> {
  /** How long a webhook that ends goes on to answer. */
  readonly drainMs?: number;
}

export interface RunningWebhook {
  readonly port: number;
  /** True from when the API server asks us and trusts us. */
  isPublished(): boolean;
  certificateEndsAt(): Date;
  stop(): Promise<void>;
}

/** Serves the webhook and makes the API server use it. Undefined where the configuration has no section for it. */
export async function startWebhook(
  { cluster: access = { requestTimeoutMs: 10_000 }, webhook }: Pick<ConfigFile, 'cluster' | 'webhook'>,
  log: WorkerLog,
  onRejection: (incumbent: OperationKind, newcomer: OperationKind) => void,
  { drainMs = 2_000, ...times }: WebhookTimes = {},
): Promise<RunningWebhook | undefined> {
  if (webhook === undefined) {
    log.warn(
      'vmflow.yaml has no section "webhook:": operations that contradict each other are created, and fail later',
    );
    return undefined;
  }
  const { timeoutSeconds } = webhook;
  const target = targetOf(webhook);
  // A request that the API server doesn't answer must not outlive the one that it is for.
  const cluster = createCluster({
    ...access,
    requestTimeoutMs: Math.min(access.requestTimeoutMs, timeoutSeconds * 1_000),
    userAgent: 'vmflow-webhook',
    log,
  });
  const source = sourceOf(webhook);
  const first = await source.first();
  const server = await serveWebhook({
    address: parseAddress('webhook.listen', webhook.listen),
    certificate: first,
    desk: admissionDesk(cluster),
    timeoutMs: timeoutSeconds * 1_000,
    log,
    onAnswer({ spec, dryRun }, answer) {
      if (!answer.allowed && answer.incumbent !== undefined && !dryRun) onRejection(answer.incumbent, spec);
    },
  });
  const keeper = new IdentityKeeper({
    source,
    first,
    log,
    publish: (trust) =>
      ensureConfiguration(cluster, { target, timeoutSeconds, ...(trust === undefined ? {} : { trust }) }),
    use: (identity) => server.use(identity),
    times,
  });
  return {
    port: server.port,
    isPublished: () => keeper.isPublished,
    certificateEndsAt: () => keeper.endsAt,
    async stop() {
      // Whoever spreads requests over several bridges learns of our end by and by.
      server.drain();
      await sleep(drainMs);
      await keeper.stop();
      await server.close();
      await cluster.close();
    },
  };
}

function targetOf({ url, service: { namespace, name, port } }: WebhookConfig): WebhookTarget {
  return url === undefined ? { service: { namespace, name, path: '/admit', port } } : { url };
}

const dayMs = 24 * 3_600_000;

function sourceOf({ certFile, keyFile, caFile, certificateDays, ...rest }: WebhookConfig): IdentitySource {
  if (certFile !== undefined && keyFile !== undefined)
    return givenIdentities({ certFile, keyFile, ...(caFile === undefined ? {} : { caFile }) });
  const host =
    rest.url === undefined ? `${rest.service.name}.${rest.service.namespace}.svc` : new URL(rest.url).hostname;
  return ownIdentities([host], certificateDays * dayMs);
}
