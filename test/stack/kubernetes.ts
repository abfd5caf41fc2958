import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { selfSigned } from '../sim/self-signed.ts';
import { connectAsAdmin, type KubernetesAdmin, type WebhookTarget } from './kubernetes-admin.ts';
import { auditPolicy, parseAuditLog, type AuditEvent } from './kubernetes-audit.ts';
import { freePort, startProcess, type SupervisedProcess } from './processes.ts';
import { findTool } from './tool.ts';
import { tools } from './tools.ts';

export interface KubernetesOptions {
  /** Record every write to our kinds, for `auditEvents`. */
  readonly audit?: boolean;
  /** Without our CRDs, roles and bindings: what a cluster looks like before they are applied. */
  readonly bare?: boolean;
  /** Refuse what this webhook refuses from the start; `installWebhook` does it later. */
  readonly webhook?: WebhookTarget;
  /** Also run the scheduler, which binds Pods to the nodes that a test makes (`kubernetes-nodes.ts`). */
  readonly scheduler?: boolean;
  readonly logFile?: string;
}

/**
 * Who talks to the API server. `admin` is for set-up only: it may do everything, also what RBAC isn't ready for. `vmflow` has
 * exactly the rights of workers/deploy/rbac; `operator` and `viewer` are people; `vmLayer` plays everything below a VM, `nodeAgent` the agents of all
 * nodes; `scheduler` is the real one.
 */
export type KubernetesUser = 'admin' | 'vmflow' | 'operator' | 'viewer' | 'vmLayer' | 'nodeAgent' | 'scheduler';

export interface KubernetesUnderTest {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
  readonly caPem: string;
  readonly tokens: Readonly<Record<KubernetesUser, string>>;
  /** Path of a kubeconfig of this user. */
  kubeconfig(user: KubernetesUser): string;
  /** A fresh namespace: none ever finishes deleting here. */
  createNamespace(prefix?: string): Promise<string>;
  /** Applies the definitions in workers/deploy/crds and waits until they are served. Done unless `bare`. */
  installCrds(): Promise<void>;
  /** Sends creations of VM operations to this webhook first; resolves when that is in effect. */
  installWebhook(target: WebhookTarget): Promise<void>;
  removeWebhook(): Promise<void>;
  /** Anything else: requests as `admin`. */
  readonly admin: KubernetesAdmin;
  /** SIGKILL of the API server. What is in etcd stays. */
  kill(): Promise<void>;
  /** Starts it again on the same port, killing it first where it runs. */
  restart(): Promise<void>;
  /** Stops (SIGSTOP) and continues the API server: connections stay open, nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Only with `scheduler`. */
  readonly scheduler?: SchedulerUnderTest;
  /** Recorded writes, oldest first; only with `audit`. */
  auditEvents(): Promise<readonly AuditEvent[]>;
  stop(): Promise<void>;
}

export interface SchedulerUnderTest {
  /** Stops (SIGSTOP) and continues it: Pods stay unbound meanwhile. */
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
  restart(): Promise<void>;
}

/** Names and groups as the API server sees them: the service account is the one that our binding names. */
const users: Readonly<Record<KubernetesUser, { readonly name: string; readonly groups?: string }>> = {
  admin: { name: 'admin', groups: 'system:masters' },
  vmflow: {
    name: 'system:serviceaccount:vmflow:vmflow',
    groups: '"system:serviceaccounts,system:serviceaccounts:vmflow"',
  },
  operator: { name: 'operator' },
  viewer: { name: 'viewer' },
  vmLayer: { name: 'vm-layer' },
  nodeAgent: { name: 'node-agent' },
  scheduler: { name: 'system:kube-scheduler' }, // its role comes with the API server
};
const userNames = Object.keys(users) as KubernetesUser[];

/**
 * Starts etcd and a Kubernetes API server on loopback, with our definitions and roles, and on demand the scheduler. There are no
 * controllers and no nodes.
 */
export async function startKubernetes(options: KubernetesOptions = {}): Promise<KubernetesUnderTest> {
  const [etcdBinary, apiserverBinary] = [await findTool(tools.etcd), await findTool(tools.kubeApiserver)];
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-kubernetes-'));
  const certificate = selfSigned();
  const tokens = Object.fromEntries(userNames.map((user) => [user, randomUUID()])) as Record<KubernetesUser, string>;
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  await writeFiles(dir, certificate, tokens, url);
  const admin = connectAsAdmin(url, certificate.certPem, tokens.admin);

  let etcd: SupervisedProcess | undefined;
  let apiserver: SupervisedProcess | undefined;
  let scheduler: SupervisedProcess | undefined;
  const kubeconfig = (user: KubernetesUser): string => join(dir, `${user}.kubeconfig`);
  const stop = async (): Promise<void> => {
    await admin.close();
    await scheduler?.kill();
    await apiserver?.kill();
    await etcd?.kill();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const etcdUrl = `http://127.0.0.1:${await freePort()}`;
    etcd = await startEtcd(etcdBinary, dir, etcdUrl);
    const start = async (): Promise<SupervisedProcess> => {
      const server = await startProcess({
        name: 'The Kubernetes API server',
        command: apiserverBinary,
        args: apiserverArguments(dir, port, etcdUrl, options.audit === true),
        ...(options.logFile === undefined ? {} : { logFile: options.logFile }),
      });
      await admin.untilReady(server);
      return server;
    };
    apiserver = await start();
    if (options.bare !== true) await admin.installDeployment();
    if (options.webhook !== undefined) await admin.installWebhook(options.webhook);
    const startScheduler = async (): Promise<void> => {
      // Not imported above: files without nodes would wait for its build.
      const nodes = await import('./kubernetes-nodes.ts');
      scheduler = await nodes.startScheduler(kubeconfig('scheduler'), options.logFile);
    };
    if (options.scheduler === true) await startScheduler();
    return {
      url,
      caPem: certificate.certPem,
      tokens,
      kubeconfig,
      createNamespace: (prefix) => admin.createNamespace(prefix),
      installCrds: () => admin.installCrds(),
      installWebhook: (target) => admin.installWebhook(target),
      removeWebhook: () => admin.removeWebhook(),
      admin,
      kill: async () => apiserver?.kill(),
      async restart() {
        await apiserver?.kill();
        apiserver = await start();
      },
      freeze: () => apiserver?.signal('SIGSTOP'),
      thaw: () => apiserver?.signal('SIGCONT'),
      ...(options.scheduler === true
        ? {
            scheduler: {
              freeze: () => scheduler?.signal('SIGSTOP'),
              thaw: () => scheduler?.signal('SIGCONT'),
              kill: async () => scheduler?.kill(),
              async restart() {
                await scheduler?.kill();
                await startScheduler();
              },
            },
          }
        : {}),
      auditEvents: async () => parseAuditLog(await readFile(join(dir, 'audit.log'), 'utf8')),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function writeFiles(
  dir: string,
  certificate: { readonly certPem: string; readonly keyPem: string },
  tokens: Readonly<Record<KubernetesUser, string>>,
  url: string,
): Promise<void> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const tokenRows = userNames.map((user) => [tokens[user], users[user].name, user, users[user].groups ?? ''].join(','));
  const files: Record<string, string> = {
    'tls.crt': certificate.certPem,
    'tls.key': certificate.keyPem,
    'service-account.key': privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
    'tokens.csv': `${tokenRows.join('\n')}\n`,
    'audit-policy.yaml': stringify(auditPolicy),
    'audit.log': '',
  };
  for (const user of userNames)
    files[`${user}.kubeconfig`] = stringify(kubeconfigOf(user, url, certificate.certPem, tokens[user]));
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(dir, name), text, { mode: 0o600 })));
}

function kubeconfigOf(user: KubernetesUser, server: string, caPem: string, token: string): object {
  const caData = Buffer.from(caPem).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': caData } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: user, context: { cluster: 'test', user } }],
    'current-context': user,
  };
}

function startEtcd(command: string, dir: string, url: string): Promise<SupervisedProcess> {
  const peer = 'http://127.0.0.1:0'; // there are no peers, but it insists on a listener
  const flags = {
    'data-dir': join(dir, 'etcd'),
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
    'unsafe-no-fsync': 'true', // what a crash of the machine loses is no subject of tests
  };
  return startProcess({
    name: 'etcd',
    command,
    args: asArguments(flags),
    ready: (line) => line.includes('ready to serve client requests'),
  });
}

function apiserverArguments(dir: string, port: number, etcdUrl: string, audit: boolean): string[] {
  const key = join(dir, 'service-account.key');
  return asArguments({
    'etcd-servers': etcdUrl,
    'bind-address': '127.0.0.1',
    'secure-port': `${port}`,
    'tls-cert-file': join(dir, 'tls.crt'),
    'tls-private-key-file': join(dir, 'tls.key'),
    'token-auth-file': join(dir, 'tokens.csv'),
    'authorization-mode': 'RBAC',
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': key,
    'service-account-signing-key-file': key,
    'service-cluster-ip-range': '10.96.0.0/16',
    // Nobody makes service accounts for namespaces here, nor takes the taint off new nodes.
    'disable-admission-plugins': 'ServiceAccount,TaintNodesByCondition',
    ...(audit ? { 'audit-policy-file': join(dir, 'audit-policy.yaml'), 'audit-log-path': join(dir, 'audit.log') } : {}),
  });
}

function asArguments(flags: Readonly<Record<string, string>>): string[] {
  return Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
}
