import type { Conflict } from '../../../workflows/contracts/conflict.ts';
import type { TemplateSwapRequest, TemplateSwapStatus } from '../../../workflows/contracts/template.ts';
import type { ExecutionView, PendingActivity } from '../../../client/gateway.ts';
import { FakeGateway } from './fake-gateway.ts';

export const digest = 'ab'.repeat(32);
export const swapId = 'template-swap/vc1/DC0/vm/rhel9-base';
export const swapLink =
  'http://localhost:8233/namespaces/vmflow/workflows/template-swap%2Fvc1%2FDC0%2Fvm%2Frhel9-base/run-1/history';
export const placement = { datacenter: 'DC0', cluster: 'DC0_C0', datastore: 'LocalDS_0', network: 'VM Network' };

/** Flags that say everything, so that nothing is remembered or looked up. */
export const fullFlags = [
  ...['--ova', '/images/rhel-9.6.ova', '--version', '9.6', '--sha256', digest],
  ...['--vcenter', 'vc1', '--datacenter', 'DC0', '--cluster', 'DC0_C0', '--datastore', 'LocalDS_0'],
  ...['--network', 'VM Network'],
];

export function swapExecution(over: Partial<ExecutionView> = {}): ExecutionView {
  return {
    workflowId: swapId,
    runId: 'run-1',
    type: 'templateSwap',
    taskQueue: 'vmflow',
    state: 'running',
    startedAt: '2026-03-01T13:00:00.000Z',
    memo: {
      name: 'rhel9-base',
      folder: '/DC0/vm',
      vcenter: 'vc1',
      version: '9.6',
      by: 'op',
      placement,
      naming: { prodName: 'rhel9-base' },
    },
    attributes: { OpKind: 'template-swap', OpStatus: 'Importing', OpTarget: '9.6', OpSource: 'vc1' },
    pending: [],
    ...over,
  };
}

/** Another template of the same name. */
export function elsewhere(vcenter: string, folder: string, over: Partial<ExecutionView> = {}): ExecutionView {
  const base = swapExecution();
  return {
    ...base,
    workflowId: `template-swap/${vcenter}${folder}/rhel9-base`,
    memo: { ...base.memo, vcenter, folder, placement: { ...placement, folder } },
    ...over,
  };
}

const titles: readonly [string, string][] = [
  ['preflight', 'check names, placement, tags and space'],
  ['import', 'import under the temp name'],
  ['swap', 'swap by rename'],
];

/** A status in which the steps before `active` are done. */
export function swapStatus(over: Partial<TemplateSwapStatus> = {}, active = 'import'): TemplateSwapStatus {
  const at = titles.findIndex(([id]) => id === active);
  return {
    kind: 'template-swap',
    id: swapId,
    status: 'Importing',
    reason: 'Importing',
    message: 'importing the OVA under the temp name',
    since: '2026-03-01T13:02:00.000Z',
    progress: 0.15,
    steps: titles.map(([id, title], i) => ({
      id,
      title,
      state: i < at || at === -1 ? 'done' : i === at ? 'active' : 'pending',
    })),
    next: ['vmflow template watch rhel9-base', 'vmflow template cancel rhel9-base'],
    target: { version: '9.6', sha256: digest },
    names: { prod: 'rhel9-base', temp: 'mco-tmp-1', rollback: 'mco-old-1' },
    warnings: [],
    ...over,
  };
}

export const completed = swapStatus(
  {
    status: 'Completed',
    reason: 'Completed',
    message: 'rhel9-base is 9.6',
    progress: 1,
    next: [],
    result: {
      outcome: 'swapped',
      prod: { moRef: 'vm-2', version: '9.6' },
      previous: { moRef: 'vm-1', version: '9.4' },
      gapMs: 12,
      uploadedBytes: 8 * 1024 * 1024,
      uploadAttempts: 1,
      rollbackDestroyed: true,
      warnings: [],
      timings: {},
    },
  },
  'none',
);

export const keeping = swapStatus({
  status: 'Keeping',
  reason: 'Keeping',
  message: 'keeping the previous template for an undo',
  keptUntil: '2026-03-01T15:20:00.000Z',
  deadline: '2026-03-01T15:20:00.000Z',
  previous: { moRef: 'vm-1', version: '9.4' },
  next: ['vmflow template rollback rhel9-base', 'vmflow template prune rhel9-base'],
});

export const foreignTemp: Conflict = {
  id: 'FOREIGN_OBJECT/vm-66',
  code: 'FOREIGN_OBJECT',
  what: 'a powered-on VM has the temp name "mco-tmp-1" and isn\'t marked as ours',
  expected: 'no object, or a VM with our marker',
  found: 'vm-66, without a marker',
  since: '2026-03-01T13:02:00.000Z',
  options: [
    { decision: 'retry', effect: 'after you changed something: look again and go on if it fits' },
    { decision: 'abort', effect: 'give up; nothing further is changed' },
  ],
};

export const inConflict = swapStatus({
  status: 'Conflict',
  reason: 'FOREIGN_OBJECT',
  message: foreignTemp.what,
  waitingFor: 'person',
  deadline: '2026-03-02T13:02:00.000Z',
  conflict: foreignTemp,
  next: ['vmflow template resolve rhel9-base --decision retry', 'vmflow template resolve rhel9-base --decision abort'],
});

export function uploading(sentBytes: number, over: Partial<PendingActivity> = {}): PendingActivity {
  return {
    type: 'importToTemp',
    attempt: 1,
    maxAttempts: 5,
    state: 'started',
    heartbeat: {
      v: 1,
      phase: 'uploading',
      attempt: 1,
      sentBytes,
      totalBytes: 300 * 1024 * 1024,
      rate: 30 * 1024 * 1024,
      startedAt: '2026-03-01T13:02:00.000Z',
    },
    ...over,
  };
}

/** A Temporal with workers and one swap in it. */
export function withSwap(execution: ExecutionView, ...statuses: readonly unknown[]): FakeGateway {
  const gateway = new FakeGateway();
  gateway.executions = [execution];
  gateway.statuses = [...statuses];
  gateway.polled = { vmflow: [{ identity: 'control@a' }], 'vmflow-transfer': [{ identity: 'transfer@a' }] };
  return gateway;
}

/** The request that a start carried. */
export function requestOf(gateway: FakeGateway): TemplateSwapRequest {
  return gateway.started[0]?.start.args[0] as TemplateSwapRequest;
}
