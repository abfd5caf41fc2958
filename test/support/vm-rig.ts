import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WithStartWorkflowOperation, type Client, type Workflow, type WorkflowHandle } from '@temporalio/client';
import { stringify } from 'yaml';
import { createCluster } from '../../activities/kubernetes/client-node-adapter.ts';
import type { Cluster, KubeObject } from '../../activities/kubernetes/port.ts';
import { resources } from '../../activities/kubernetes/resources.ts';
import { vmopOf, type Vmop } from '../../activities/vmop/objects.ts';
import { vmCoordinatorId, vmOperationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type {
  CoordinatorInput,
  CoordinatorStatus,
  OperationResult,
  RequestAnswer,
  Submission,
  SubmitAnswer,
  VmopSpec,
  VmOperationStatus,
  VmRequest,
} from '../../workflows/contracts/vmop.ts';
import type { Condition } from '../../workflows/domain/conditions.ts';
import { startApiProxy, type ApiProxy } from '../sim/api-proxy.ts';
import { startVmLayer } from '../sim/vm-layer/vm-layer.ts';
import type { NewVm, VmLayer, VmView } from '../sim/vm-layer/types.ts';
import type { AuditEvent } from '../stack/kubernetes-audit.ts';
import { startKubernetes, type KubernetesUnderTest, type KubernetesUser } from '../stack/kubernetes.ts';
import type { SupervisedProcess } from '../stack/processes.ts';
import { throughProxy } from './proxied-access.ts';
import { connectTemporal, type TemporalUnderTest } from './shared-temporal.ts';
import { patienceMs, waitFor } from './wait-for.ts';
import { startWorker, type WorkerEnvironment } from './workers.ts';

export interface VmRigOptions {
  /** Part `operations` of `vmflow.yaml`. */
  readonly operations?: Readonly<Record<string, unknown>>;
  /** A Temporal server of the test's own, to be killed by it. */
  readonly ownTemporal?: boolean;
  /** Further dynamic configuration of a Temporal server of the test's own. */
  readonly dynamicConfig?: readonly string[];
  /** Workers are started by the test. */
  readonly noWorkers?: boolean;
  /** The queue of workers that are not the rig's. */
  readonly taskQueue?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly requestTimeoutMs?: number;
}

/** Everything one file of scenarios of VM operations needs: an API server behind a proxy, the VM layer, a worker, a client. */
export class VmRig {
  readonly temporal: TemporalUnderTest;
  readonly kubernetes: KubernetesUnderTest;
  /** Between the workers and the API server. The VM layer and the test go past it. */
  readonly proxy: ApiProxy;
  readonly layer: VmLayer;
  readonly dir: string;
  readonly taskQueue: string;
  /** A person who may work with operations. */
  readonly operator: Cluster;
  /** For looking, and for what no person may do. */
  readonly admin: Cluster;
  readonly workers: SupervisedProcess[] = [];
  readonly #options: VmRigOptions;
  #sweeps = 0;

  private constructor(
    parts: Pick<VmRig, 'temporal' | 'kubernetes' | 'proxy' | 'layer' | 'dir'>,
    options: VmRigOptions,
  ) {
    this.temporal = parts.temporal;
    this.kubernetes = parts.kubernetes;
    this.proxy = parts.proxy;
    this.layer = parts.layer;
    this.dir = parts.dir;
    this.#options = options;
    this.taskQueue = options.taskQueue ?? `test-${process.pid}-${Math.random().toString(36).slice(2, 8)}`;
    this.operator = createCluster({ kubeconfig: parts.kubernetes.kubeconfig('operator') });
    this.admin = createCluster({ kubeconfig: parts.kubernetes.kubeconfig('admin') });
  }

  static async start(options: VmRigOptions = {}): Promise<VmRig> {
    const [temporal, kubernetes, dir] = await Promise.all([
      connectTemporal({
        ...(options.ownTemporal === true ? { own: true, dbFile: true } : {}),
        ...(options.dynamicConfig === undefined ? {} : { own: true, dynamicConfig: options.dynamicConfig }),
      }),
      startKubernetes({ audit: true }),
      mkdtemp(join(tmpdir(), 'vmflow-vm-rig-')),
    ]);
    const proxy = await startApiProxy(kubernetes.url);
    const layer = await startVmLayer({ kubeconfig: kubernetes.kubeconfig('vmLayer') });
    const rig = new VmRig({ temporal, kubernetes, proxy, layer, dir }, options);
    await rig.#writeFiles();
    if (options.noWorkers !== true) await rig.startWorker();
    return rig;
  }

  get client(): Client {
    return this.temporal.client;
  }

  get configPath(): string {
    return join(this.dir, 'vmflow.yaml');
  }

  /** A kubeconfig whose server is the proxy. */
  proxiedKubeconfig(user: KubernetesUser = 'vmflow'): string {
    return join(this.dir, `${user}.kubeconfig`);
  }

  async startWorker(
    env: NodeJS.ProcessEnv = {},
    more: Pick<WorkerEnvironment, 'logFile' | 'sources'> = {},
  ): Promise<SupervisedProcess> {
    const worker = await startWorker('control', {
      address: this.temporal.address,
      namespace: this.temporal.namespace,
      taskQueue: this.taskQueue,
      configPath: this.configPath,
      env: { ...this.#options.env, ...env },
      ...more,
    });
    this.workers.push(worker);
    return worker;
  }

  /** SIGKILL of all, as a crash would end them. */
  async killWorkers(): Promise<void> {
    await Promise.all(this.workers.splice(0).map((worker) => worker.kill()));
  }

  /** Looks for operations without a workflow, as the schedule does. */
  async sweep(): Promise<void> {
    const workflowId = `sweep-${this.taskQueue}-${++this.#sweeps}`;
    await this.client.workflow.execute('vmopSweep', { taskQueue: this.taskQueue, workflowId, args: [] });
  }

  /** A namespace of its own, so that scenarios don't disturb each other. */
  async scenario(): Promise<VmScenario> {
    return new VmScenario(this, await this.kubernetes.createNamespace('vm'));
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop(3_000)));
    await this.layer.stop();
    await Promise.all([this.operator.close(), this.admin.close()]);
    await this.proxy.stop();
    await this.kubernetes.stop();
    await this.temporal.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  async #writeFiles(): Promise<void> {
    for (const user of ['vmflow', 'operator'] as const) {
      const text = await throughProxy(this.kubernetes.kubeconfig(user), this.proxy);
      await writeFile(this.proxiedKubeconfig(user), text, { mode: 0o600 });
    }
    const { requestTimeoutMs = 5_000, operations = {} } = this.#options;
    await writeFile(
      this.configPath,
      stringify({ cluster: { kubeconfig: this.proxiedKubeconfig(), requestTimeoutMs }, operations }),
    );
  }
}

export interface NewOperation {
  readonly force?: boolean;
  readonly name?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** Only the object is created; nobody is told. */
  readonly unseen?: boolean;
}

/** One scenario's namespace and what is done in it. */
export class VmScenario {
  readonly rig: VmRig;
  readonly namespace: string;
  #operations = 0;

  constructor(rig: VmRig, namespace: string) {
    this.rig = rig;
    this.namespace = namespace;
  }

  async vm(name: string, vm: NewVm = {}): Promise<VmView> {
    return await this.rig.layer.createVm(this.namespace, name, vm);
  }

  look(name: string): VmView | undefined {
    return this.rig.layer.vm(this.namespace, name);
  }

  async vmIs(name: string, predicate: (vm: VmView) => boolean, timeoutMs?: number): Promise<VmView> {
    return await this.rig.layer.waitForVm(this.namespace, name, predicate, timeoutMs);
  }

  async annotate(name: string, annotations: Readonly<Record<string, string | undefined>>): Promise<void> {
    await this.rig.layer.annotate(this.namespace, name, annotations);
  }

  /** Creates an operation object as a person does, and hands it to its coordinator as the bridge does. */
  async op(type: VmopSpec['type'], vmName: string, more: NewOperation = {}): Promise<OperationUnderTest> {
    const { force, nodeSelector, name = `${type.toLowerCase()}-${++this.#operations}` } = more;
    const spec = {
      type,
      virtualMachineName: vmName,
      ...(force === undefined ? {} : { force }),
      ...(nodeSelector === undefined ? {} : { migrate: { nodeSelector } }),
    };
    const object = await this.rig.operator.create(resources.vmop, this.namespace, {
      metadata: { name, namespace: this.namespace },
      spec,
    });
    const operation = new OperationUnderTest(this.rig, vmopOf(object));
    if (more.unseen !== true) await operation.submit();
    return operation;
  }

  /** What `vmflow start|stop|…` does. */
  async request(
    vmName: string,
    spec: VmRequest['spec'],
    more: Partial<VmRequest> & { readonly updateId?: string } = {},
  ): Promise<RequestAnswer> {
    const { updateId, ...rest } = more;
    return await this.rig.client.workflow.executeUpdateWithStart<Workflow, RequestAnswer, [VmRequest]>(
      messages.request,
      {
        args: [{ spec, by: 'a test', ...rest }],
        ...(updateId === undefined ? {} : { updateId }),
        startWorkflowOperation: coordinatorStart(this.rig, this.namespace, vmName),
      },
    );
  }

  coordinator(vmName: string): WorkflowHandle {
    return this.rig.client.workflow.getHandle(vmCoordinatorId(this.namespace, vmName));
  }

  async coordinatorStatus(vmName: string): Promise<CoordinatorStatus> {
    return await this.coordinator(vmName).query<CoordinatorStatus>(messages.status);
  }

  /** Deletes an operation object as a person does, and tells its coordinator as the bridge does. */
  async remove(operation: OperationUnderTest): Promise<void> {
    await operation.remove();
    await this.coordinator(operation.created.ref.vmName).signal(messages.opDeleted, { uid: operation.uid });
  }

  async operations(): Promise<readonly Vmop[]> {
    return (await this.rig.admin.list(resources.vmop, this.namespace)).map((object) => vmopOf(object));
  }

  async machine(vmName: string): Promise<KubeObject | undefined> {
    return await this.rig.admin.get(resources.machine, this.namespace, vmName);
  }

  async migrations(): Promise<readonly KubeObject[]> {
    return await this.rig.admin.list(resources.migration, this.namespace);
  }

  /** Events on objects of this namespace: `reason` of each, by the name of its object. */
  async events(
    name: string,
  ): Promise<readonly { readonly reason: string; readonly type: string; readonly message: string }[]> {
    const all = (await this.rig.admin.list(resources.event, this.namespace)) as unknown as readonly {
      involvedObject: { name: string };
      reason: string;
      type: string;
      message: string;
    }[];
    return all.filter(({ involvedObject }) => involvedObject.name === name);
  }

  /** Writes that the API server has carried out for our service account in this namespace. */
  async writes(filter: Partial<Pick<AuditEvent, 'verb' | 'resource' | 'name'>> = {}): Promise<readonly AuditEvent[]> {
    return (await this.rig.kubernetes.auditEvents()).filter(
      (event) =>
        event.namespace === this.namespace &&
        event.user === 'system:serviceaccount:vmflow:vmflow' &&
        event.code < 300 &&
        Object.entries(filter).every(([key, value]) => event[key as keyof typeof filter] === value),
    );
  }
}

function coordinatorStart(rig: VmRig, namespace: string, vmName: string): WithStartWorkflowOperation<Workflow> {
  const input: CoordinatorInput = { namespace, vmName };
  return new WithStartWorkflowOperation<Workflow>('vmCoordinator', {
    taskQueue: rig.taskQueue,
    workflowId: vmCoordinatorId(namespace, vmName),
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
}

/** An operation object and its workflow. */
export class OperationUnderTest {
  readonly rig: VmRig;
  readonly created: Vmop;

  constructor(rig: VmRig, created: Vmop) {
    this.rig = rig;
    this.created = created;
  }

  get name(): string {
    return this.created.ref.name;
  }

  get uid(): string {
    return this.created.ref.uid;
  }

  get handle(): WorkflowHandle {
    return this.rig.client.workflow.getHandle(vmOperationId(this.created.ref.namespace, this.uid));
  }

  async submit(again = false): Promise<SubmitAnswer> {
    const { namespace, vmName } = this.created.ref;
    return await this.rig.client.workflow.executeUpdateWithStart<Workflow, SubmitAnswer, [Submission]>(
      messages.submit,
      {
        args: [{ op: this.created.ref, ...(again ? { again } : {}) }],
        startWorkflowOperation: coordinatorStart(this.rig, namespace, vmName),
      },
    );
  }

  async read(): Promise<Vmop | undefined> {
    const object = await this.rig.admin.get(resources.vmop, this.created.ref.namespace, this.name);
    return object?.metadata.uid === this.uid ? vmopOf(object) : undefined;
  }

  /** Waits on a watch: hundreds of these together ask the API server for nothing. */
  async is(
    what: string,
    predicate: (vmop: Vmop, completed: Condition | undefined) => boolean,
    timeoutMs = patienceMs,
  ): Promise<Vmop> {
    const { namespace } = this.created.ref;
    const watch = this.rig.admin.watch(resources.vmop);
    await watch.ready;
    return await new Promise<Vmop>((resolve, reject) => {
      const look = (object: KubeObject | undefined): void => {
        if (object?.metadata.uid !== this.uid) return;
        const vmop = vmopOf(object);
        if (!predicate(vmop, completedOf(vmop))) return;
        clearTimeout(timer);
        stop();
        resolve(vmop);
      };
      const stop = watch.subscribe(({ type, object }) => {
        if (type !== 'deleted' && object.metadata.namespace === namespace && object.metadata.name === this.name)
          look(object);
      });
      const timer = setTimeout(() => {
        stop();
        const last = watch.get(namespace, this.name)?.status;
        reject(new Error(`after ${timeoutMs} ms ${this.name} is not ${what}: ${JSON.stringify(last)}`));
      }, timeoutMs);
      look(watch.get(namespace, this.name));
    });
  }

  /** Waits until it is terminal; answers phase and reason as `Completed/OperationCompleted`. */
  async ends(timeoutMs = patienceMs): Promise<string> {
    const vmop = await this.is('terminal', ({ isTerminal }) => isTerminal, timeoutMs);
    return `${vmop.phase}/${completedOf(vmop)?.reason}`;
  }

  async inProgress(timeoutMs = patienceMs): Promise<Vmop> {
    return await this.is('InProgress', ({ phase }) => phase === 'InProgress', timeoutMs);
  }

  async completed(): Promise<Condition | undefined> {
    const vmop = await this.read();
    return vmop === undefined ? undefined : completedOf(vmop);
  }

  async isGone(timeoutMs = patienceMs): Promise<void> {
    await waitFor(`${this.name} to be gone`, async () => (await this.read()) === undefined || undefined, { timeoutMs });
  }

  async remove(): Promise<void> {
    await this.rig.operator.remove(resources.vmop, this.created.ref.namespace, this.name);
  }

  async status(): Promise<VmOperationStatus> {
    return await this.handle.query<VmOperationStatus>(messages.status);
  }

  async result(): Promise<OperationResult> {
    return (await this.handle.result()) as OperationResult;
  }
}

export function completedOf(vmop: Vmop): Condition | undefined {
  return vmop.conditions.find(({ type }) => type === 'Completed');
}
