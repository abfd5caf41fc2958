import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { startApiProxy, type ApiProxy } from '../sim/api-proxy.ts';
import type { KubernetesUnderTest, KubernetesUser } from '../stack/kubernetes.ts';

/** A user's way to the API server through a proxy of its own. */
export interface ProxiedAccess {
  readonly proxy: ApiProxy;
  /** Path of a kubeconfig whose server is the proxy. */
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

export async function proxiedAccess(kubernetes: KubernetesUnderTest, user: KubernetesUser): Promise<ProxiedAccess> {
  const [proxy, dir] = await Promise.all([startApiProxy(kubernetes.url), mkdtemp(join(tmpdir(), 'vmflow-proxied-'))]);
  const kubeconfig = join(dir, `${user}.kubeconfig`);
  await writeFile(kubeconfig, await throughProxy(kubernetes.kubeconfig(user), proxy), { mode: 0o600 });
  return {
    proxy,
    kubeconfig,
    async stop() {
      await proxy.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Text of the same kubeconfig (a path) with the proxy as its server. */
export async function throughProxy(kubeconfig: string, { url, certPem }: ApiProxy): Promise<string> {
  const config = parse(await readFile(kubeconfig, 'utf8')) as { clusters: { cluster: Record<string, string> }[] };
  for (const { cluster } of config.clusters) {
    cluster['server'] = url;
    cluster['certificate-authority-data'] = Buffer.from(certPem).toString('base64');
  }
  return stringify(config);
}
