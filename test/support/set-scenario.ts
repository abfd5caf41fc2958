import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { annotate } from '../../activities/hibernate/guarded.ts';
import { podFactsOf, setFactsOf } from '../../activities/hibernate/facts.ts';
import type { KubeObject } from '../../activities/kubernetes/port.ts';
import { resources } from '../../activities/kubernetes/resources.ts';
import { readTag } from '../../activities/registry/snapshot.ts';
import { cocoonKeys, type MigrateMainResult, type MigrateMainStatus } from '../../workflows/contracts/hibernate.ts';
import { cocoonSetId, migrateMainId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { Condition } from '../../workflows/domain/conditions.ts';
import { podNameOf, vmNameOf } from '../../workflows/domain/hibernate/names.ts';
import type { PodFacts, TagFacts } from '../../workflows/domain/hibernate/observation.ts';
import type { NodeAgents, PlacedVm } from '../sim/node-agent/node-agents.ts';
import type { Timeline } from '../sim/node-agent/timeline.ts';
import type { AuditEvent } from '../stack/kubernetes-audit.ts';
import { deleteNode, setCordon } from '../stack/kubernetes-nodes.ts';
import type { Recorder } from './set-recorder.ts';
import type { SetRig } from './set-rig.ts';
import { assertPromises } from './set-timeline.ts';
import { patienceMs, waitFor } from './wait-for.ts';

export interface NewSet {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly agent?: Readonly<Record<string, unknown>>;
  /** Don't wait until it runs. */
  readonly unsettled?: boolean;
}

/** One scenario's namespace, its nodes with their agents, and what is done there. */
export class SetScenario {
  readonly rig: SetRig;
  readonly namespace: string;
  readonly agents: NodeAgents;
  readonly timeline: Timeline;
  readonly #recorder: Recorder;

  constructor(parts: Pick<SetScenario, 'rig' | 'namespace' | 'agents' | 'timeline'> & { readonly recorder: Recorder }) {
    this.rig = parts.rig;
    this.namespace = parts.namespace;
    this.agents = parts.agents;
    this.timeline = parts.timeline;
    this.#recorder = parts.recorder;
  }

  /** Whole name of a node of this scenario: `a` is `<namespace>-a`. */
  node(letter: string): string {
    return `${this.namespace}-${letter}`;
  }

  /** A set whose main VM runs on node a, or as the spec says. */
  async set(name = 'web', { spec = {}, agent = {}, unsettled = false }: NewSet = {}): Promise<SetUnderTest> {
    const wanted = {
      nodePool: this.namespace,
      nodeName: this.node('a'),
      ...spec,
      agent: {
        image: 'base:1',
        resources: { requests: { cpu: '1', memory: '1Gi' } },
        ...agent,
      },
    };
    await this.rig.admin.create(resources.set, this.namespace, {
      metadata: { name, namespace: this.namespace },
      spec: wanted,
    });
    const set = new SetUnderTest(this, name);
    if (!unsettled) await set.settles();
    return set;
  }

  async cordon(letter: string, isCordoned = true): Promise<void> {
    await setCordon(this.rig.kubernetes.admin, this.node(letter), isCordoned);
  }

  async deleteNode(letter: string): Promise<void> {
    await deleteNode(this.rig.kubernetes.admin, this.node(letter));
  }

  /** Ends it; the promises that hold at every instant are checked over all that happened. */
  check(): void {
    assertPromises(this.timeline);
  }

  async stop(): Promise<void> {
    this.#recorder.stop();
    await this.agents.stop();
  }
}

/** One set, as a person and as its agents see it. */
export class SetUnderTest {
  readonly scenario: SetScenario;
  readonly name: string;

  constructor(scenario: SetScenario, name: string) {
    this.scenario = scenario;
    this.name = name;
  }

  get namespace(): string {
    return this.scenario.namespace;
  }

  get vmName(): string {
    return vmNameOf(this.namespace, this.name, 0);
  }

  get podName(): string {
    return podNameOf(this.name, 0);
  }

  get migration(): WorkflowHandle {
    return this.scenario.rig.client.workflow.getHandle(migrateMainId(this.namespace, this.name));
  }

  get entity(): WorkflowHandle {
    return this.scenario.rig.client.workflow.getHandle(cocoonSetId(this.namespace, this.name));
  }

  /** As `kubectl patch`: merged into the spec; undefined removes a field. */
  async patch(spec: Readonly<Record<string, unknown>>): Promise<void> {
    const { admin } = this.scenario.rig.kubernetes;
    const nulls = Object.fromEntries(Object.entries(spec).map(([key, value]) => [key, value ?? null]));
    const path = `/apis/cocoonset.cocoonstack.io/v1/namespaces/${this.namespace}/cocoonsets/${this.name}`;
    const answer = await admin.send('PATCH', path, { spec: nulls }, 'application/merge-patch+json');
    if (answer.status >= 300) throw new Error(`the set couldn't be patched: ${JSON.stringify(answer.body)}`);
  }

  /** The main VM is wanted on this node (a letter); empty: anywhere. */
  async move(letter: string): Promise<void> {
    await this.patch({ nodeName: letter === '' ? undefined : this.scenario.node(letter) });
  }

  async remove(): Promise<void> {
    await this.scenario.rig.admin.remove(resources.set, this.namespace, this.name);
  }

  async read(): Promise<KubeObject | undefined> {
    return await this.scenario.rig.admin.get(resources.set, this.namespace, this.name);
  }

  async pod(slot = 0): Promise<PodFacts | undefined> {
    const [object, set] = await Promise.all([this.podObject(slot), this.read()]);
    return object === undefined ? undefined : podFactsOf(object, set?.metadata.uid ?? '');
  }

  async podObject(slot = 0): Promise<KubeObject | undefined> {
    return await this.scenario.rig.admin.get(resources.pod, this.namespace, podNameOf(this.name, slot));
  }

  async tag(): Promise<TagFacts> {
    return await readTag(this.scenario.rig.tags, this.vmName, 'hibernate');
  }

  /** Live VMs of this set's main, on all nodes. */
  vms(): readonly PlacedVm[] {
    return this.scenario.agents.vms(this.vmName);
  }

  async condition(type: string): Promise<Condition | undefined> {
    const { conditions = [] } = ((await this.read())?.status ?? {}) as { conditions?: readonly Condition[] };
    return conditions.find((one) => one.type === type);
  }

  async phase(): Promise<string | undefined> {
    const set = await this.read();
    return set === undefined ? undefined : setFactsOf(set, []).phase;
  }

  /** Waits until this holds for the set; answers the set. */
  async is(
    what: string,
    predicate: (set: KubeObject, pod: PodFacts | undefined) => boolean,
    timeoutMs = patienceMs,
  ): Promise<KubeObject> {
    let last: unknown;
    try {
      return await waitFor(
        `${this.name} to be ${what}`,
        async () => {
          const [set, pod] = await Promise.all([this.read(), this.pod()]);
          last = { status: set?.status, annotations: set?.metadata.annotations, pod };
          return set !== undefined && predicate(set, pod) ? set : undefined;
        },
        { timeoutMs, intervalMs: 50 },
      );
    } catch (cause) {
      throw new Error(`after ${timeoutMs} ms ${this.name} is not ${what}: ${JSON.stringify(last)}`, { cause });
    }
  }

  async isPhase(phase: string, timeoutMs?: number): Promise<KubeObject> {
    return await this.is(phase, (set) => set.status?.['phase'] === phase, timeoutMs);
  }

  /** The condition `Migrating` has this reason. */
  async shows(reason: string, timeoutMs = patienceMs): Promise<Condition> {
    return await waitFor(
      `${this.name} to show ${reason}`,
      async () => {
        const condition = await this.condition('Migrating');
        return condition?.reason === reason ? condition : undefined;
      },
      { timeoutMs, intervalMs: 30 },
    ).catch(async (cause: unknown) => {
      const now = JSON.stringify([await this.condition('Migrating'), (await this.read())?.metadata.annotations]);
      throw new Error(`${this.name} doesn't show ${reason} but ${now}`, { cause });
    });
  }

  /** Its main VM runs (on this node, a letter), nothing is under way and nothing left over. */
  async settles(letter?: string, timeoutMs?: number): Promise<PodFacts> {
    const node = letter === undefined ? undefined : this.scenario.node(letter);
    await this.is(
      `settled${letter === undefined ? '' : ` on ${letter}`}`,
      (set, pod) =>
        set.status?.['phase'] === 'Running' &&
        set.status['observedGeneration'] === set.metadata.generation &&
        set.metadata.annotations?.[cocoonKeys.migration] === undefined &&
        pod !== undefined &&
        pod.deletedAt === undefined &&
        pod.vmId !== '' &&
        pod.containerRunning &&
        !pod.hibernate &&
        (node === undefined || pod.nodeName === node),
      timeoutMs,
    );
    const pod = await this.pod();
    if (pod === undefined) throw new Error(`${this.name} has no Pod`);
    return pod;
  }

  async isGone(timeoutMs = patienceMs): Promise<void> {
    await waitFor(`${this.name} to be gone`, async () => (await this.read()) === undefined || undefined, { timeoutMs });
  }

  async migrationStatus(): Promise<MigrateMainStatus> {
    return await this.migration.query<MigrateMainStatus>(messages.status);
  }

  async migrationResult(): Promise<MigrateMainResult> {
    return (await this.migration.result()) as MigrateMainResult;
  }

  /** Events of the history of the newest run. */
  async historyLength(): Promise<number> {
    return (await this.migration.describe()).historyLength;
  }

  /** What `vmflow migrate retry|abort|…` does. */
  async order(update: string, body: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return await this.migration.executeUpdate<string, [object]>(update, { args: [{ by: 'a test', ...body }] });
  }

  async events(): Promise<readonly { readonly reason: string; readonly type: string; readonly message: string }[]> {
    const all = (await this.scenario.rig.admin.list(resources.event, this.namespace)) as unknown as readonly {
      involvedObject: { name: string; kind: string };
      reason: string;
      type: string;
      message: string;
    }[];
    return all.filter(({ involvedObject: { name, kind } }) => name === this.name && kind === 'CocoonSet');
  }

  async reasons(): Promise<readonly string[]> {
    return (await this.events()).map(({ reason }) => reason);
  }

  async hasEvent(reason: string, timeoutMs = patienceMs): Promise<void> {
    await waitFor(`event ${reason}`, async () => (await this.reasons()).includes(reason), { timeoutMs });
  }

  /** Writes that the API server has carried out for our service account in this namespace. */
  async writes(filter: Partial<Pick<AuditEvent, 'verb' | 'resource' | 'name'>> = {}): Promise<readonly AuditEvent[]> {
    return (await this.scenario.rig.kubernetes.auditEvents()).filter(
      (event) =>
        event.namespace === this.namespace &&
        event.user === 'system:serviceaccount:vmflow:vmflow' &&
        event.code < 300 &&
        Object.entries(filter).every(([key, value]) => event[key as keyof typeof filter] === value),
    );
  }

  /** Annotates its Pod as it is now. */
  async annotatePod(wanted: Readonly<Record<string, string | undefined>>): Promise<void> {
    await waitFor('the Pod to take annotations', async () => {
      const pod = await this.podObject();
      if (pod === undefined) throw new Error('there is no Pod');
      return await annotate(this.scenario.rig.admin, resources.pod, pod, wanted);
    });
  }

  /** Waits a moment in which something could go wrong. */
  async grace(ms: number): Promise<void> {
    await sleep(ms);
  }
}
