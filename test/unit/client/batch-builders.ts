import type { BatchView, MigrationView } from '../../../workflows/contracts/batch.ts';
import type {
  BatchPlan,
  Orphan,
  PlannedVm,
  SourceInfo,
  SourceVm,
  TargetInfo,
} from '../../../workflows/contracts/batch-lookup.ts';
import type { Conflict } from '../../../workflows/contracts/conflict.ts';
import { batchId, migrationId, orphanId, sourceId } from '../../../workflows/contracts/ids.ts';
import type { ExecutionView } from '../../../client/gateway.ts';
import { FakeGateway } from './fake-gateway.ts';
import { runCli, type CliOptions, type CliResult } from './run-cli.ts';

export const uuidA = '5298cc11-96ea-4f50-b018-6d80bfdaa7d9';
export const uuidB = '52cfcb6b-20ee-add3-adc9-68c63ca9adfd';
export const night = batchId('night-1');
export const entryA = migrationId(uuidA);
export const orphanA = orphanId('tgt', 'default', 'web-03');
export const syncOfVc1 = sourceId('vc1');

const base = { runId: 'run-1', taskQueue: 'vmflow', state: 'running', memo: {}, pending: [] } as const;

export function batchExecution(over: Partial<ExecutionView> = {}): ExecutionView {
  return {
    ...base,
    ...{ workflowId: night, type: 'batch', startedAt: '2026-03-01T12:00:00.000Z' },
    attributes: { OpKind: 'batch', OpStatus: 'Running', OpBatch: 'night-1' },
    ...over,
  };
}

export function entryExecution(
  over: Partial<ExecutionView> = {},
  attributes: Readonly<Record<string, unknown>> = {},
): ExecutionView {
  return {
    ...base,
    ...{ workflowId: entryA, type: 'migration', startedAt: '2026-03-01T12:30:00.000Z' },
    attributes: {
      ...{ OpKind: 'migration', OpStatus: 'Idle', OpBatch: 'night-1', OpVm: 'web-03', OpSource: 'vc1' },
      ...{ OpTarget: 'tgt/default', OpWaitingFor: 'window', OpProgress: 0.6 },
      ...attributes,
    },
    ...over,
  };
}

/** Running: two are done, one has its source off, one is in conflict, the window is open. */
export function batchView(over: Partial<BatchView> = {}): BatchView {
  return {
    ...{ kind: 'batch', id: night, status: 'Running', reason: 'Running', message: '2 finished, 1 need attention' },
    ...{ since: '2026-03-01T12:30:00.000Z', waitingFor: 'person', progress: 0.5, steps: [] },
    next: ['vmflow queue list --batch night-1 --status conflict', 'vmflow batch watch night-1'],
    ...{ batch: 'night-1', batchStatus: 'Running', members: 5 },
    counts: { finished: 2, committed: 1, conflict: 1, waiting: 1 },
    windows: [
      {
        ...{ name: 'sat', start: '2026-03-01T13:00:00.000Z', end: '2026-03-01T15:00:00.000Z', capacity: 2 },
        ...{ held: 1, state: 'open' },
      },
      { name: 'sun', start: '2026-03-02T13:00:00.000Z', capacity: 0, held: 0, state: 'ahead' },
    ],
    constraints: [{ name: 'web', max: 1, held: 1 }],
    ...{ etag: '3', startDate: '2026-03-01T12:30:00.000Z', shards: 1, ready: 0 },
    ...over,
  };
}

const titles = ['Check whether it can migrate', 'Create the target instance', 'Copy the disks while the source runs'];

/** It has been copied and waits for its window. */
export function entryView(over: Partial<MigrationView> = {}): MigrationView {
  return {
    ...{ kind: 'migration', id: entryA, status: 'Idle', reason: 'awaiting-window' },
    ...{ message: 'Waiting for migration window', since: '2026-03-01T13:02:00.000Z', waitingFor: 'window' },
    deadline: '2026-03-01T22:00:00.000Z',
    progress: 0.6,
    steps: [
      ...titles.map((title, i) => ({ id: ['check', 'create', 'copy'][i] ?? '', title, state: 'done' as const })),
      { id: 'window', title: 'Wait for its window', state: 'active' },
      { id: 'final', title: 'Source off, copy what has changed', state: 'pending' },
    ],
    next: [`vmflow queue watch ${uuidA}`, `vmflow queue cancel ${uuidA}`],
    ...{
      vm: 'web-03',
      uuid: uuidA,
      batch: 'night-1',
      entryStatus: 'Idle',
      stage: 'final',
      substate: 'awaiting-window',
    },
    ...{
      committed: false,
      configured: false,
      holdsPlace: false,
      source: 'vc1',
      target: 'tgt/default',
      window: 'sat',
      resolveCount: 0,
    },
    placement: {
      ...{ target_name: 'tgt', target_project: 'default', running: true },
      storage_pools: { '[ds] web/web.vmdk': 'fast' },
      networks: { '00:50:56:00:00:01': { network: 'br0', nictype: 'bridged', vlan_id: '' } },
    },
    ...over,
  };
}

export const placementChanged: Conflict = {
  ...{ id: `PLACEMENT_CHANGED/${uuidA}`, code: 'PLACEMENT_CHANGED', expected: 'project p1', found: 'project p2' },
  what: 'cpus 4 → 8 at the source, so the program now chooses project p2',
  since: '2026-03-01T13:02:00.000Z',
  options: [
    { decision: 'recheck', effect: 'check again, go on if it fits' },
    { decision: 'cancel', effect: 'leave web-03 out of night-1' },
  ],
};

export const entryInConflict = entryView({
  ...{ status: 'Conflict', entryStatus: 'Conflict', reason: 'PLACEMENT_CHANGED', waitingFor: 'person' },
  ...{ message: placementChanged.what, conflict: placementChanged, committed: true, stage: 'complete' },
  deadline: '2026-03-01T15:00:00.000Z',
});

export function plannedVm(over: Partial<PlannedVm> = {}): PlannedVm {
  return {
    ...{ uuid: uuidA, name: 'web-03', source: 'vc1', location: '/DC0/vm/web-03', state: 'planned' },
    ...{ target: 'tgt', project: 'default', neededMs: 0, window: 'sat' },
    ...over,
  };
}

export function batchPlan(items: readonly PlannedVm[], over: Partial<BatchPlan> = {}): BatchPlan {
  const count = (state: PlannedVm['state']): number => items.filter((vm) => vm.state === state).length;
  return {
    members: items.length,
    counts: {
      ...{ planned: count('planned'), 'no-place': count('no-place'), 'does-not-fit': count('does-not-fit') },
      ...{ blocked: count('blocked'), taken: count('taken') },
    },
    windows: [],
    items,
    truncated: false,
    warnings: [],
    ...over,
  };
}

export const sourceInfo: SourceInfo = {
  ...{ name: 'vc1', type: 'vmware', url: 'https://vc1.example/sdk', user: 'svc', tls: 'ca', fingerprint: 'AB:CD' },
  ...{ connectivity: 'OK', importLimit: 0 },
};

export const targetInfo: TargetInfo = {
  ...{ name: 'tgt', type: 'incus', url: 'https://incus.example:8443', auth: 'certificate', tls: 'ca' },
  ...{ connectivity: 'Authentication error', detail: 'our certificate is not trusted', importLimit: 4, createLimit: 0 },
};

export const sourceVm: SourceVm = {
  ...{ uuid: uuidA, source: 'vc1', source_specific_id: 'VirtualMachine:vm-31', location: '/DC0/vm/web-03' },
  ...{ name: 'web-03', os_type: 'linux', distribution: 'ubuntu', distribution_version: '22.04', cpus: 4 },
  ...{ memory: 8 * 1024 ** 3, background_import: true, running: true, disks: 2, size: 110 * 1024 ** 3 },
  last_update_from_source: '2026-03-01T13:19:48.000Z',
};

export const orphan: Orphan = {
  ...{ target: 'tgt', project: 'default', name: 'web-03', status: 'stopped', uuid: uuidA, batch: 'night-1' },
  ...{ attempt: 1, source: 'vc1', ran: true, sourcePower: 'off' },
  why: 'no entry stands behind it, and its source is off that was on',
};

/** A Temporal with workers and these executions. */
export function withBatches(...executions: readonly ExecutionView[]): FakeGateway {
  const gateway = new FakeGateway();
  gateway.executions = [...executions];
  gateway.polled = { vmflow: [{ identity: 'control@a' }] };
  return gateway;
}

/** Runs a command whose `-f` file has this text. */
export async function withFile(
  argv: readonly string[],
  text: string,
  gateway: FakeGateway,
  options: Omit<CliOptions, 'gateway'> = {},
): Promise<CliResult> {
  const readText = (): Promise<string> => Promise.resolve(text);
  return await runCli([...argv, '-f', 'night.yaml'], {
    ...options,
    gateway,
    runtime: { ...options.runtime, readText },
  });
}

export const nightFile = `name: night-1
include_expression: source == 'vc1'
migration_windows:
  - name: sat
    start: 2026-03-28 22:00 Europe/Berlin
    end: 2026-03-29 04:00 Europe/Berlin
    config: { capacity: 2 }
defaults:
  placement: { target: tgt }
`;
