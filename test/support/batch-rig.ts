import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WithStartWorkflowOperation, type Client, type Workflow } from '@temporalio/client';
import { stringify } from 'yaml';
import type { ApplyAnswer, ApplyBatch, SyncResult } from '../../workflows/contracts/batch.ts';
import { batchId, sourceId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { BatchSpec } from '../../workflows/domain/batch/records.ts';
import { startFaultProxy, type FaultProxy } from '../sim/fault-proxy.ts';
import { IncusSim, type IncusSimOptions } from '../sim/incus/incus-sim.ts';
import type { SupervisedProcess } from '../stack/processes.ts';
import type { VcsimControl } from '../stack/vcsim-control.ts';
import { startVcsim, type Vcsim } from '../stack/vcsim.ts';
import { BatchUnderTest, type BatchChanges, specOf } from './batch-scenario.ts';
import { connectTemporal, type TemporalUnderTest } from './shared-temporal.ts';
import { startWorker, type WorkerEnvironment, type WorkerKind } from './workers.ts';

const password = 'planted-Pa55word-b41c';

export interface BatchRigOptions {
  readonly ownTemporal?: boolean;
  /** A Temporal server of the test's own that serves the Web UI. */
  readonly webUi?: boolean;
  /** Dynamic configuration of the own server, `key=value`. */
  readonly dynamicConfig?: readonly string[];
  /** Into the section `batches` of `vmflow.yaml`. */
  readonly batches?: Readonly<Record<string, unknown>>;
  /** Into the entry of the source. */
  readonly source?: Readonly<Record<string, unknown>>;
  /** Sources have names of their own: syncs of a source are one workflow, whoever's workers it has. */
  readonly ownSource?: boolean;
  /** Another source with this in its entry: datacenter DC1, behind a proxy of its own. The first one has DC0 then. */
  readonly secondSource?: Readonly<Record<string, unknown>>;
  /** Into the entry of the target. */
  readonly target?: Readonly<Record<string, unknown>>;
  /** Another target, `tgt2`. */
  readonly secondTarget?: boolean;
  readonly incus?: IncusSimOptions;
  readonly noWorkers?: boolean;
  /** The queue of workers that are not the rig's. */
  readonly taskQueue?: string;
}

/** Everything a file of batch scenarios needs: a vCenter behind a fault proxy, an Incus server, workers as processes, a client. */
export class BatchRig {
  readonly temporal: TemporalUnderTest;
  readonly vcsim: Vcsim;
  readonly proxy: FaultProxy;
  /** In front of the second source. */
  readonly secondProxy: FaultProxy | undefined;
  readonly incus: IncusSim;
  /** What is `tgt2`. */
  readonly secondIncus: IncusSim | undefined;
  readonly dir: string;
  readonly taskQueue: string;
  readonly id: string;
  readonly workers = new Map<WorkerKind, SupervisedProcess>();
  readonly #options: BatchRigOptions;
  #count = 0;

  private constructor(
    parts: Pick<BatchRig, 'temporal' | 'vcsim' | 'proxy' | 'secondProxy' | 'incus' | 'secondIncus' | 'dir'>,
    options: BatchRigOptions,
  ) {
    this.temporal = parts.temporal;
    this.vcsim = parts.vcsim;
    this.proxy = parts.proxy;
    this.secondProxy = parts.secondProxy;
    this.incus = parts.incus;
    this.secondIncus = parts.secondIncus;
    this.dir = parts.dir;
    this.#options = options;
    this.id = `${process.pid}${Math.random().toString(36).slice(2, 6)}`;
    this.taskQueue = options.taskQueue ?? `test-${this.id}`;
  }

  static async start(options: BatchRigOptions = {}): Promise<BatchRig> {
    const [temporal, vcsim, incus] = await Promise.all([
      connectTemporal(serverFor(options)),
      startVcsim({ password, inventory: { vm: 0, ds: 1, dc: options.secondSource === undefined ? 1 : 2 } }),
      IncusSim.start(options.incus),
    ]);
    const proxy = await startFaultProxy({ target: vcsim.url });
    const secondProxy = options.secondSource === undefined ? undefined : await startFaultProxy({ target: vcsim.url });
    const secondIncus = options.secondTarget === true ? await IncusSim.start({ name: 'tgt2' }) : undefined;
    const dir = await mkdtemp(join(tmpdir(), 'vmflow-batch-'));
    const rig = new BatchRig({ temporal, vcsim, proxy, secondProxy, incus, secondIncus, dir }, options);
    // With names on the network, no instance with two NICs there could be started.
    const config = { 'ipv4.address': '10.1.0.1/24', 'dns.mode': 'none' };
    for (const sim of [incus, secondIncus]) sim?.addNetwork('VM-Network', { config });
    await rig.#writeConfig();
    if (options.noWorkers !== true) await rig.startWorkers();
    return rig;
  }

  get client(): Client {
    return this.temporal.client;
  }

  get control(): VcsimControl {
    return this.vcsim.control;
  }

  get source(): string {
    return this.#options.ownSource === true ? `vc1-${this.id}` : 'vc1';
  }

  get secondSource(): string {
    return this.source.replace('vc1', 'vc2');
  }

  get configPath(): string {
    return join(this.dir, 'vmflow.yaml');
  }

  /** Further ones of the same kinds are the ones that count from then on; the test ends the others. */
  async startWorkers(
    kinds: readonly WorkerKind[] = ['control', 'transfer'],
    more: Partial<WorkerEnvironment> = {},
  ): Promise<void> {
    await Promise.all(
      kinds.map(async (kind) => {
        const worker = await startWorker(kind, {
          address: this.temporal.address,
          namespace: this.temporal.namespace,
          taskQueue: this.taskQueue,
          configPath: this.configPath,
          ...more,
          env: { VC_PASSWORD: password, VMFLOW_LOG_LEVEL: 'info', ...more.env },
        });
        this.workers.set(kind, worker);
      }),
    );
  }

  /** SIGKILL, as a crash would end them. */
  async killWorkers(kinds: readonly WorkerKind[] = ['control', 'transfer']): Promise<void> {
    for (const kind of kinds) {
      await this.workers.get(kind)?.kill();
      this.workers.delete(kind);
    }
  }

  /** A batch of its own with VMs in a folder of its own, not yet applied. */
  async batch(changes: BatchChanges = {}): Promise<BatchUnderTest> {
    const name = `b${++this.#count}-${this.id}`;
    await this.control.createFolder('/DC0/vm', name);
    const folder = `/DC0/vm/${name}`;
    return new BatchUnderTest(this, specOf(name, folder, changes), folder);
  }

  /** As `vmflow batch apply` does it. */
  async apply(spec: BatchSpec): Promise<ApplyAnswer> {
    return await this.client.workflow.executeUpdateWithStart<Workflow, ApplyAnswer, [ApplyBatch]>(messages.apply, {
      args: [{ spec, by: 'a test' }],
      startWorkflowOperation: new WithStartWorkflowOperation<Workflow>('batch', {
        taskQueue: this.taskQueue,
        workflowId: batchId(spec.name),
        args: [{ name: spec.name }],
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    });
  }

  /** As `vmflow source sync` does it; one that runs already is joined. */
  async joinSync(source = this.source): Promise<SyncResult> {
    return await this.client.workflow.executeUpdateWithStart<Workflow, SyncResult, []>(messages.sync, {
      startWorkflowOperation: new WithStartWorkflowOperation<Workflow>('source', {
        taskQueue: this.taskQueue,
        workflowId: sourceId(source),
        args: [{ name: source }],
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    });
  }

  /** A sync that sees everything that has happened before: the first may have begun earlier. */
  async sync(source = this.source): Promise<SyncResult> {
    await this.joinSync(source);
    return await this.joinSync(source);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.workers.values()].map((worker) => worker.stop(3_000)));
    await this.proxy.stop();
    await this.secondProxy?.stop();
    await this.vcsim.stop();
    await this.incus.stop();
    await this.secondIncus?.stop();
    await this.temporal.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  async #writeConfig(): Promise<void> {
    const { proxy, secondProxy, incus, secondIncus, dir } = this;
    const { source, secondSource, target, batches } = this.#options;
    const datacenters = (name: string): object => (secondProxy === undefined ? {} : { datacenters: [name] });
    const second = secondProxy && {
      [this.secondSource]: this.#vcenter(secondProxy, { ...datacenters('DC1'), ...secondSource }),
    };
    await writeFile(
      this.configPath,
      stringify({
        vcenters: { [this.source]: this.#vcenter(proxy, { ...datacenters('DC0'), ...source }), ...second },
        targets: {
          tgt: { ...(await this.#target('tgt', incus)), ...target },
          ...(secondIncus === undefined ? {} : { tgt2: await this.#target('tgt2', secondIncus) }),
        },
        batches: { tickMs: 1_000, shutdownGraceMs: 2_000, finalizePauseMs: 500, ...batches },
        cacheDir: join(dir, 'cache'),
      }),
    );
  }

  async #target(name: string, incus: IncusSim): Promise<object> {
    const [clientCertFile, clientKeyFile] = [join(this.dir, `${name}.crt`), join(this.dir, `${name}.key`)];
    await writeFile(clientCertFile, incus.client.certPem);
    await writeFile(clientKeyFile, incus.client.keyPem);
    await chmod(clientKeyFile, 0o600);
    return {
      url: incus.url,
      tls: { mode: 'thumbprint', sha256: incus.certificate.sha256 },
      clientCertFile,
      clientKeyFile,
      connectionTimeoutMs: 20_000,
    };
  }

  #vcenter(proxy: FaultProxy, source: object): object {
    return {
      url: proxy.url,
      user: this.vcsim.username,
      passwordEnv: 'VC_PASSWORD',
      tls: { mode: 'thumbprint', sha256: proxy.sha256 },
      apiTimeoutMs: 20_000,
      source,
    };
  }
}

function serverFor({ ownTemporal, webUi, dynamicConfig = [] }: BatchRigOptions): Parameters<typeof connectTemporal>[0] {
  if (webUi === true) return { own: true, ui: true };
  return ownTemporal === true ? { own: true, dbFile: true, dynamicConfig } : {};
}
