import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { workflowBundlePath } from '../../workers/bundle.ts';
import { pathOf, recordedHistories, type Recorded } from './histories.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

const recorded = await recordedHistories();

function* asReplayInput(histories: readonly Recorded[]): Generator<{ workflowId: string; history: unknown }> {
  for (const { workflowId, history } of histories) yield { workflowId, history };
}

test('template/46 every recorded history replays on the current code', async () => {
  assert.ok(recorded.length > 0, 'there are recorded histories');
  const codePath = await workflowBundlePath();
  const failures: string[] = [];
  let index = 0;
  for await (const result of Worker.runReplayHistories({ workflowBundle: { codePath } }, asReplayInput(recorded))) {
    const name = recorded[index++]?.name;
    if (result.error !== undefined) failures.push(`${String(name)}: ${result.error.message}`);
  }
  assert.deepEqual(failures, []);
  assert.equal(index, recorded.length);
});

test('every activity, timer and child of the recorded histories says what it is for', () => {
  const labelled = new Set([
    'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED',
    'EVENT_TYPE_TIMER_STARTED',
    'EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED',
  ]);
  const bare = recorded.flatMap(({ name, history }) =>
    history.events
      .filter((event) => labelled.has(event.eventType) && event.userMetadata?.summary === undefined)
      .map((event) => `${name} event ${event.eventId}`),
  );
  assert.deepEqual(bare, []);
});

/** Paths that must be among the recorded ones: words that appear in this order. */
const wantedPaths: Readonly<Record<string, readonly string[]>> = {
  'template/1 happy path': [
    'templateSwap',
    'ensureSource',
    'importToTemp',
    'finalizeTemp',
    'swapNames',
    'verifyProd',
    'destroyRollback',
    'workflow_execution_completed',
  ],
  'template/2 no-op': ['templateSwap', 'preflight', 'observe', 'workflow_execution_completed'],
  'template/4 create': ['templateSwap', 'importToTemp', 'promote', 'workflow_execution_completed'],
  'template/6 restore': ['templateSwap', 'restore', 'swapNames', 'workflow_execution_completed'],
  'template/19 conflict and resolve': [
    'templateSwap',
    'activity_task_failed',
    'update resolve',
    'workflow_execution_completed',
  ],
  'template/34 conflict and abort': ['templateSwap', 'update resolve', 'workflow_execution_failed'],
  'template/35 retarget': ['templateSwap', 'update retarget', 'swapNames', 'workflow_execution_completed'],
  'template/36 cancelled upload': [
    'templateSwap',
    'importToTemp',
    'workflow_execution_cancel_requested',
    'workflow_execution_canceled',
  ],
  'template/37 fleet': ['templateSwapFleet', 'child_workflow_execution_completed', 'workflow_execution_completed'],
  'a VM operation without rivals': [
    'vmOperation',
    'pin',
    'sendSignal',
    'awaitOutcome',
    'finishVmop',
    'workflow_execution_completed',
  ],
  'a VM operation that takes over': ['vmOperation', 'takeOver', 'pin', 'sendSignal', 'awaitOutcome', 'finishVmop'],
  'a VM operation that is taken over': [
    'vmOperation',
    'awaitOutcome',
    'workflow_execution_signaled',
    'workflow_execution_completed',
  ],
  'a migration': ['vmOperation', 'awaitMigratable', 'pin', 'sendSignal', 'awaitOutcome', 'finishVmop'],
  'a VM operation that is refused': ['vmOperation', 'finishVmop', 'workflow_execution_completed'],
  'a VM operation that is deleted': ['vmOperation', 'workflow_execution_signaled', 'releaseVmop'],
  'a coordinator with submissions': ['vmCoordinator', 'listActiveVmops', 'update submit', 'intake'],
  'a coordinator with requests': ['vmCoordinator', 'update request', 'lookAtVm', 'createVmop', 'intake'],
  'a sweep': ['vmopSweep', 'sweepVmops', 'workflow_execution_completed'],
  'hibernate/AS-32 a straight move': [
    'migrateMain',
    'callGate',
    'keepRecord',
    'setHibernate',
    'waitForChange',
    'keepRecord',
    'deletePod',
    'createMainPod',
    'waitForChange',
    'dropTag',
    'keepRecord',
    'workflow_execution_completed',
  ],
  'hibernate/AS-32 a move that is taken back before the Pod is gone': [
    'migrateMain',
    'setHibernate',
    'clearHibernate',
    'dropTag',
    'workflow_execution_completed',
  ],
  'hibernate/AS-32 a move to another node while it is restored': [
    'migrateMain',
    'createMainPod',
    'dropTag',
    'setHibernate',
    'deletePod',
    'createMainPod',
    'dropTag',
    'workflow_execution_completed',
  ],
  'a set': ['cocoonSet', 'lookAtSet', 'changeSet', 'waitForSetChange', 'reportSet', 'workflow_execution_completed'],
  'a gate': ['migrationGate', 'listMigrations', 'update slot'],
  'a hibernation': [
    'hibernation',
    'changeHibernation',
    'waitForHibernationChange',
    'changeHibernation',
    'workflow_execution_completed',
  ],
  'a request to move a set': ['requestMigration', 'planMigration', 'setTarget', 'awaitMigrated'],
  'a drain': ['drainNode', 'beginDrain', 'cordon', 'lookAtDrain', 'workflow_execution_completed'],
  'template/44 undo': [
    'templateSwap',
    'timer_started',
    'update undo',
    'swapNames',
    'destroyTemp',
    'workflow_execution_completed',
  ],
};

for (const [title, words] of Object.entries(wantedPaths)) {
  test(`${title} is among the recorded histories`, () => {
    assert.ok(
      recorded.some(({ history }) => isSubsequence(words, pathOf(history.events))),
      words.join(' → '),
    );
  });
}

function isSubsequence(words: readonly string[], path: readonly string[]): boolean {
  let next = 0;
  for (const word of path) if (word === words[next]) next++;
  return next === words.length;
}
