import type { VmInfo, VmopInfo } from '../../../workflows/contracts/cluster-lookup.ts';
import { vmCoordinatorId, vmOperationId } from '../../../workflows/contracts/ids.ts';
import type {
  OperationResult,
  RequestAnswer,
  VmOperationStatus,
  VmRequest,
} from '../../../workflows/contracts/vmop.ts';
import type { ExecutionView } from '../../../client/gateway.ts';
import { FakeGateway } from './fake-gateway.ts';

export const coordinator = vmCoordinatorId('shop', 'db-0');
export const stopUid = '11111111-1111-4111-8111-111111111111';
export const stopId = vmOperationId('shop', stopUid);
export const stopName = 'db-0-stop-1a2b3c4d';
export const taker = { name: 'db-0-forced-stop-9f8e7d6c', uid: '22222222-2222-4222-8222-222222222222' };
export const link = (id: string): string =>
  `http://localhost:8233/namespaces/vmflow/workflows/${encodeURIComponent(id)}`;

export function vmInfo(over: Partial<VmInfo> = {}): VmInfo {
  return {
    namespace: 'shop',
    name: 'db-0',
    uid: 'aaaaaaaa-0000-4000-8000-000000000000',
    phase: 'Running',
    runPolicy: 'AlwaysOnUnlessStoppedManually',
    nodeName: 'node-1',
    createdAt: '2026-03-01T10:20:00.000Z',
    ...over,
  };
}

/** A plain stop of shop/db-0 that is under way. */
export function stopInfo(over: Partial<VmopInfo> = {}): VmopInfo {
  return {
    namespace: 'shop',
    name: stopName,
    uid: stopUid,
    vmName: 'db-0',
    type: 'Stop',
    phase: 'InProgress',
    reason: 'StopInProgress',
    message: 'the guest is asked to shut down',
    seq: 4,
    supersedes: [],
    by: 'alice',
    createdAt: '2026-03-01T13:02:00.000Z',
    ...over,
  };
}

export const supersededStop = stopInfo({
  phase: 'Superseded',
  reason: 'Superseded',
  message: `superseded by ${taker.name} (Stop, forced)`,
  supersededBy: taker,
  endedAt: '2026-03-01T13:10:00.000Z',
});

export function stopStatus(over: Partial<VmOperationStatus> = {}): VmOperationStatus {
  return {
    kind: 'vm-operation',
    id: stopId,
    status: 'InProgress',
    reason: 'StopInProgress',
    message: 'wait for the proof',
    since: '2026-03-01T13:02:00.000Z',
    waitingFor: 'far-side',
    steps: [
      { id: 'claim', title: 'claim the VM', state: 'done' },
      { id: 'signal', title: 'ask the VM to change', state: 'done' },
      { id: 'wait', title: 'wait for the proof', state: 'active' },
      { id: 'finish', title: 'write the result', state: 'pending' },
    ],
    next: [],
    op: {
      ...{ namespace: 'shop', name: stopName, uid: stopUid, vmName: 'db-0', type: 'Stop', seq: 4 },
      createdAt: '2026-03-01T13:02:00.000Z',
    },
    supersedes: [],
    supersedableBy: ['Stop, forced', 'Restart, forced'],
    ...over,
  };
}

export const created: RequestAnswer = { outcome: 'created', name: stopName, uid: stopUid, supersedes: [] };

export function ended(over: Partial<OperationResult> = {}): { result: OperationResult } {
  return {
    result: {
      outcome: 'Completed',
      reason: 'OperationCompleted',
      message: 'VirtualMachine "db-0" is stopped',
      signalled: true,
      ...over,
    },
  };
}

/** A Temporal with workers and a cluster behind them that holds one VM and these operations. */
export function withCluster(...operations: readonly VmopInfo[]): FakeGateway {
  const gateway = new FakeGateway();
  gateway.polled = { vmflow: [{ identity: 'control@a' }], 'vmflow-transfer': [{ identity: 'transfer@a' }] };
  gateway.startAnswer = created;
  gateway.statusOf = { [stopId]: stopStatus() };
  gateway.answers = {
    vms: { what: 'vms', items: [vmInfo()], truncated: false },
    named: { what: 'named', vms: [vmInfo()], sets: [], pods: [] },
    vm: { what: 'vm', vm: vmInfo(), operations },
    vmops: { what: 'vmops', items: operations, truncated: false },
    vmop: { what: 'vmop', found: operations },
  };
  return gateway;
}

/** The requests that were sent, with the VM each was for. */
export function requestsOf(gateway: FakeGateway): readonly { id: string; request: VmRequest }[] {
  return gateway.started.map(({ start, update }) => ({ id: start.workflowId, request: update?.body as VmRequest }));
}

export function coordinatorExecution(): ExecutionView {
  return {
    workflowId: coordinator,
    runId: 'run-1',
    type: 'vmCoordinator',
    taskQueue: 'vmflow',
    state: 'running',
    startedAt: '2026-03-01T13:00:00.000Z',
    memo: {},
    attributes: { OpKind: 'vm-coordinator', OpVm: 'shop/db-0' },
    pending: [],
  };
}
