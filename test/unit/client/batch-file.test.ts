import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApplyBatch } from '../../../workflows/contracts/batch.ts';
import type { FieldProblem } from '../../../workflows/contracts/failures.ts';
import { CliError } from '../../../client/errors.ts';
import {
  batchExecution,
  batchPlan,
  batchView,
  night,
  nightFile,
  plannedVm,
  withBatches,
  withFile,
} from './batch-builders.ts';
import { noWorker, type FakeGateway } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';

const window = {
  ...{ name: 'sat', start: '2026-03-28T21:00:00.000Z', end: '2026-03-29T02:00:00.000Z', capacity: 2 },
  ...{ vms: 2, longestMs: 6_600_000, notes: ['2 go 1 at a time (constraint "web")'] },
};

function withPlan(plan: ReturnType<typeof batchPlan> | undefined, problems: readonly FieldProblem[] = []): FakeGateway {
  const gateway = withBatches();
  gateway.answers = { 'batch-plan': { what: 'batch-plan', problems, ...(plan === undefined ? {} : { plan }) } };
  return gateway;
}

/** A refusal of a workflow that names fields. */
function refusal(problems: readonly FieldProblem[]): CliError {
  const cause = Object.assign(new Error('refused'), { details: [{ code: 'BATCH_INVALID', problems }] });
  return new CliError({ exit: 'usage', reason: 'BATCH_INVALID', message: 'refused', cause });
}

describe('batch plan', () => {
  test('shows each window in its own time and in UTC, and what is in it', async () => {
    const gateway = withPlan(batchPlan([plannedVm(), plannedVm({ name: 'web-04' })], { windows: [window] }));
    const { exit, stdout, stderr } = await withFile(['batch', 'plan'], nightFile, gateway);
    assert.equal(exit, 0);
    assert.equal(stderr, '2 VMs, all planned\n');
    assert.equal(
      stdout,
      block(`
        WINDOW                                   UTC                             VMS  FREE  LONGEST     NOTE
        sat Sat 2026-03-28 22:00 CET–04:00 CEST  Sat 2026-03-28 21:00–02:00 UTC  2    0     1 h 50 min  2 go 1 at a time (constraint "web")
      `),
    );
    assert.equal(gateway.started.length, 0);
  });

  const troubled = batchPlan(
    [
      plannedVm({ name: 'db-1', state: 'does-not-fit', why: 'needs 5 h 1 min, the longest window has 4 h 0 min left' }),
      plannedVm({ name: 'app-7', state: 'blocked', why: 'no NIC has an IPv4 address' }),
      plannedVm({ name: 'app-9', state: 'taken', why: 'batch b2 has it already (Idle)' }),
      plannedVm({ name: 'app-8', state: 'no-place', why: 'every window is full' }),
      plannedVm(),
    ],
    { warnings: ['2 VMs of source vc1 could not be read'], truncated: true },
  );

  test("says what can't be planned and why, and ends with 5", async () => {
    const { exit, stdout, stderr } = await withFile(['batch', 'plan'], nightFile, withPlan(troubled));
    assert.equal(exit, 5);
    assert.equal(
      stdout,
      block(`
        WINDOW         UTC  VMS  FREE  LONGEST  NOTE
        at any time    -    1    -     -        -
        no place left  -    1    -     -        app-8: every window is full
        does not fit   -    1    -     -        db-1: needs 5 h 1 min, the longest window has 4 h 0 min left
        blocked        -    1    -     -        app-7: no NIC has an IPv4 address
        taken          -    1    -     -        app-9: batch b2 has it already (Idle)
      `),
    );
    assert.match(stderr, /warning: 2 VMs of source vc1 could not be read\n/);
    assert.match(stderr, /only the first of them/);
    assert.match(
      stderr,
      /exit 5: 4 of 5 VMs can't be planned\. Next: vmflow batch plan -f night\.yaml -o json \| jq \.blocked\n/,
    );
  });

  test('as JSON the trouble is apart from what is planned', async () => {
    const document = documentOf(
      await withFile(['batch', 'plan', '-o', 'json'], nightFile, withPlan(troubled)),
      'BatchPlan',
    );
    assert.deepEqual(
      [document.blocked, document.planned].map((some) => (some as { name: string }[]).map(({ name }) => name)),
      [['db-1', 'app-7', 'app-9', 'app-8'], ['web-03']],
    );
  });

  test("a file that can't be taken gives 2 with every mistake and its line, and asks nobody", async () => {
    const gateway = withPlan(undefined);
    const text = nightFile.replace('22:00', '25:00').replace('capacity', 'capaciti');
    const { exit, stdout, stderr } = await withFile(['batch', 'plan'], text, gateway);
    assert.equal(exit, 2);
    assert.equal(stdout, '');
    assert.equal(
      stderr,
      block(`
        error: night.yaml can't be taken: there are 2 mistakes in it
          why     night.yaml:5:12  migration_windows[0].start: "2026-03-28 25:00 Europe/Berlin" is no time with a zone: write 2026-03-28T22:00:00+01:00, or 2026-03-28 22:00 Europe/Berlin
                  night.yaml:7:15  migration_windows[0].config.capaciti: is no field that is known here
          state   nothing was started or changed
      `),
    );
    assert.deepEqual(gateway.lookups, []);
    assert.equal(errorOf(await withFile(['batch', 'plan', '-o', 'json'], text, gateway)).reason, 'BATCH_FILE');
  });

  test('a mistake within an expression is shown where it stands in the file', async () => {
    const gateway = withPlan(undefined, [
      { path: 'include_expression', message: 'there is no name "sorce"', line: 1, column: 8 },
      { path: 'migration_windows[0]', message: 'something else' },
    ]);
    const { exit, stderr } = await withFile(['batch', 'plan'], nightFile, gateway);
    assert.equal(exit, 2);
    assert.match(stderr, /night\.yaml:2:28 {2}include_expression: there is no name "sorce"\n/);
    assert.match(stderr, /night\.yaml:4:5 {2}migration_windows\[0\]: something else\n/);
  });

  test('a window that is over may stay in a batch that had it', async () => {
    const text = nightFile.replace('2026-03-28', '2026-02-20').replace('2026-03-29', '2026-02-21');
    const gateway = withPlan(batchPlan([plannedVm()]));
    assert.equal((await withFile(['batch', 'plan'], text, gateway)).exit, 2);
    const spec = gateway.lookups.length;
    assert.equal(spec, 0);
    const { parseBatchFile } = await import('../../../activities/schemas/batch-file.ts');
    const file = parseBatchFile(text, new Date('2026-02-01T00:00:00Z'));
    assert.ok('spec' in file);
    gateway.statusOf = { [night]: { spec: file.spec, revision: 1, status: 'Running' } };
    assert.equal((await withFile(['batch', 'plan'], text, gateway)).exit, 0);
  });

  test('a file without a target is for the first one that the workers know', async () => {
    const gateway = withPlan(batchPlan([plannedVm()]));
    const endpoint = (name: string, kind: 'target' | 'vcenter') => ({
      name,
      kind,
      url: 'https://x',
      user: 'u',
      tls: 'ca',
    });
    gateway.answers.endpoints = {
      what: 'endpoints',
      endpoints: [endpoint('vc1', 'vcenter'), endpoint('target/vc1', 'target'), endpoint('tgt', 'target')],
    };
    const text = nightFile.replace(/defaults:[^]*/, '');
    const { stderr } = await withFile(['batch', 'plan'], text, gateway);
    assert.match(stderr, /taken to be for vc1/);
    const asked = gateway.lookups.find(({ what }) => what === 'batch-plan');
    assert.equal(asked?.what === 'batch-plan' && asked.spec.defaults.placement.target, 'vc1');
  });

  test("without a file, or one that isn't there, it is wrong usage", async () => {
    assert.match((await runCli(['batch', 'plan'])).stderr, /which file\? give -f FILE/);
    const missing = await runCli(['batch', 'plan', '-f', 'none.yaml']);
    assert.equal(missing.exit, 2);
    assert.match(missing.stderr, /can't read none\.yaml: ENOENT/);
  });

  test('without a worker it ends with 6', async () => {
    const gateway = withBatches();
    assert.equal((await withFile(['batch', 'plan'], nightFile, gateway)).exit, 6);
  });
});

describe('batch apply', () => {
  test('makes the batch with what the file says', async () => {
    const gateway = withBatches();
    gateway.startAnswer = { members: 22, result: 'created', etag: '1' };
    const { exit, stdout } = await withFile(['batch', 'apply'], nightFile, gateway);
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      block(`
        batch night-1 created: 22 VMs
          start   vmflow batch start night-1
          look    vmflow batch get night-1
          link    http://localhost:8233/namespaces/vmflow/workflows/batch%2Fnight-1/run-1/history
      `),
    );
    const [{ start, update } = assert.fail()] = gateway.started;
    assert.deepEqual([start.type, start.workflowId, start.args], ['batch', night, [{ name: 'night-1' }]]);
    const body = update?.body as ApplyBatch;
    assert.deepEqual([update?.name, body.by, body.spec.name], ['apply', 'op', 'night-1']);
    assert.equal(body.spec.migration_windows[0]?.start, '2026-03-28T21:00:00.000Z');
  });

  test('the same file again is unchanged and gives 0', async () => {
    const gateway = withBatches();
    gateway.startAnswer = { members: 22, result: 'unchanged', etag: '1' };
    const result = await withFile(['batch', 'apply', '-o', 'json'], nightFile, gateway);
    assert.equal(result.exit, 0);
    assert.equal(documentOf(result, 'BatchApplied').result, 'unchanged');
  });

  test('what the workflow refuses about fields is shown with their lines', async () => {
    const gateway = withBatches();
    gateway.startAnswer = refusal([{ path: 'include_expression', message: 'is no condition', line: 1, column: 1 }]);
    const { exit, stderr } = await withFile(['batch', 'apply'], nightFile, gateway);
    assert.equal(exit, 2);
    assert.match(stderr, /night\.yaml:2:21 {2}include_expression: is no condition/);
    gateway.startAnswer = new CliError({ exit: 'refused', reason: 'WRONG_STATUS', message: 'reset is under way' });
    const other = await withFile(['batch', 'apply'], nightFile, gateway);
    assert.deepEqual([other.exit, other.stderr], [5, 'error: reset is under way\n']);
  });

  test('--dry-run is the plan', async () => {
    const gateway = withPlan(batchPlan([plannedVm()]));
    assert.equal((await withFile(['batch', 'apply', '--dry-run'], nightFile, gateway)).exit, 0);
    assert.deepEqual([gateway.started.length, gateway.lookups[0]?.what], [0, 'batch-plan']);
  });
});

describe('batch edit', () => {
  test('changes a batch that is there, and only as it was seen', async () => {
    const gateway = withBatches(batchExecution());
    gateway.statusOf = { [night]: batchView() };
    gateway.updateAnswer = { members: 22, result: 'changed', etag: '4' };
    const { exit, stdout } = await withFile(['batch', 'edit', '--etag', '3'], nightFile, gateway);
    assert.equal(exit, 0);
    assert.match(stdout, /^batch night-1 changed: 22 VMs\n/);
    const [{ target, update } = assert.fail()] = gateway.updates;
    assert.deepEqual([target.workflowId, update.name], [night, 'edit']);
    assert.equal((update.body as { etag?: string }).etag, '3');
  });

  test("one that isn't there gives 3, one that was changed meanwhile 5", async () => {
    const gateway = withBatches();
    const missing = await withFile(['batch', 'edit', '-o', 'json'], nightFile, gateway);
    assert.deepEqual([missing.exit, errorOf(missing).reason], [3, 'BATCH_NOT_FOUND']);
    const there = withBatches(batchExecution());
    there.updateAnswer = new CliError({
      exit: 'refused',
      reason: 'ETAG',
      message: 'batch night-1 was changed meanwhile',
    });
    assert.equal((await withFile(['batch', 'edit'], nightFile, there)).exit, 5);
  });

  test('without a worker the update is not acknowledged: 6', async () => {
    const gateway = withBatches(batchExecution());
    gateway.updateAnswer = noWorker('send "edit" to batch/night-1');
    assert.equal((await withFile(['batch', 'edit'], nightFile, gateway)).exit, 6);
  });
});
