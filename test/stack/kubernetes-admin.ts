import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { parseAllDocuments, stringify } from 'yaml';
import { peopleOfTheTests } from './kubernetes-people.ts';
import type { SupervisedProcess } from './processes.ts';

/** Where the API server asks before it creates a VM operation. */
export interface WebhookTarget {
  /** `https://127.0.0.1:<port>/…` */
  readonly url: string;
  /** The certificate it must show. */
  readonly caPem: string;
  /** Default 2. */
  readonly timeoutSeconds?: number;
}

export interface AdminAnswer {
  readonly status: number;
  /** Parsed where it is JSON, else the text. */
  readonly body: unknown;
}

/** The API server as a cluster administrator sees it. For set-up: product code never has these rights. */
export interface KubernetesAdmin {
  /** Any request. Doesn't fail on any status. */
  send(method: string, path: string, body?: object, contentType?: string): Promise<AdminAnswer>;
  /** Server-side apply: creates or changes to what is given. Fails with the server's words. */
  apply(manifest: Manifest): Promise<void>;
  installCrds(): Promise<void>;
  /** CRDs, roles, bindings and priorities of workers/deploy, and who the people of the tests are. */
  installDeployment(): Promise<void>;
  installWebhook(target: WebhookTarget): Promise<void>;
  removeWebhook(): Promise<void>;
  createNamespace(prefix?: string): Promise<string>;
  /** Resolves when `/readyz` is ok; fails with the server's output when it ends before. */
  untilReady(server: SupervisedProcess): Promise<void>;
  close(): Promise<void>;
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const deployDir = join(import.meta.dirname, '../../workers/deploy');
const readyWithinMs = 60_000;
const group = 'virtualization.deckhouse.io';

/** Plurals of the kinds that set-up writes. */
const plurals: Readonly<Record<string, string>> = {
  Namespace: 'namespaces',
  ServiceAccount: 'serviceaccounts',
  CustomResourceDefinition: 'customresourcedefinitions',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  ValidatingWebhookConfiguration: 'validatingwebhookconfigurations',
  PriorityClass: 'priorityclasses',
};

export function connectAsAdmin(url: string, caPem: string, token: string): KubernetesAdmin {
  const dispatcher = new Agent({ connect: { ca: caPem } });

  async function send(method: string, path: string, body?: object, contentType = 'application/json') {
    const answer = await request(`${url}${path}`, {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${token}`, 'content-type': contentType, 'user-agent': 'test-set-up' },
      ...(body === undefined ? {} : { body: contentType.endsWith('yaml') ? stringify(body) : JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    const isJson = answer.headers['content-type'] === 'application/json';
    return { status: answer.statusCode, body: isJson ? (JSON.parse(text) as unknown) : text };
  }

  async function apply(manifest: Manifest): Promise<void> {
    const path = `${pathOf(manifest)}?fieldManager=test-set-up&force=true`;
    const { status, body } = await send('PATCH', path, manifest, 'application/apply-patch+yaml');
    if (status >= 300)
      throw new Error(`Applying ${manifest.kind} ${manifest.metadata.name} failed: ${JSON.stringify(body)}`);
  }

  async function installCrds(): Promise<void> {
    const crds = await manifestsIn('crds');
    await Promise.all(crds.map(apply));
    await Promise.all(crds.map((crd) => until(() => isServed(crd), `${crd.metadata.name} is not served`)));
  }

  async function isServed(crd: Manifest): Promise<boolean> {
    const { body } = await send('GET', pathOf(crd));
    const { status } = body as { status?: { conditions?: { type: string; status: string }[] } };
    if (!status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True')) return false;
    const { group, versions, names } = (body as { spec: CrdSpec }).spec;
    return (await send('GET', `/apis/${group}/${versions[0]?.name ?? ''}/${names.plural}?limit=1`)).status === 200;
  }

  async function passesProbe(): Promise<boolean> {
    const path = `/apis/${group}/v1alpha2/namespaces/vmflow/virtualmachineoperations?dryRun=All`;
    return (await send('POST', path, probe)).status === 201;
  }

  return {
    send,
    apply,
    installCrds,
    async installDeployment() {
      const roles = (await manifestsIn('rbac')).concat(peopleOfTheTests);
      await apply(roles.find(({ kind }) => kind === 'Namespace') ?? namespaceOf('vmflow'));
      const others = roles.concat(await manifestsIn('scheduling'));
      await Promise.all([installCrds(), ...others.map(apply)]);
    },
    async installWebhook(target) {
      await apply(webhookConfiguration(target));
      await until(async () => !(await passesProbe()), 'The webhook is not in effect');
    },
    async removeWebhook() {
      await send('DELETE', pathOf({ ...webhookHead, metadata: { name: webhookName } }));
      await until(passesProbe, 'The webhook is still in effect');
    },
    async createNamespace(prefix = 'test') {
      const name = `${prefix}-${randomBytes(4).toString('hex')}`;
      await apply(namespaceOf(name));
      return name;
    },
    async untilReady(server) {
      const isReady = async (): Promise<boolean> => {
        if (!server.isRunning())
          throw new Error(`The Kubernetes API server ended before it was ready. Its last output:\n${server.output()}`);
        return (await send('GET', '/readyz').catch(() => undefined))?.status === 200;
      };
      await until(isReady, 'The Kubernetes API server is not ready').catch(async (error: unknown) => {
        await server.kill();
        throw error;
      });
    },
    close: () => dispatcher.destroy(),
  };
}

const namespaceOf = (name: string): Manifest => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

interface CrdSpec {
  readonly group: string;
  readonly names: { readonly plural: string };
  readonly versions: readonly { readonly name: string }[];
}

function pathOf({ apiVersion, kind, metadata }: Manifest): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const namespace = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  const plural = plurals[kind];
  if (plural === undefined) throw new Error(`No path is known for ${kind}: add its plural.`);
  return `${root}${namespace}/${plural}/${metadata.name}`;
}

/** The objects of all files of a folder of workers/deploy. */
async function manifestsIn(folder: string): Promise<readonly Manifest[]> {
  const dir = join(deployDir, folder);
  const files = (await readdir(dir)).filter((file) => file.endsWith('.yaml')).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(dir, file), 'utf8')));
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Manifest));
}

async function until(condition: () => Promise<boolean>, failure: string): Promise<void> {
  const deadline = performance.now() + readyWithinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`${failure} after ${readyWithinMs / 1000} s.`);
    await sleep(25);
  }
}

const webhookName = 'vmflow';
const webhookHead = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
} as const;
const probeName = 'webhook-probe';
const probe = {
  apiVersion: `${group}/v1alpha2`,
  kind: 'VirtualMachineOperation',
  metadata: { name: probeName },
  spec: { type: 'Stop', virtualMachineName: 'probe' },
};

/**
 * The webhook, and one that never answers for an operation that only the probe asks for: when that one is refused, the
 * configuration is in effect.
 */
function webhookConfiguration(target: WebhookTarget): Manifest & Readonly<Record<string, unknown>> {
  const common = {
    rules: [
      {
        apiGroups: [group],
        apiVersions: ['v1alpha2'],
        operations: ['CREATE'],
        resources: ['virtualmachineoperations'],
      },
    ],
    sideEffects: 'None',
    failurePolicy: 'Fail',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: target.timeoutSeconds ?? 2,
  };
  const isProbe = `object.metadata.name == '${probeName}'`;
  return {
    ...webhookHead,
    metadata: { name: webhookName },
    webhooks: [
      {
        ...common,
        name: `vmops.${group}`,
        clientConfig: { url: target.url, caBundle: Buffer.from(target.caPem).toString('base64') },
        matchConditions: [{ name: 'real', expression: `!(${isProbe})` }],
      },
      {
        ...common,
        name: `probe.${group}`,
        clientConfig: { url: 'https://127.0.0.1:1/' },
        matchConditions: [{ name: 'probe', expression: isProbe }],
      },
    ],
  };
}
