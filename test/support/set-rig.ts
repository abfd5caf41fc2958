import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { stringify } from 'yaml';
import { createCluster } from '../../activities/kubernetes/client-node-adapter.ts';
import type { Cluster } from '../../activities/kubernetes/port.ts';
import { createRegistry } from '../../activities/registry/undici-adapter.ts';
import type { Registry } from '../../activities/registry/port.ts';
import { startApiProxy, type ApiProxy } from '../sim/api-proxy.ts';
import { startNodeAgents } from '../sim/node-agent/node-agents.ts';
import type { AgentSettings } from '../sim/node-agent/settings.ts';
import { createTimeline, type Timeline } from '../sim/node-agent/timeline.ts';
import { startRegistryProxy, type RegistryProxy } from '../sim/registry-proxy.ts';
import { startKubernetes, type KubernetesUnderTest } from '../stack/kubernetes.ts';
import type { NodeOptions } from '../stack/kubernetes-nodes.ts';
import type { SupervisedProcess } from '../stack/processes.ts';
import { startRegistry, type RegistryUnderTest } from '../stack/registry.ts';
import { throughProxy } from './proxied-access.ts';
import { recordSets } from './set-recorder.ts';
import { SetScenario } from './set-scenario.ts';
import { connectTemporal, type TemporalUnderTest } from './shared-temporal.ts';
import { startBridge, startWorker, type WorkerEnvironment } from './workers.ts';

export interface SetRigOptions {
  /** Part `migrations` of `vmflow.yaml`; what is left out is quick. */
  readonly migrations?: Readonly<Record<string, unknown>>;
  /** A Temporal server of the test's own, to be killed by it. */
  readonly ownTemporal?: boolean;
  /** Workers and bridge are started by the test. */
  readonly noWorkers?: boolean;
  readonly requestTimeoutMs?: number;
}

/** Waits of seconds instead of minutes; what has a limit in a scenario is set there. */
const quickMigrations = {
  limits: { overall: 100, perSource: 100, perTarget: 100 },
  pollFloorMs: 250,
  reReadMs: 5_000,
  resyncMs: 2_000,
  unschedulableMs: 1_000,
  priorityClass: 'vmflow-vm',
};

/** Everything one file of scenarios of sets needs: a cluster with scheduler, a registry, proxies before both, workers, a bridge. */
export class SetRig {
  readonly temporal: TemporalUnderTest;
  readonly kubernetes: KubernetesUnderTest;
  readonly registry: RegistryUnderTest;
  /** Between the workers and the far sides. Agents and the test's own looks go past them. */
  readonly proxy: ApiProxy;
  readonly registryProxy: RegistryProxy;
  /** As the workers see it. */
  readonly tags: Registry;
  readonly dir: string;
  readonly taskQueue: string;
  /** A person who may work with sets. */
  readonly operator: Cluster;
  readonly admin: Cluster;
  readonly workers: SupervisedProcess[] = [];
  readonly #options: SetRigOptions;
  readonly #scenarios: SetScenario[] = [];

  private constructor(
    parts: Pick<SetRig, 'temporal' | 'kubernetes' | 'registry' | 'proxy' | 'registryProxy' | 'dir'>,
    options: SetRigOptions,
  ) {
    this.temporal = parts.temporal;
    this.kubernetes = parts.kubernetes;
    this.registry = parts.registry;
    this.proxy = parts.proxy;
    this.registryProxy = parts.registryProxy;
    this.dir = parts.dir;
    this.#options = options;
    this.taskQueue = `test-${process.pid}-${Math.random().toString(36).slice(2, 8)}`;
    this.operator = createCluster({ kubeconfig: parts.kubernetes.kubeconfig('operator') });
    this.admin = createCluster({ kubeconfig: parts.kubernetes.kubeconfig('admin') });
    this.tags = createRegistry(
      {
        name: 'test',
        url: parts.registry.url,
        prefix: '',
        credentials: { kind: 'none' },
        tls: { mode: 'ca' },
        allowPlainHttp: true,
        requestTimeoutMs: 5_000,
      },
      { allowInsecureTls: false },
    );
  }

  static async start(options: SetRigOptions = {}): Promise<SetRig> {
    const [temporal, kubernetes, registry, dir] = await Promise.all([
      connectTemporal(options.ownTemporal === true ? { own: true, dbFile: true } : {}),
      startKubernetes({ audit: true, scheduler: true }),
      startRegistry(),
      mkdtemp(join(tmpdir(), 'vmflow-set-rig-')),
    ]);
    const [proxy, registryProxy] = await Promise.all([startApiProxy(kubernetes.url), startRegistryProxy(registry.url)]);
    const rig = new SetRig({ temporal, kubernetes, registry, proxy, registryProxy, dir }, options);
    await rig.#writeFiles();
    if (options.noWorkers !== true) await rig.startWorkers();
    return rig;
  }

  get client(): Client {
    return this.temporal.client;
  }

  get configPath(): string {
    return join(this.dir, 'vmflow.yaml');
  }

  /** Of the workers, through the proxy. */
  get kubeconfigPath(): string {
    return join(this.dir, 'vmflow.kubeconfig');
  }

  /** A worker and a bridge. */
  async startWorkers(more: Pick<WorkerEnvironment, 'logFile' | 'sources'> = {}): Promise<void> {
    const environment = {
      address: this.temporal.address,
      namespace: this.temporal.namespace,
      taskQueue: this.taskQueue,
      configPath: this.configPath,
      ...more,
    };
    this.workers.push(...(await Promise.all([startWorker('control', environment), startBridge(environment)])));
  }

  /** SIGKILL of all, as a crash would end them. */
  async killWorkers(): Promise<void> {
    await Promise.all(this.workers.splice(0).map((worker) => worker.kill()));
  }

  /** A namespace and nodes of its own, so that scenarios don't disturb each other. */
  async scenario(options: ScenarioOptions = {}): Promise<SetScenario> {
    const namespace = await this.kubernetes.createNamespace('sets');
    const room = options.room ?? { cpu: '4', memory: '4Gi', 'ephemeral-storage': '100Gi', pods: '20' };
    const names = (options.nodes ?? ['a', 'b', 'c']).map((name) => `${namespace}-${name}`);
    const classOf = (name: string): Pick<NodeOptions, 'snapshotClass'> => {
      const snapshotClass = options.classes?.[name.slice(namespace.length + 1)];
      return snapshotClass === undefined ? {} : { snapshotClass };
    };
    const nodes = Object.fromEntries(
      names.map((name): [string, NodeOptions] => [name, { pool: namespace, room, ...classOf(name) }]),
    );
    const timeline = createTimeline();
    const recorder = await recordSets(only(timeline, namespace), this.admin, this.registryProxy);
    const agents = await startNodeAgents({
      kubeconfig: this.kubernetes.kubeconfig('nodeAgent'),
      nodes,
      registry: { url: this.registry.url },
      timeline,
      settings: { lifecycleFlushMs: 500, ...options.agents },
    });
    const scenario = new SetScenario({ rig: this, namespace, agents, timeline, recorder });
    this.#scenarios.push(scenario);
    return scenario;
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop(3_000)));
    await Promise.all(this.#scenarios.map((scenario) => scenario.stop()));
    await Promise.all([this.operator.close(), this.admin.close(), this.tags.close()]);
    await Promise.all([this.proxy.stop(), this.registryProxy.stop()]);
    await Promise.all([this.kubernetes.stop(), this.registry.stop()]);
    await this.temporal.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  async #writeFiles(): Promise<void> {
    const kubeconfig = this.kubeconfigPath;
    await writeFile(kubeconfig, await throughProxy(this.kubernetes.kubeconfig('vmflow'), this.proxy), { mode: 0o600 });
    const { requestTimeoutMs = 5_000, migrations = {} } = this.#options;
    const config = {
      cluster: { kubeconfig, requestTimeoutMs },
      registries: { snapshots: { url: this.registryProxy.url, allowPlainHttp: true, requestTimeoutMs: 2_000 } },
      migrations: { ...quickMigrations, ...migrations },
    };
    await writeFile(this.configPath, stringify(config));
  }
}

/** Other scenarios run in the same cluster: only what happens in this namespace is told. */
function only(timeline: Timeline, namespace: string): Timeline {
  return {
    ...timeline,
    add(happening) {
      const key = 'pod' in happening ? happening.pod : 'set' in happening ? happening.set : happening.vm;
      if (key.startsWith(`${namespace}/`) || key.startsWith(`vk-${namespace}-`)) timeline.add(happening);
    },
  };
}

export interface ScenarioOptions {
  /** Last parts of their names; default `a`, `b`, `c`. */
  readonly nodes?: readonly string[];
  /** CPU classes of nodes, by their last parts; default: none. */
  readonly classes?: Readonly<Record<string, string>>;
  /** Of each node; default: four VMs with 1 CPU and 1 GiB. */
  readonly room?: NonNullable<NodeOptions['room']>;
  readonly agents?: Partial<AgentSettings>;
}
