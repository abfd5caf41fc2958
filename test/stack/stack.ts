import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { startFaultProxy, type FaultProxy } from '../sim/fault-proxy.ts';
import { IncusSim } from '../sim/incus/incus-sim.ts';
import { startBridge, startWorker, type WorkerEnvironment, type WorkerKind } from '../support/workers.ts';
import { startKubernetes, type KubernetesUnderTest } from './kubernetes.ts';
import { freePort, startProcess, type SupervisedProcess } from './processes.ts';
import { startRegistry, type RegistryUnderTest } from './registry.ts';
import { startTemporal, type TemporalServer } from './temporal.ts';
import { startVcsim, type Vcsim } from './vcsim.ts';

export interface StackOptions {
  /** Ports that people know, where they are free. */
  readonly wellKnownPorts: boolean;
  /** Stand between the workers and vCenter, to slow things down and break them. */
  readonly proxied?: boolean;
  /** Default: those of the node agents, node-a, node-b, node-c. */
  readonly nodes?: readonly string[];
}

/** The whole installation on one machine: Temporal with Web UI, simulators of vCenter and Incus, Kubernetes, a registry, workers, bridge. */
export interface Stack {
  readonly temporal: TemporalServer;
  readonly vcsim: Vcsim;
  readonly kubernetes: KubernetesUnderTest;
  /** Plays KubeVirt and the controller of VMs on the Kubernetes API. */
  readonly vmLayer: SupervisedProcess;
  /** Play the agents of its nodes. */
  readonly nodeAgents: SupervisedProcess;
  readonly registry: RegistryUnderTest;
  /** Where batches migrate to: target `lab`, project `default`, pools `default` and `fast`, network `VM-Network`. */
  readonly incus: IncusSim;
  readonly bridge: SupervisedProcess;
  readonly proxy?: FaultProxy;
  readonly workers: ReadonlyMap<WorkerKind, SupervisedProcess>;
  readonly dir: string;
  /** Environment in which the CLI finds it. */
  readonly env: NodeJS.ProcessEnv;
  startWorker(kind: WorkerKind): Promise<SupervisedProcess>;
  stop(): Promise<void>;
}

const password = 'simulated';

export async function startStack({ wellKnownPorts, proxied = false, nodes }: StackOptions): Promise<Stack> {
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-stack-'));
  await mkdir(join(dir, 'ova'));
  const port = wellKnownPorts ? await preferred(7233) : await freePort();
  const uiPort = wellKnownPorts ? await preferred(8233) : await freePort();
  const [temporal, vcsim, kubernetes, registry, incus] = await Promise.all([
    startTemporal({ ui: true, port, uiPort, dbFile: join(dir, 'temporal.db') }),
    startVcsim({ password, inventory: { vm: 2 } }),
    startKubernetes({ scheduler: true }),
    startRegistry(),
    IncusSim.start({ name: 'lab' }),
  ]);
  incus.addNetwork('VM-Network');
  const proxy = proxied ? await startFaultProxy({ target: vcsim.url }) : undefined;
  const configPath = join(dir, 'vmflow.yaml');
  const secret = join(dir, 'vcenter-password');
  await writeFile(secret, password, { mode: 0o600 });
  const webhookPort = await freePort();
  await writeFile(
    configPath,
    stringify({
      ...configFor({ user: vcsim.username, ...(proxy ?? vcsim) }, secret, join(dir, 'cache')),
      cluster: { kubeconfig: kubernetes.kubeconfig('vmflow') },
      registries: { snapshots: { url: registry.url, allowPlainHttp: true } },
      targets: { lab: await targetFor(incus, dir) },
      // Soon enough for somebody who looks on.
      batches: { tickMs: 2_000, shutdownGraceMs: 5_000, finalizePauseMs: 2_000 },
      migrations: { priorityClass: 'vmflow-vm' },
      webhook: { listen: `127.0.0.1:${webhookPort}`, url: `https://127.0.0.1:${webhookPort}/admit` },
    }),
  );
  const ours: WorkerEnvironment = {
    address: temporal.address,
    namespace: temporal.namespace,
    taskQueue: 'vmflow',
    configPath,
  };
  const workers = new Map<WorkerKind, SupervisedProcess>();
  const start = async (kind: WorkerKind): Promise<SupervisedProcess> => {
    const worker = await startWorker(kind, ours);
    workers.set(kind, worker);
    return worker;
  };
  const [, , bridge, vmLayer, nodeAgents] = await Promise.all([
    start('control'),
    start('transfer'),
    startBridge(ours),
    startVmLayer(kubernetes),
    startNodeAgents(kubernetes, registry, nodes),
  ]);
  await setUp(temporal);
  return {
    temporal,
    vcsim,
    kubernetes,
    vmLayer,
    nodeAgents,
    registry,
    incus,
    bridge,
    ...(proxy === undefined ? {} : { proxy }),
    workers,
    dir,
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      VMFLOW_UI_URL: temporal.uiUrl,
    },
    startWorker: start,
    async stop() {
      await Promise.all([...workers.values(), bridge, vmLayer, nodeAgents].map((worker) => worker.stop(5_000)));
      await proxy?.stop();
      await kubernetes.stop();
      await registry.stop();
      await incus.stop();
      await vcsim.stop();
      await temporal.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function configFor(
  vcenter: { url: string; user: string; sha256: string },
  passwordFile: string,
  cacheDir: string,
): object {
  return {
    vcenters: {
      main: { url: vcenter.url, user: vcenter.user, passwordFile, tls: { mode: 'thumbprint', sha256: vcenter.sha256 } },
    },
    cacheDir,
  };
}

/** The Incus server as a target, with the client certificate that it trusts. */
async function targetFor({ url, certificate, client }: IncusSim, dir: string): Promise<object> {
  const [clientCertFile, clientKeyFile] = [join(dir, 'incus-client.crt'), join(dir, 'incus-client.key')];
  await writeFile(clientCertFile, client.certPem);
  await writeFile(clientKeyFile, client.keyPem, { mode: 0o600 });
  return { url, tls: { mode: 'thumbprint', sha256: certificate.sha256 }, clientCertFile, clientKeyFile };
}

/** As an operator does once: what Temporal has to know, and the schedules. */
async function setUp({ address, namespace }: TemporalServer): Promise<void> {
  const cli = fileURLToPath(new URL('../../client/cli.ts', import.meta.url));
  const env = { ...process.env, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
  await promisify(execFile)(process.execPath, [cli, 'admin', 'setup'], { env });
}

async function startVmLayer(kubernetes: KubernetesUnderTest): Promise<SupervisedProcess> {
  return await startProcess({
    name: 'The VM layer',
    command: process.execPath,
    args: [fileURLToPath(new URL('../sim/vm-layer/main.ts', import.meta.url))],
    // Slow enough to be seen.
    env: {
      ...process.env,
      KUBECONFIG: kubernetes.kubeconfig('vmLayer'),
      VM_LAYER_BOOT_DELAY: '1s',
      VM_LAYER_GUEST_SHUTDOWN_DELAY: '2s',
      VM_LAYER_MIGRATION_DELAY: '1s',
    },
    ready: (line) => line.includes('VM layer ready'),
  });
}

async function startNodeAgents(
  kubernetes: KubernetesUnderTest,
  registry: RegistryUnderTest,
  nodes: readonly string[] | undefined,
): Promise<SupervisedProcess> {
  return await startProcess({
    name: 'The node agents',
    command: process.execPath,
    args: [fileURLToPath(new URL('../sim/node-agent/main.ts', import.meta.url))],
    env: {
      ...process.env,
      KUBECONFIG: kubernetes.kubeconfig('nodeAgent'),
      NODE_AGENT_REGISTRY: registry.url,
      ...(nodes === undefined ? {} : { NODE_AGENT_NODES: nodes.join(',') }),
    },
    ready: (line) => line.includes('Node agents ready'),
  });
}

/** The well-known port where nobody uses it. */
async function preferred(port: number): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer()
      .once('error', () => void freePort().then(resolve, reject))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(port)));
  });
}
