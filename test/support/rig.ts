import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ApplicationFailure,
  CancelledFailure,
  WithStartWorkflowOperation,
  type Client,
  type Workflow,
  type WorkflowHandle,
} from '@temporalio/client';
import { stringify } from 'yaml';
import type { VCenterEndpoint } from '../../activities/vsphere/port.ts';
import { templateSwapId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type {
  EnsureAnswer,
  EnsureTarget,
  SwapOptions,
  TemplateSwapRequest,
  TemplateSwapResult,
  TemplateSwapStatus,
} from '../../workflows/contracts/template.ts';
import type { FailureDetails } from '../../workflows/contracts/failures.ts';
import { swapNames, type SwapNames } from '../../workflows/domain/template/names.ts';
import { startFaultProxy, type FaultProxy } from '../sim/fault-proxy.ts';
import type { SupervisedProcess } from '../stack/processes.ts';
import type { VcsimVm } from '../stack/vcsim-control.ts';
import { startVcsim, type Vcsim, type VcsimOptions } from '../stack/vcsim.ts';
import { buildOva, type BuiltOva, type OvaOptions } from './ova-builder.ts';
import { Poller } from './poller.ts';
import { connectTemporal, type TemporalUnderTest } from './shared-temporal.ts';
import { patienceMs, waitFor } from './wait-for.ts';
import { startWorker, type WorkerEnvironment, type WorkerKind } from './workers.ts';

export const password = 'planted-Pa55word-7f3a';
const prodName = 'demo-rhcos-fd0';

export interface RigOptions {
  readonly vcsim?: VcsimOptions;
  /** A Temporal server of the test's own, to be killed by it. */
  readonly ownTemporal?: boolean;
  /** A Temporal server of the test's own that serves the Web UI. */
  readonly webUi?: boolean | { readonly uiPort: number; readonly codecEndpoint: string };
  /** Further variables of the workers. */
  readonly env?: NodeJS.ProcessEnv;
  /** Workers reach Temporal here instead (a proxy's address). */
  readonly workerTemporal?: (address: string) => Promise<string>;
  /** Further parts of `vmflow.yaml`. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Time-out of a single call to vCenter; longer where a test holds many at once. */
  readonly apiTimeoutMs?: number;
  /** Workers are started by the test. */
  readonly noWorkers?: boolean;
  /** The queue of workers that are not the rig's. */
  readonly taskQueue?: string;
}

/** Everything one file of scenarios needs: a vCenter behind a fault proxy, workers as processes, a client. */
export class Rig {
  readonly temporal: TemporalUnderTest;
  readonly vcsim: Vcsim;
  readonly proxy: FaultProxy;
  readonly dir: string;
  readonly taskQueue: string;
  readonly pollers = new Set<Poller>();
  readonly workers = new Map<WorkerKind, SupervisedProcess>();
  readonly #options: RigOptions;
  readonly #workerAddress: string;
  readonly #id: string;
  #scenarios = 0;

  private constructor(
    parts: { temporal: TemporalUnderTest; vcsim: Vcsim; proxy: FaultProxy; dir: string; workerAddress: string },
    options: RigOptions,
  ) {
    this.temporal = parts.temporal;
    this.vcsim = parts.vcsim;
    this.proxy = parts.proxy;
    this.dir = parts.dir;
    this.#workerAddress = parts.workerAddress;
    this.#options = options;
    this.#id = `${process.pid}-${Math.random().toString(36).slice(2, 8)}`;
    this.taskQueue = options.taskQueue ?? `test-${this.#id}`;
  }

  static async start(options: RigOptions = {}): Promise<Rig> {
    const [temporal, vcsim] = await Promise.all([
      connectTemporal(serverFor(options)),
      startVcsim({ password, inventory: { vm: 0, ds: 2, dc: 2 }, ...options.vcsim }),
    ]);
    const proxy = await startFaultProxy({ target: vcsim.url });
    const dir = await mkdtemp(join(tmpdir(), 'vmflow-rig-'));
    const workerAddress =
      options.workerTemporal === undefined ? temporal.address : await options.workerTemporal(temporal.address);
    const rig = new Rig({ temporal, vcsim, proxy, dir, workerAddress }, options);
    await rig.#writeConfig();
    if (options.noWorkers !== true) await Promise.all([rig.startWorker('control'), rig.startWorker('transfer')]);
    return rig;
  }

  get client(): Client {
    return this.temporal.client;
  }

  get configPath(): string {
    return join(this.dir, 'vmflow.yaml');
  }

  /** The vCenter behind the proxy, for the test's own sessions. */
  get direct(): VCenterEndpoint {
    const { url, username, sha256 } = this.vcsim;
    return { name: 'direct', url, user: username, password, tls: { mode: 'thumbprint', sha256 } };
  }

  /** A further one of the same kind is the one that counts from then on; the test ends the other. */
  async startWorker(kind: WorkerKind, more: Partial<WorkerEnvironment> = {}): Promise<SupervisedProcess> {
    const worker = await startWorker(kind, {
      address: this.#workerAddress,
      namespace: this.temporal.namespace,
      taskQueue: this.taskQueue,
      configPath: this.configPath,
      env: { VC_PASSWORD: password, VMFLOW_LOG_LEVEL: 'info', ...this.#options.env },
      ...more,
    });
    this.workers.set(kind, worker);
    return worker;
  }

  /** SIGKILL, as a crash would end it. */
  async killWorker(kind: WorkerKind): Promise<void> {
    await this.workers.get(kind)?.kill();
    this.workers.delete(kind);
  }

  /** A folder of its own, so that scenarios don't disturb each other. */
  async scenario(): Promise<Scenario> {
    this.proxy.clearRules();
    this.proxy.clearRequests();
    await this.vcsim.control.clearFaults();
    await this.vcsim.control.clearDelays();
    // Files of one run share a Temporal server, so the folder, which is part of the workflow id, is the rig's own.
    const folder = `${this.#id}-${++this.#scenarios}`;
    await this.vcsim.control.createFolder('/DC0/vm', folder);
    return new Scenario(this, `/DC0/vm/${folder}`);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.pollers].map((poller) => poller.stop()));
    await Promise.all([...this.workers.values()].map((worker) => worker.stop(3_000)));
    await this.proxy.stop();
    await this.vcsim.stop();
    await this.temporal.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  async #writeConfig(): Promise<void> {
    const { proxy, vcsim } = this;
    const entry = (url: string, sha256: string, more: object = {}): object => ({
      url,
      user: vcsim.username,
      passwordEnv: 'VC_PASSWORD',
      tls: { mode: 'thumbprint', sha256 },
      apiTimeoutMs: this.#options.apiTimeoutMs ?? 20_000,
      ...more,
    });
    const vcenters = {
      main: entry(proxy.url, proxy.sha256),
      'wrong-password': { ...entry(proxy.url, proxy.sha256), passwordEnv: 'VMFLOW_TASK_QUEUE' },
      'wrong-thumbprint': entry(proxy.url, 'AB'.repeat(32)),
    };
    const { vcenters: more, ...rest } = this.#options.config ?? {};
    await writeFile(
      this.configPath,
      stringify({
        vcenters: { ...vcenters, ...(more as object | undefined) },
        cacheDir: join(this.dir, 'cache'),
        ...rest,
      }),
    );
  }
}

function serverFor({ ownTemporal, webUi }: RigOptions): Parameters<typeof connectTemporal>[0] {
  if (webUi === true) return { own: true, ui: true };
  if (typeof webUi === 'object') return { own: true, ui: true, ...webUi };
  return ownTemporal === true ? { own: true, dbFile: true } : {};
}

export interface SwapSpec {
  readonly version?: string;
  readonly ova?: BuiltOva;
  readonly options?: SwapOptions;
  readonly placement?: Partial<TemplateSwapRequest['placement']>;
  readonly prodName?: string;
  readonly vcenter?: string;
}

/** One scenario's folder and what is done in it. */
export class Scenario {
  readonly rig: Rig;
  readonly folder: string;
  readonly names: SwapNames = swapNames(prodName);

  constructor(rig: Rig, folder: string) {
    this.rig = rig;
    this.folder = folder;
  }

  /** A finished template as an earlier swap or a person left it. */
  async template(
    name: string,
    version: string | undefined,
    marker?: Readonly<Record<string, string>>,
    network = '/DC0/network/VM Network',
  ): Promise<string> {
    return await this.rig.vcsim.control.createVm({
      name,
      folder: this.folder,
      template: true,
      network,
      ...(version === undefined ? {} : { version }),
      ...(marker === undefined ? {} : { extraConfig: marker }),
    });
  }

  marker(
    version: string,
    sha256: string,
    state: 'importing' | 'ready',
    more: Readonly<Record<string, string>> = {},
  ): Record<string, string> {
    return {
      'templateSwap.prod': prodName,
      'templateSwap.opId': `${templateSwapId(this.request({ version }))}/earlier`,
      'templateSwap.version': version,
      'templateSwap.sha256': sha256,
      'templateSwap.state': state,
      ...(state === 'ready' ? { 'templateSwap.vm': '$ref' } : {}),
      ...more,
    };
  }

  /** An OVA of the given version with one disk of 8 MiB. */
  async ova(version = '417.94.2', more: Partial<OvaOptions> = {}): Promise<BuiltOva> {
    const path = join(
      this.rig.dir,
      `${this.folder.replaceAll('/', '_')}-${version}-${Math.random().toString(36).slice(2, 6)}.ova`,
    );
    return await buildOva({ path, descriptor: { productVersion: version }, ...more });
  }

  request(spec: SwapSpec = {}): TemplateSwapRequest {
    const { version = '417.94.2', ova, options } = spec;
    return {
      vcenter: spec.vcenter ?? 'main',
      placement: {
        datacenter: 'DC0',
        cluster: 'DC0_C0',
        datastore: 'LocalDS_0',
        folder: this.folder,
        network: 'VM Network',
        ...spec.placement,
      },
      template: { prodName: spec.prodName ?? prodName },
      source: { kind: 'file', path: ova?.path ?? '/nowhere.ova', sha256: ova?.sha256 ?? '0'.repeat(64) },
      target: { version },
      by: 'a test',
      ...(options === undefined ? {} : { options }),
    };
  }

  /** Starts or joins, as the CLI does. */
  async start(spec: SwapSpec | TemplateSwapRequest = {}): Promise<Swap> {
    const request = 'source' in spec ? spec : this.request(spec);
    const workflowId = templateSwapId(request);
    const operation = new WithStartWorkflowOperation<Workflow>('templateSwap', {
      taskQueue: this.rig.taskQueue,
      workflowId,
      args: [request],
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    const target: EnsureTarget = { version: request.target.version, sha256: request.source.sha256, by: 'a test' };
    const answer = await this.rig.client.workflow.executeUpdateWithStart<Workflow, EnsureAnswer, [EnsureTarget]>(
      messages.ensure,
      {
        args: [target],
        startWorkflowOperation: operation,
      },
    );
    const started = await operation.workflowHandle();
    // Bound to its run: a later run of the same template is another swap.
    const handle = this.rig.client.workflow.getHandle(workflowId, (await started.describe()).runId);
    return new Swap(handle, answer);
  }

  async swap(spec: SwapSpec | TemplateSwapRequest = {}): Promise<TemplateSwapResult> {
    return await (await this.start(spec)).result();
  }

  /** `everyMs`: longer where many look at the same time. */
  async poller(name = prodName, everyMs?: number): Promise<Poller> {
    const poller = await Poller.start(this.rig.direct, this.folder, swapNames(name), everyMs);
    this.rig.pollers.add(poller);
    return poller;
  }

  /** The VMs in this scenario's folder. */
  async vms(): Promise<VcsimVm[]> {
    const folder = await this.rig.vcsim.control.find(this.folder);
    return (await this.rig.vcsim.control.vms()).filter((vm) => vm.parent === folder?.ref);
  }

  /** Names in this scenario's folder. */
  async inventory(): Promise<{ name: string; ref: string; template: boolean; version?: string; powerState: string }[]> {
    return (await this.vms()).map(({ name, ref, template, powerState, version, extraConfig }) => {
      const known = extraConfig['templateSwap.version'] ?? version;
      return { name, ref, template, powerState, ...(known === undefined ? {} : { version: known }) };
    });
  }
}

/** A running or finished swap. */
export class Swap {
  readonly handle: WorkflowHandle;
  readonly answer: EnsureAnswer;

  constructor(handle: WorkflowHandle, answer: EnsureAnswer) {
    this.handle = handle;
    this.answer = answer;
  }

  /** Every failure that an activity reported, oldest first: what a test shows when it is surprised. */
  async failures(): Promise<string[]> {
    const { events } = await this.handle.fetchHistory();
    return (events ?? []).flatMap((event) => {
      const failure =
        event.activityTaskStartedEventAttributes?.lastFailure ?? event.activityTaskFailedEventAttributes?.failure;
      return failure?.message == null ? [] : [failure.message];
    });
  }

  async result(): Promise<TemplateSwapResult> {
    return (await this.handle.result()) as TemplateSwapResult;
  }

  /** What the swap fails with; a swap that succeeds is an error here. */
  async failure(): Promise<{ type: string; message: string; details?: FailureDetails }> {
    const outcome = await this.result().catch((err: unknown) => err as Error);
    if (!(outcome instanceof Error)) throw new Error(`the swap did not fail: ${JSON.stringify(outcome)}`);
    const { cause } = outcome;
    if (cause instanceof CancelledFailure) return { type: 'Cancelled', message: cause.message };
    const known = rootFailure(cause);
    if (known === undefined) throw outcome;
    const details = known.details?.[0] as FailureDetails | undefined;
    return { type: known.type ?? '', message: known.message, ...(details === undefined ? {} : { details }) };
  }

  async status(): Promise<TemplateSwapStatus> {
    return await this.handle.query<TemplateSwapStatus>(messages.status);
  }

  /** Waits for a phase and answers the status in it. */
  async reaches(phase: TemplateSwapStatus['status'], timeoutMs = patienceMs): Promise<TemplateSwapStatus> {
    return await waitFor(
      `the phase ${phase}`,
      async () => {
        const status = await this.status();
        return status.status === phase ? status : undefined;
      },
      { timeoutMs },
    );
  }

  async update<R>(name: string, arg: unknown): Promise<R> {
    return await this.handle.executeUpdate<R, [unknown]>(name, { args: [arg] });
  }
}

function rootFailure(err: unknown): ApplicationFailure | undefined {
  if (err instanceof ApplicationFailure) return err;
  return err instanceof Error ? rootFailure(err.cause) : undefined;
}
