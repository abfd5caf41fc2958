import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WithStartWorkflowOperation, type Client, type Workflow } from '@temporalio/client';
import { stringify } from 'yaml';
import type { ApplyAnswer, ApplyBatch } from '../../workflows/contracts/batch.ts';
import { batchId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { BatchSpec } from '../../workflows/domain/batch/records.ts';
import { startFaultProxy, type FaultProxy } from '../sim/fault-proxy.ts';
import { IncusSim, type IncusSimOptions } from '../sim/incus/incus-sim.ts';
import type { SupervisedProcess } from '../stack/processes.ts';
import type { VcsimControl } from '../stack/vcsim-control.ts';
import { startVcsim, type Vcsim } from '../stack/vcsim.ts';
import { BatchUnderTest, type BatchChanges, specOf } from './batch-scenario.ts';
import { connectTemporal, type TemporalUnderTest } from './shared-temporal.ts';
import { startWorker, type WorkerKind } from './workers.ts';

const password = 'planted-Pa55word-b41c';

export interface BatchRigOptions {
  readonly ownTemporal?: boolean;
  /** Into the section `batches` of `vmflow.yaml`. */
  readonly batches?: Readonly<Record<string, unknown>>;
  /** Into the entry of the source. */
  readonly source?: Readonly<Record<string, unknown>>;
  /** Into the entry of the target. */
  readonly target?: Readonly<Record<string, unknown>>;
  readonly incus?: IncusSimOptions;
  readonly noWorkers?: boolean;
}

/** Everything a file of batch scenarios needs: a vCenter behind a fault proxy, an Incus server, workers as processes, a client. */
export class BatchRig {
  readonly temporal: TemporalUnderTest;
  readonly vcsim: Vcsim;
  readonly proxy: FaultProxy;
  readonly incus: IncusSim;
  readonly dir: string;
  readonly taskQueue: string;
  readonly id: string;
  readonly workers = new Map<WorkerKind, SupervisedProcess>();
  readonly #options: BatchRigOptions;
  #count = 0;

  private constructor(
    parts: { temporal: TemporalUnderTest; vcsim: Vcsim; proxy: FaultProxy; incus: IncusSim; dir: string },
    options: BatchRigOptions,
  ) {
    this.temporal = parts.temporal;
    this.vcsim = parts.vcsim;
    this.proxy = parts.proxy;
    this.incus = parts.incus;
    this.dir = parts.dir;
    this.#options = options;
    this.id = `${process.pid}${Math.random().toString(36).slice(2, 6)}`;
    this.taskQueue = `test-${this.id}`;
  }

  static async start(options: BatchRigOptions = {}): Promise<BatchRig> {
    const [temporal, vcsim, incus] = await Promise.all([
      connectTemporal(options.ownTemporal === true ? { own: true, dbFile: true } : {}),
      startVcsim({ password, inventory: { vm: 0, ds: 1, dc: 1 } }),
      IncusSim.start(options.incus),
    ]);
    const proxy = await startFaultProxy({ target: vcsim.url });
    const dir = await mkdtemp(join(tmpdir(), 'vmflow-batch-'));
    const rig = new BatchRig({ temporal, vcsim, proxy, incus, dir }, options);
    incus.addNetwork('VM-Network');
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

  get configPath(): string {
    return join(this.dir, 'vmflow.yaml');
  }

  async startWorkers(kinds: readonly WorkerKind[] = ['control', 'transfer']): Promise<void> {
    await Promise.all(
      kinds.map(async (kind) => {
        const worker = await startWorker(kind, {
          address: this.temporal.address,
          namespace: this.temporal.namespace,
          taskQueue: this.taskQueue,
          configPath: this.configPath,
          env: { VC_PASSWORD: password, VMFLOW_LOG_LEVEL: 'info' },
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

  async stop(): Promise<void> {
    await Promise.all([...this.workers.values()].map((worker) => worker.stop(3_000)));
    await this.proxy.stop();
    await this.vcsim.stop();
    await this.incus.stop();
    await this.temporal.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  async #writeConfig(): Promise<void> {
    const { proxy, vcsim, incus, dir } = this;
    const [certFile, keyFile] = [join(dir, 'client.crt'), join(dir, 'client.key')];
    await writeFile(certFile, incus.client.certPem);
    await writeFile(keyFile, incus.client.keyPem);
    await chmod(keyFile, 0o600);
    await writeFile(
      this.configPath,
      stringify({
        vcenters: {
          vc1: {
            url: proxy.url,
            user: vcsim.username,
            passwordEnv: 'VC_PASSWORD',
            tls: { mode: 'thumbprint', sha256: proxy.sha256 },
            apiTimeoutMs: 20_000,
            source: this.#options.source ?? {},
          },
        },
        targets: {
          tgt: {
            url: incus.url,
            tls: { mode: 'thumbprint', sha256: incus.certificate.sha256 },
            clientCertFile: certFile,
            clientKeyFile: keyFile,
            connectionTimeoutMs: 20_000,
            ...this.#options.target,
          },
        },
        batches: { tickMs: 1_000, shutdownGraceMs: 2_000, finalizePauseMs: 500, ...this.#options.batches },
        cacheDir: join(dir, 'cache'),
      }),
    );
  }
}
