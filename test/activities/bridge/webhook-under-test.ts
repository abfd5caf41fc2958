import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { parseConfig } from '../../../activities/config.ts';
import { createCluster } from '../../../activities/kubernetes/client-node-adapter.ts';
import { ClusterError, type Cluster, type KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { startWebhook, type RunningWebhook, type WebhookTimes } from '../../../workers/bridge/webhook.ts';
import { createLog } from '../../../workers/log.ts';
import type { OperationKind } from '../../../workflows/domain/vmop/matrix.ts';
import { startApiProxy, type ApiProxy } from '../../sim/api-proxy.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { freePort } from '../../stack/processes.ts';
import { throughProxy } from '../../support/proxied-access.ts';
import { waitFor } from '../../support/wait-for.ts';

export interface WebhookUnderTest {
  readonly kubernetes: KubernetesUnderTest;
  /** Between the webhook and the API server. */
  readonly proxy: ApiProxy;
  readonly dir: string;
  /** May create operations. */
  readonly person: Cluster;
  /** Our service account: may write the status of operations. */
  readonly vmflow: Cluster;
  readonly rejections: readonly string[];
  /** Starts one; further ones are further bridges. `options` are those of `vmflow.yaml`. */
  start(options?: Readonly<Record<string, unknown>>, times?: WebhookTimes): Promise<RunningWebhook>;
  /** Resolves when the API server asks it. */
  inEffect(namespace: string): Promise<void>;
  /** Clears the configuration and ends all webhooks. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

export const configurationPath = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/vmflow';

/** A real API server that asks a webhook in this process. */
export async function webhookUnderTest(): Promise<WebhookUnderTest> {
  const [kubernetes, dir] = await Promise.all([startKubernetes(), mkdtemp(join(tmpdir(), 'vmflow-webhook-'))]);
  const proxy = await startApiProxy(kubernetes.url);
  const kubeconfig = join(dir, 'vmflow.kubeconfig');
  await writeFile(kubeconfig, await throughProxy(kubernetes.kubeconfig('vmflow'), proxy), { mode: 0o600 });
  const person = createCluster({ kubeconfig: kubernetes.kubeconfig('operator') });
  const vmflow = createCluster({ kubeconfig: kubernetes.kubeconfig('vmflow') });
  const running: RunningWebhook[] = [];
  const rejections: string[] = [];
  const onRejection = (incumbent: OperationKind, newcomer: OperationKind): void =>
    void rejections.push(`${incumbent.type} ${newcomer.type}`);
  const reset = async (): Promise<void> => {
    await Promise.all(running.splice(0).map((webhook) => webhook.stop()));
    rejections.length = 0;
    proxy.clearRules();
    await kubernetes.admin.send('DELETE', configurationPath);
  };
  return {
    ...{ kubernetes, proxy, dir, person, vmflow, rejections, reset },
    async start(options = {}, times = {}) {
      const port = await freePort();
      const at = `127.0.0.1:${port}`;
      const text = stringify({
        cluster: { kubeconfig },
        webhook: { listen: at, url: `https://${at}/admit`, ...options },
      });
      const file = parseConfig(text, 'vmflow.yaml');
      const webhook = await startWebhook(file, createLog('silent', 'bridge'), onRejection, {
        ...{ checkMs: 100, retryMs: 50, leadMs: 300, drainMs: 50 },
        ...times,
      });
      if (webhook === undefined) throw new Error('the configuration has a webhook, but none was started');
      running.push(webhook);
      return webhook;
    },
    async inEffect(namespace) {
      await waitFor('the webhook to be in effect', async () => (await refusal(probe(person, namespace))) === 'Denied');
    },
    async stop() {
      await reset();
      await Promise.all([person.close(), vmflow.close(), proxy.stop()]);
      await kubernetes.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Only a webhook refuses this: no schema says what a label is. */
function probe(person: Cluster, namespace: string): Promise<KubeObject> {
  const spec = { type: 'Migrate', virtualMachineName: 'probe', migrate: { nodeSelector: { 'no label': 'x' } } };
  return person.create(resources.vmop, namespace, { metadata: { name: 'probe' }, spec }, { dryRun: true });
}

/** Reason of the refusal; undefined: it was carried out. */
export async function refusal(attempt: Promise<unknown>): Promise<string | undefined> {
  return await attempt.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ClusterError) return error.reason;
      throw error;
    },
  );
}
