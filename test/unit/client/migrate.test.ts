import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MigrateMainResult } from '../../../workflows/contracts/hibernate.ts';
import { noWorker, refusedBy, type FakeGateway } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';
import {
  digest,
  endAfter,
  execution,
  linkOf,
  lostStatus,
  migrateId,
  migrated,
  migrationExecution,
  migrationStatus,
  setDetails,
  setUid,
  withSet,
} from './set-builders.ts';

const on = ['web', '-n', 'shop'];
const link = linkOf(migrateId, 'run-1');

/** A set with an open migration. */
function open(status = migrationStatus()): FakeGateway {
  const gateway = withSet(setDetails({ target: 'node-b' }), migrationExecution);
  gateway.statusOf[migrateId] = status;
  return gateway;
}

/** A set whose last migration ended like this. */
function over(result: MigrateMainResult): FakeGateway {
  const gateway = withSet(setDetails(), {
    ...migrationExecution,
    ...{ state: 'completed', closedAt: '2026-03-01T13:18:00.000Z' },
  });
  gateway.statusOf[migrateId] = migrationStatus({ waitingFor: undefined as never, message: 'done' }, 'none');
  gateway.outcomesOf[migrateId] = { result };
  return gateway;
}

test('migrate list tells what Temporal recorded, without a worker, newest first and one row per migration', async () => {
  const gateway = withSet(setDetails());
  gateway.answers = {};
  gateway.polled = {};
  const at = (startedAt: string) => ({ startedAt, closedAt: '2026-03-01T13:18:00.000Z' });
  gateway.executions = [
    execution('migrate/shop/app', {
      ...at('2026-03-01T12:20:00.000Z'),
      state: 'completed',
      attributes: { OpStatus: 'migrated', OpSource: 'node-a', OpTarget: 'node-c', OpWaitingFor: 'slot' },
    }),
    execution(migrateId, {
      attributes: {
        ...{ OpStatus: 'Blocked', OpSource: 'node-a', OpTarget: 'node-b', OpWaitingFor: 'person' },
        ...{ OpConflict: 'SnapshotMissing', OpAtRisk: true },
      },
    }),
    execution(migrateId, { runId: 'run-0', state: 'continued' }),
    execution('migrate/test/web', { startedAt: '2026-03-01T12:00:00.000Z' }),
  ];
  const { exit, stdout } = await runCli(['migrate', 'list', '-n', 'shop'], { gateway });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      SET  STEP      FROM    TO      WAITING-FOR      AGE
      web  Blocked   node-a  node-b  SnapshotMissing  11 min
      app  migrated  node-a  node-c  -                1 h
    `),
  );
  const json = documentOf(
    await runCli(['migrations', 'list', '-A', '--active', '-o', 'json'], { gateway }),
    'SetMigrationList',
  );
  assert.equal((json['items'] as unknown[]).length, 2);
  assert.deepEqual(gateway.queries, [
    "OpKind = 'hibernate-migration'",
    "OpKind = 'hibernate-migration' AND ExecutionStatus = 'Running'",
  ]);
});

test('migrate get shows an open one with its steps, and its JSON validates', async () => {
  const { stdout } = await runCli(['migrate', 'get', ...on], { gateway: open() });
  assert.match(stdout, /^shop\/web {3}Snapshotting since 13:10 \(10 min\) {3}node-a → node-b\n/);
  assert.match(stdout, /● running {2}store memory and disks\n/);
  assert.match(stdout, new RegExp(`link {4}${link}\n$`));
  const document = documentOf(
    await runCli(['migrate', 'get', ...on, '-o', 'json'], { gateway: open() }),
    'SetMigration',
  );
  assert.deepEqual([document['step'], document['slot'], document['answeredBy']], ['Snapshotting', 'granted', 'worker']);
  const queued = open(migrationStatus({ slot: 'asked', queued: 2 }, 'Preparing'));
  assert.match((await runCli(['migrate', 'get', ...on], { gateway: queued })).stdout, /slot {4}2 requests are ahead\n/);
});

test('migrate get of one that is over shows how it ended and the hand-over', async () => {
  const { stdout } = await runCli(['migrate', 'get', ...on], { gateway: over(migrated) });
  assert.match(stdout, /^shop\/web {3}migrated since 13:18 \(2 min 0 s|^shop\/web {3}migrated since 13:18 \(2 min\)/);
  assert.match(
    stdout,
    new RegExp(
      `old VM {2}vm-1 on node-a, stored and removed\n {2}stored {2}${digest}\n {2}new VM {2}vm-9 on node-b, restored from it\n {2}paused {2}4.2 s\n`,
    ),
  );
  assert.match(stdout, /next {4}vmflow set get web -n shop\n/);
  const never = await runCli(['migrate', 'get', ...on], { gateway: withSet(setDetails()) });
  assert.equal(never.exit, 3);
  assert.match(never.stderr, /remembers no migration of set shop\/web\n {2}next {4}vmflow set get web -n shop\n/);
});

test('one that was called off before its VM was stored claims no hand-over', async () => {
  const runsOn: MigrateMainResult = {
    ...{ outcome: 'aborted', from: 'node-a', to: 'node-a', vmIdBefore: 'vm-1', vmIdAfter: 'vm-1' },
  };
  const { stdout } = await runCli(['migrate', 'get', ...on], { gateway: over(runsOn) });
  assert.match(stdout, /^shop\/web {3}aborted since/);
  assert.doesNotMatch(stdout, /stored and removed|restored from it/);
});

test('one that failed or was ended by hand says so', async () => {
  const gateway = withSet(setDetails(), { ...migrationExecution, state: 'terminated' });
  gateway.outcomesOf[migrateId] = { failure: { type: 'TerminatedFailure', message: 'by an operator' } };
  const { stdout } = await runCli(['migrate', 'get', ...on], { gateway });
  assert.match(stdout, /^shop\/web {3}Terminated since /);
  assert.match(stdout, /failure by an operator\n/);
});

const orders: readonly [string, readonly string[], string, object][] = [
  ['retarget', ['--to', 'node-c'], 'retarget/node-c/7', { nodeName: 'node-c' }],
  ['retarget', ['--to', ''], 'retarget//7', { nodeName: '' }],
  ['abort', ['--reason', 'wrong node'], 'abort/7', { reason: 'wrong node' }],
  ['retry', [], 'retry/7', {}],
  ['acknowledge-loss', ['--yes', '--uid', setUid], 'acknowledgeLoss/7', { setUid }],
];
for (const [verb, flags, updateId, body] of orders) {
  const argv = ['migrate', verb, ...on, ...flags];

  test(`migrate ${verb} ${flags[0] ?? ''} tells the open migration who asks, and says what it answers`, async () => {
    const gateway = open();
    gateway.updateAnswer = 'the set now asks for something';
    const { exit, stdout } = await runCli(argv, { gateway });
    assert.equal(exit, 0);
    assert.equal(stdout, 'shop/web: the set now asks for something\n  watch   vmflow set watch web -n shop\n');
    const name = updateId.split('/')[0];
    assert.deepEqual(gateway.updates, [
      { target: { workflowId: migrateId, runId: 'run-1' }, update: { name, updateId, body: { by: 'op', ...body } } },
    ]);
    documentOf(await runCli([...argv, '-o', 'json'], { gateway: open() }), 'MessageSent');
  });

  test(`migrate ${verb} ${flags[0] ?? ''} without an open migration is refused with what to do`, async () => {
    for (const gateway of [withSet(setDetails()), over(migrated)]) {
      const said = errorOf(await runCli([...argv, '-o', 'json'], { gateway }));
      assert.deepEqual([said.code, said.reason, gateway.updates.length], [5, 'NO_OPEN_MIGRATION', 0]);
      assert.equal(said.hint, 'vmflow set get web -n shop\nvmflow move set/web -n shop --to NODE');
    }
  });

  test(`migrate ${verb} ${flags[0] ?? ''} --dry-run sends nothing`, async () => {
    const gateway = open();
    const { exit, stdout } = await runCli([...argv, '--dry-run'], { gateway });
    assert.deepEqual([exit, gateway.updates.length], [0, 0]);
    assert.match(stdout, new RegExp(`^${verb} would do: .*\\(dry run, nothing was sent\\)\n$`));
  });

  test(`migrate ${verb} ${flags[0] ?? ''} that the migration refuses gives 5, without an answer 6`, async () => {
    const gateway = open();
    gateway.updateAnswer = refusedBy('ORDER_REFUSED', 'the VM is wanted there already');
    assert.deepEqual(errorOf(await runCli([...argv, '-o', 'json'], { gateway })).reason, 'ORDER_REFUSED');
    gateway.updateAnswer = noWorker('send');
    assert.equal((await runCli(argv, { gateway })).exit, 6);
  });
}

test('a target that is wanted already is no change; without one it is wrong usage', async () => {
  const gateway = open();
  const same = await runCli(['migrate', 'retarget', ...on, '--to', 'node-b'], { gateway });
  assert.deepEqual([same.exit, gateway.updates.length], [0, 0]);
  assert.match(same.stdout, /^shop\/web: it goes to node-b already\n/);
  const json = await runCli(['migrate', 'retarget', ...on, '--to', 'node-b', '-o', 'json'], { gateway });
  assert.match(json.stdout, /"kind": "MessageSent"/);
  assert.equal((await runCli(['migrate', 'retarget', ...on], { gateway })).exit, 2);
});

test('the loss of a VM is never assumed: the UID of the set is shown and has to be typed or given', async () => {
  const loss = ['migrate', 'acknowledge-loss', ...on];
  const gateway = open(lostStatus);
  const words = new RegExp(
    `memory and disks of the main VM of shop/web \\(set UID ${setUid}\\) are given up, a fresh VM boots from base:1`,
  );
  for (const flags of [[], ['--yes'], ['--uid', setUid]]) {
    const { exit, stderr } = await runCli([...loss, ...flags], { gateway });
    assert.equal(exit, 2, flags.join(' '));
    assert.match(stderr, words);
    assert.match(stderr, new RegExp(`next {4}add --yes --uid ${setUid}\n`));
  }
  const other = await runCli([...loss, '--yes', '--uid', 'another'], { gateway });
  assert.equal(other.exit, 2);
  assert.match(other.stderr, /--uid "another" is not the UID of the set/);
  const asked: string[] = [];
  const answering = (answer: string) => ({
    gateway,
    isTerminal: true,
    runtime: { ask: (question: string) => (asked.push(question), Promise.resolve(answer)) },
  });
  assert.equal((await runCli(loss, answering('web'))).exit, 2);
  assert.deepEqual(gateway.updates, []);
  assert.equal((await runCli(loss, answering(`${setUid}\n`))).exit, 0);
  assert.equal(gateway.updates.length, 1);
  assert.match(asked[0] ?? '', words);
  assert.match(asked[0] ?? '', new RegExp(`Type the UID of the set to go on \\(${setUid}\\): $`));
});

const waits: readonly [string, readonly string[], MigrateMainResult['outcome'], number][] = [
  ['retarget', ['--to', 'node-c'], 'migrated', 0],
  ['retry', [], 'migrated', 0],
  ['retry', [], 'aborted', 8],
  ['retry', [], 'parked', 8],
  ['abort', [], 'aborted', 0],
  ['abort', [], 'superseded', 0],
  ['abort', [], 'migrated', 8],
  ['acknowledge-loss', ['--yes', '--uid', setUid], 'superseded', 0],
  ['acknowledge-loss', ['--yes', '--uid', setUid], 'setDeleted', 8],
];
for (const [verb, flags, outcome, code] of waits)
  test(`migrate ${verb} --wait of a migration that ends ${outcome} gives ${code}`, async () => {
    const gateway = open();
    gateway.ends[migrateId] = [{ result: { outcome } }];
    const { exit, stdout } = await runCli(['migrate', verb, ...on, ...flags, '--wait'], { gateway });
    assert.equal(exit, code);
    assert.match(stdout, /^shop\/web /);
  });

test('--wait: the conflict that is answered is no news, the next one ends it with 5', async () => {
  const gateway = open(lostStatus);
  const again = { ...lostStatus, conflict: { ...lostStatus.conflict!, since: '2026-03-01T13:19:00.000Z' } };
  endAfter(gateway, migrateId, {
    watched: migrateId,
    statuses: [lostStatus, lostStatus, lostStatus, again],
    outcome: { result: migrated },
  });
  const { exit, stdout } = await runCli(['migrate', 'retry', ...on, '--wait'], { gateway });
  assert.equal(exit, 5);
  assert.match(stdout, /CONFLICT SnapshotMissing/);
  const failed = open();
  failed.ends[migrateId] = [{ failure: { type: 'TerminatedFailure', message: 'by an operator' } }];
  assert.equal((await runCli(['migrate', 'retry', ...on, '--wait'], { gateway: failed })).exit, 1);
  assert.equal((await runCli(['migrate', 'retry', ...on, '--wait', '--timeout', '1m'], { gateway: open() })).exit, 124);
});
