import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { promtool } from '../../stack/promtool.ts';
import { alerts, alertsPath, type Alert } from './files.ts';

type Series = Readonly<Record<string, string>>;

/** Series as promtool writes them, a value each minute: those on which it fires, and those on which it must not. */
interface Case {
  readonly bad: Series;
  readonly good: Series;
  /** Labels of what fires. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Minutes after the start at which it is there, and at which it isn't yet. */
  readonly at: number;
  readonly before?: number;
}

const pollers = (value: string, type: string, queue: string): Series => ({
  [`temporal_num_pollers{poller_type="${type}",task_queue="${queue}"}`]: value,
});
const waits = (metric: string, queue: string, quick: number, slow: number): Series => ({
  [`${metric}_bucket{task_queue="${queue}",le="1000"}`]: `0+${quick}x120`,
  [`${metric}_bucket{task_queue="${queue}",le="5000"}`]: `0+${quick + slow}x120`,
  [`${metric}_bucket{task_queue="${queue}",le="+Inf"}`]: `0+${quick + slow}x120`,
});
const workflowWait = 'temporal_workflow_task_schedule_to_start_latency';
const activityWait = 'temporal_activity_schedule_to_start_latency';
const stuck = { workflow_type: 'migration', failure_reason: 'NonDeterminismError' };
const failedTasks = `temporal_workflow_task_execution_failed{workflow_type="migration",failure_reason="NonDeterminismError"}`;

const cases: Readonly<Record<string, Case>> = {
  VmflowNoControlWorker: {
    bad: pollers('0x60', 'workflow_task', 'vmflow'),
    good: { ...pollers('0x60', 'workflow_task', 'other'), ...pollers('2x60', 'workflow_task', 'vmflow') },
    at: 10,
    before: 4,
  },
  VmflowNoTransferWorker: {
    // Those of a control worker don't count.
    bad: pollers('5x60', 'activity_task', 'vmflow'),
    good: pollers('5x60', 'activity_task', 'vmflow-transfer'),
    at: 10,
    before: 4,
  },
  VmflowWorkflowStuck: {
    // Tried again ever more seldom, at last every ten minutes.
    bad: { [failedTasks]: '1 2 3 4 4 4 5 5 5 5 5 6 6 6 6 6 6 6 6 6 7 7 7 7 7 7 7 7 7 7' },
    good: { [failedTasks]: '7x60' },
    labels: stuck,
    at: 25,
    before: 5,
  },
  VmflowPayloadTooLarge: {
    bad: { 'vmflow_sdk_codes{code="TMPRL1103"}': '0 0 1x60' },
    good: { 'vmflow_sdk_codes{code="TMPRL1103"}': '0x60', 'vmflow_sdk_codes{code="TMPRL1102"}': '0 0 1x60' },
    at: 5,
    before: 1,
  },
  VmflowWorkflowTasksWait: {
    bad: waits(workflowWait, 'vmflow', 80, 20),
    good: waits(workflowWait, 'vmflow', 99, 1),
    labels: { task_queue: 'vmflow' },
    at: 20,
    before: 8,
  },
  VmflowActivitiesWait: {
    bad: waits(activityWait, 'vmflow', 80, 20),
    good: { ...waits(activityWait, 'vmflow', 99, 1), ...waits(activityWait, 'vmflow-transfer', 10, 90) },
    labels: { task_queue: 'vmflow' },
    at: 20,
    before: 8,
  },
  VmflowConflictOpen: {
    bad: { 'vmflow_conflicts_open{kind="migration"}': '1x300' },
    good: { 'vmflow_conflicts_open{kind="migration"}': '1x200 0x100' },
    labels: { kind: 'migration' },
    at: 245,
    before: 230,
  },
  VmflowOperationsFail: {
    bad: { 'vmflow_operation_entered{kind="vm-operation",status="Failed"}': '0 1 2 3 4x60' },
    good: {
      'vmflow_operation_entered{kind="vm-operation",status="Failed"}': '0 1x60',
      'vmflow_operation_entered{kind="vm-operation",status="Completed"}': '0+5x60',
    },
    labels: { kind: 'vm-operation' },
    at: 10,
    before: 1,
  },
  VmflowMoveBlocked: {
    bad: { 'cocoon_migration_blocked{reason="TargetFull"}': '2x100' },
    good: { 'cocoon_migration_blocked{reason="TargetFull"}': '2x30 0x70' },
    labels: { reason: 'TargetFull' },
    at: 70,
    before: 50,
  },
  VmflowSnapshotDebt: {
    bad: { cocoon_snapshot_cleanup_debt: '1x100' },
    good: { cocoon_snapshot_cleanup_debt: '1x30 0x70' },
    at: 70,
    before: 50,
  },
  VmflowNoBridge: {
    bad: { up: '1x60' },
    good: { 'vmflow_bridge_ready{part="running"}': '1x60' },
    at: 10,
    before: 4,
  },
  VmflowBridgeNotReady: {
    bad: {
      'vmflow_bridge_ready{part="watch",instance="a"}': '0x60',
      'vmflow_bridge_ready{part="watch",instance="b"}': '0x60',
    },
    good: {
      'vmflow_bridge_ready{part="watch",instance="a"}': '0x60',
      'vmflow_bridge_ready{part="watch",instance="b"}': '1x60',
    },
    labels: { part: 'watch' },
    at: 10,
    before: 4,
  },
  VmflowWebhookDown: {
    bad: { 'vmflow_bridge_ready{part="webhook"}': '0x60' },
    good: { 'vmflow_bridge_ready{part="webhook"}': '1x60' },
    at: 5,
    before: 1,
  },
  VmflowOperationsNotTakenUp: {
    bad: { vmflow_bridge_pending_operations: '3x60' },
    good: { vmflow_bridge_pending_operations: '3 3 3 0x60' },
    at: 15,
    before: 8,
  },
  VmflowTemporalUnreachable: {
    bad: { vmflow_bridge_temporal_reachable: '0x60' },
    good: { vmflow_bridge_temporal_reachable: '1x60' },
    at: 10,
    before: 4,
  },
  VmflowHistoryNotWritten: {
    bad: { vmflow_history_complete_timestamp_seconds: '60x60' },
    good: { vmflow_history_complete_timestamp_seconds: '0+60x60' },
    at: 20,
    before: 9,
  },
  VmflowCertificateEnds: {
    bad: { vmflow_bridge_certificate_end_timestamp_seconds: '172800x60' },
    good: { vmflow_bridge_certificate_end_timestamp_seconds: '2592000x60' },
    at: 15,
    before: 5,
  },
};

let rules: readonly Alert[];
let dir = '';
before(async () => {
  rules = await alerts();
  dir = await mkdtemp(join(tmpdir(), 'vmflow-alerts-'));
});
after(() => rm(dir, { recursive: true, force: true }));

const filled = (text: string, labels: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => labels[name] ?? '');

/** What promtool says of this alert on these series at this minute. */
async function verdict(name: string, series: Series, minute: number, labels?: Case['labels']): Promise<string> {
  const rule = rules.find(({ alert }) => alert === name);
  assert.ok(rule, name);
  const fires = labels && {
    exp_labels: { ...rule.labels, ...labels },
    exp_annotations: {
      summary: filled(rule.annotations.summary, labels),
      description: filled(rule.annotations.description, labels),
    },
  };
  const file = join(dir, `${name}.yaml`);
  await writeFile(
    file,
    stringify({
      rule_files: [alertsPath],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: Object.entries(series).map(([metric, values]) => ({ series: metric, values })),
          alert_rule_test: [
            { eval_time: `${minute}m`, alertname: name, exp_alerts: fires === undefined ? [] : [fires] },
          ],
        },
      ],
    }),
  );
  const { isGood, text } = await promtool('test', 'rules', file);
  return isGood ? 'as expected' : text;
}

test('Prometheus reads the rules', async () => {
  const { isGood, text } = await promtool('check', 'rules', alertsPath);
  assert.ok(isGood, text);
});

test('every rule is tested, and says what it means and which command helps', () => {
  assert.deepEqual(rules.map(({ alert }) => alert).sort(), Object.keys(cases).sort());
  for (const { alert, labels, annotations } of rules) {
    assert.match(annotations.description, /"(vmflow|npm run) [a-z]/, alert);
    assert.match(labels['severity'] ?? '', /^(critical|warning)$/, alert);
  }
});

for (const [name, { bad, good, at, before: early, labels = {} }] of Object.entries(cases))
  describe(name, () => {
    test('fires', async () => assert.equal(await verdict(name, bad, at, labels), 'as expected'));
    if (early !== undefined)
      test('not before its time', async () => assert.equal(await verdict(name, bad, early), 'as expected'));
    test('is quiet where all is well', async () => assert.equal(await verdict(name, good, at), 'as expected'));
  });
