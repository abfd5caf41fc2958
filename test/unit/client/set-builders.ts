import { drainId, hibernationRequestId, migrateMainId, migrationRequestId } from '../../../workflows/contracts/ids.ts';
import type { Conflict } from '../../../workflows/contracts/conflict.ts';
import type { NodeInfo, SetDetails, SetInfo, VmPodInfo } from '../../../workflows/contracts/cluster-lookup.ts';
import type {
  DrainNodeStatus,
  MigrateMainResult,
  MigrateMainStatus,
  RequestMigrationResult,
} from '../../../workflows/contracts/hibernate.ts';
import { way } from '../../../workflows/domain/hibernate/steps.ts';
import type { ExecutionOutcome, ExecutionView } from '../../../client/gateway.ts';
import { omit } from '../../../client/objects.ts';
import { FakeGateway } from './fake-gateway.ts';

export const setUid = '33333333-3333-4333-8333-333333333333';
export const digest = `sha256:${'ab'.repeat(32)}`;
export const migrateId = migrateMainId('shop', 'web');
export const requestId = migrationRequestId('shop', 'web', 'to-node-b');
export const wakeId = hibernationRequestId('shop', 'web-0', 'Wake');
export const hibernateId = hibernationRequestId('shop', 'web-0', 'Hibernate');
export const drainOfA = drainId('node-a');
export const linkOf = (id: string, runId?: string): string =>
  `http://localhost:8233/namespaces/vmflow/workflows/${encodeURIComponent(id)}${runId === undefined ? '' : `/${runId}/history`}`;

/** Set shop/web, its main VM running on node-a, wanted anywhere. */
export function setDetails(over: Partial<SetDetails> = {}): SetDetails {
  return {
    ...{ namespace: 'shop', name: 'web', uid: setUid, phase: 'Running', image: 'base:1', node: 'node-a' },
    ...{ generation: 2, observedGeneration: 2, readyAgents: 1, desiredAgents: 1 },
    createdAt: '2026-03-01T10:20:00.000Z',
    agents: [
      {
        ...{ slot: 0, role: 'main', podName: 'web-0', vmName: 'vk-shop-web-0', vmId: 'vm-1', ip: '10.0.0.7' },
        phase: 'Running',
      },
    ],
    conditions: [
      {
        ...{ type: 'Ready', status: 'True', reason: 'AllAgentsReady', message: '1/1 agents ready' },
        lastTransitionTime: '2026-03-01T10:21:00Z',
      },
    ],
    ...over,
  };
}

/** What a worker says of it in a list. */
export function setRow(set: SetDetails): SetInfo {
  return omit(set, 'image', 'agents', 'conditions', 'record', 'hibernation');
}

/** The same set on its way to node-b. */
export const migratingSet = setDetails({
  phase: 'Migrating',
  target: 'node-b',
  migrating: {
    ...{ type: 'Migrating', status: 'True', reason: 'Snapshotting', message: 'the node agent stores the VM' },
    lastTransitionTime: '2026-03-01T13:10:00Z',
  },
  record: {
    ...{ id: 'm1', generation: 2, from: 'node-a', to: 'node-b', sourcePodUID: 'p1', sourceVMID: 'vm-1' },
    ...{ startedAt: '2026-03-01T13:09:00Z', stage: 'quiescing', stageAt: '2026-03-01T13:10:00Z' },
  },
});

export function podInfo(over: Partial<VmPodInfo> = {}): VmPodInfo {
  return { ...{ namespace: 'shop', name: 'web-1', uid: 'pod-1', vmName: 'vk-shop-web-1', node: 'node-a' }, ...over };
}

export function nodeInfo(over: Partial<NodeInfo> = {}): NodeInfo {
  return { name: 'node-a', ready: true, cordoned: false, sets: ['shop/db', 'shop/web'], ...over };
}

/** A migration at this step. */
export function migrationStatus(over: Partial<MigrateMainStatus> = {}, at = 'Snapshotting'): MigrateMainStatus {
  const reached = way.findIndex(({ id }) => id === at);
  return {
    ...{ kind: 'hibernate-migration', id: migrateId, status: at, reason: 'Snapshotting' },
    message: 'the node agent stores memory and disks of the VM',
    since: '2026-03-01T13:10:00.000Z',
    deadline: '2026-03-01T13:40:00.000Z',
    waitingFor: 'far-side',
    steps: way.map(({ id, title }, i) => ({
      ...{ id, title },
      state: i < reached ? 'done' : i === reached ? 'active' : 'pending',
    })),
    next: ['vmflow set watch web -n shop', 'vmflow migrate abort web -n shop'],
    set: { namespace: 'shop', name: 'web', uid: setUid },
    ...{ source: 'node-a', target: 'node-b', slot: 'granted', turn: 7 },
    ...over,
  };
}

export const lost: Conflict = {
  ...{ id: `SnapshotMissing/${setUid}`, code: 'SnapshotMissing' },
  what: 'set shop/web: the VM was stored and its snapshot is gone',
  ...{ expected: 'the VM restored on node-b', found: 'SnapshotMissing (row D9)', since: '2026-03-01T13:15:00.000Z' },
  options: [
    { decision: 'retry', effect: 'looks again' },
    { decision: 'acknowledge-loss', effect: 'gives up the state of the VM' },
  ],
};

export const lostStatus = migrationStatus({
  ...{ reason: 'SnapshotMissing', message: 'the snapshot is gone', waitingFor: 'person', conflict: lost },
  next: ['vmflow migrate retry web -n shop', 'vmflow migrate acknowledge-loss web -n shop'],
});

export const migrated: MigrateMainResult = {
  ...{ outcome: 'migrated', from: 'node-a', to: 'node-b', vmIdBefore: 'vm-1', vmIdAfter: 'vm-9' },
  ...{ snapshotDigest: digest, downtimeMs: 4_230 },
};

export function requested(over: Partial<RequestMigrationResult> = {}): { result: RequestMigrationResult } {
  const message = 'the main VM runs on node-b';
  return { result: { outcome: 'migrated', from: 'node-a', to: 'node-b', message, migration: migrated, ...over } };
}

export function execution(workflowId: string, over: Partial<ExecutionView> = {}): ExecutionView {
  return {
    ...{ workflowId, runId: 'run-1', type: 'any', taskQueue: 'vmflow', state: 'running' },
    startedAt: '2026-03-01T13:09:00.000Z',
    ...{ memo: {}, attributes: {}, pending: [] },
    ...over,
  };
}

export const migrationExecution = execution(migrateId, {
  attributes: { OpKind: 'hibernate-migration', OpStatus: 'Snapshotting', OpSource: 'node-a', OpTarget: 'node-b' },
});

export function drainStatus(over: Partial<DrainNodeStatus> = {}): DrainNodeStatus {
  return {
    ...{ kind: 'drain', id: drainOfA, status: 'Draining', reason: 'Draining', message: '1 of 3 moved' },
    ...{ since: '2026-03-01T13:09:00.000Z', waitingFor: 'far-side', steps: [], next: [] },
    ...{ node: 'node-a', total: 3, moved: 1, inFlight: 1 },
    blocked: [{ set: 'shop/db', reason: 'Suspended' }],
    ...over,
  };
}

/** A Temporal with workers, a cluster with this set behind them, and these executions. */
export function withSet(set: SetDetails, ...executions: readonly ExecutionView[]): FakeGateway {
  const gateway = new FakeGateway();
  gateway.polled = { vmflow: [{ identity: 'control@a' }] };
  gateway.executions = [...executions];
  gateway.answers = {
    sets: { what: 'sets', items: [setRow(set)], truncated: false },
    set: { what: 'set', set },
    named: { what: 'named', vms: [], sets: [set], pods: [] },
    node: { what: 'node', node: nodeInfo() },
  };
  return gateway;
}

/** The execution ends like this once its watchers have seen every status. */
export function endAfter(
  gateway: FakeGateway,
  id: string,
  { watched, statuses, outcome }: { watched: string; statuses: readonly unknown[]; outcome: ExecutionOutcome },
): void {
  let over: (outcome: ExecutionOutcome) => void = () => undefined;
  const seen = new Promise<ExecutionOutcome>((resolve) => (over = resolve));
  const left = [...statuses];
  gateway.statusOf[watched] = left[0];
  const query = gateway.query.bind(gateway);
  gateway.query = (target) => {
    if (target.workflowId === watched) {
      const next = left.shift();
      if (next === undefined) over(outcome);
      else gateway.statusOf[watched] = next;
    }
    return query(target);
  };
  const awaitEnd = gateway.awaitEnd.bind(gateway);
  gateway.awaitEnd = (target, signal) => (target.workflowId === id ? seen : awaitEnd(target, signal));
}
