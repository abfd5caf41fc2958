import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestMigrationResult } from '../../../workflows/contracts/hibernate.ts';
import { CliError } from '../../../client/errors.ts';
import { omit } from '../../../client/objects.ts';
import type { FakeGateway } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';
import {
  digest,
  endAfter,
  execution,
  linkOf,
  lost,
  lostStatus,
  migrateId,
  migrated,
  migrationExecution,
  migrationStatus,
  requested,
  requestId,
  setDetails,
  withSet,
} from './set-builders.ts';
import { vmInfo } from './vm-builders.ts';

const move = ['move', 'web', '-n', 'shop', '--to', 'node-b'];

/** A request that is open as long as nobody says otherwise. */
function asking(...more: Parameters<typeof execution>[]): FakeGateway {
  return withSet(setDetails(), execution(requestId), ...more.map((one) => execution(...one)));
}

test('a move of a set starts its request, says so, and doesn’t wait', async () => {
  const gateway = asking();
  const { exit, stdout, stderr } = await runCli([...move, '--reason', 'patching'], { gateway });
  assert.deepEqual([exit, stderr], [0, '']);
  assert.equal(
    stdout,
    block(`
      shop/web: move from node-a to node-b requested
        watch   vmflow set watch web -n shop
        link    ${linkOf(migrateId)}
    `),
  );
  const [{ start } = assert.fail()] = gateway.started;
  assert.deepEqual([start.type, start.workflowId], ['requestMigration', requestId]);
  assert.deepEqual(start.args, [
    { namespace: 'shop', name: 'web', requestId: 'to-node-b', by: 'op', to: 'node-b', reason: 'patching' },
  ]);
  assert.deepEqual(
    start.attributes.map(({ key, value }) => [key.name, value]),
    [
      ['OpKind', 'migration-request'],
      ['OpVm', 'shop/web'],
      ['OpTarget', 'node-b'],
    ],
  );
});

test('without --to it is any other node; the same wish is the same request, which is joined', async () => {
  const gateway = withSet(setDetails(), execution('migrate-request/shop/web/anywhere'));
  gateway.isOpenAlready = true;
  const { exit, stdout } = await runCli(['move', 'set/web', '-n', 'shop'], { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /^shop\/web: a move is already in progress\n/);
  assert.deepEqual(
    gateway.started.map(({ start }) => start.workflowId),
    ['migrate-request/shop/web/anywhere'],
  );
});

test('--wait tells each step and what is waited for, and ends with the proof of the hand-over', async () => {
  const gateway = withSet(setDetails(), execution(requestId), migrationExecution);
  const waiting = {
    ...{ reason: 'WaitingForSlot', message: 'other migrations go first', waitingFor: 'slot' as const },
    deadline: undefined as never,
  };
  endAfter(gateway, requestId, {
    watched: migrateId,
    statuses: [migrationStatus(waiting, 'Preparing'), migrationStatus(), migrationStatus({}, 'Restoring')],
    outcome: requested(),
  });
  const { exit, stdout, stderr } = await runCli([...move, '--wait'], { gateway });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      shop/web: moved from node-a to node-b
        old VM  vm-1 on node-a, stored and removed
        stored  ${digest}
        new VM  vm-9 on node-b, restored from it
        paused  4.2 s
        link    ${linkOf(migrateId)}
    `),
  );
  const lines = stderr.trimEnd().split('\n');
  assert.ok(lines.every((line) => line.startsWith('shop/web: ')));
  assert.match(stderr, /running check the target, wait for a slot\n/);
  assert.match(
    stderr,
    /waiting for a free slot \(WaitingForSlot: other migrations go first\) since 13:10 \(10 min\), no deadline; ends with: vmflow migrate abort web -n shop\n/,
  );
  assert.match(stderr, /done remove the old Pod\n(?:.*\n)*.*running restore the VM\n/);
  assert.equal(new Set(lines).size, lines.length, 'a line is said twice');
});

test('the digest that was seen on the way counts where the result has none', async () => {
  const gateway = withSet(setDetails(), execution(requestId), migrationExecution);
  const without = omit(migrated, 'snapshotDigest');
  endAfter(gateway, requestId, {
    watched: migrateId,
    statuses: [
      migrationStatus({ snapshot: { state: 'present', digest } }),
      migrationStatus({ snapshot: { state: 'absent' } }),
    ],
    outcome: requested({ migration: without }),
  });
  const document = documentOf(await runCli([...move, '--wait', '-o', 'json'], { gateway }), 'MigrationRequestList');
  assert.deepEqual(document['items'], [
    {
      ...{ namespace: 'shop', set: 'web', id: migrateId, from: 'node-a', to: 'node-b', link: linkOf(migrateId) },
      handover: { vmIdBefore: 'vm-1', vmIdAfter: 'vm-9', snapshotDigest: digest, downtimeMs: 4_230 },
      ...{ result: 'migrated', message: 'the main VM runs on node-b' },
    },
  ]);
});

const ends: readonly [RequestMigrationResult['outcome'], number, RegExp][] = [
  ['already-there', 0, /^shop\/web: already-there: why\n$/],
  ['refused', 5, /^shop\/web: refused: why\n/],
  ['changed', 8, /changed: why\n/],
  ['aborted', 8, /aborted: why\n/],
  ['setDeleted', 8, /setDeleted: why\n/],
  ['parked', 8, /parked: why\n {2}watch {3}vmflow set watch web -n shop\n/],
];
for (const [outcome, code, text] of ends) {
  for (const wait of [[], ['--wait']]) {
    test(`a move ${wait.join('')} that ends ${outcome} at once gives ${code}`, async () => {
      const gateway = withSet(setDetails(), execution(requestId, { state: 'completed' }));
      gateway.outcomesOf[requestId] = { result: { outcome, message: 'why' } satisfies RequestMigrationResult };
      const { exit, stdout } = await runCli([...move, ...wait], { gateway });
      assert.equal(exit, code);
      assert.match(stdout, text);
    });
    test(`a move that is waited for and ends ${outcome}${wait.join(' ')} gives ${code}`, async () => {
      const gateway = asking();
      gateway.ends[requestId] = [{ result: { outcome, message: 'why' } }];
      assert.equal((await runCli([...move, '--wait'], { gateway })).exit, code);
    });
  }
}

const failures: readonly [string, number][] = [
  ['NotFound', 3],
  ['InvalidRequest', 2],
  ['Forbidden', 4],
  ['Unavailable', 7],
  ['TerminatedFailure', 1],
];
for (const [type, code] of failures) {
  test(`a request that fails with ${type} gives ${code}, says of what, and what to do next`, async () => {
    const gateway = withSet(setDetails(), execution(requestId, { state: 'failed' }));
    const details = { code: 'TargetNotFound', next: 'vmflow node list' };
    gateway.outcomesOf[requestId] = { failure: { type, message: 'there is no node "node-b"', details } };
    const said = errorOf(await runCli([...move, '-o', 'json'], { gateway }));
    assert.deepEqual([said.code, said.reason, said.hint], [code, 'TargetNotFound', 'vmflow node list']);
    assert.equal(said.message, 'can\'t move set shop/web: there is no node "node-b"');
  });
}

test('what only a person can decide ends a wait with 5 and shows the ways out as commands', async () => {
  const gateway = withSet(setDetails(), execution(requestId), migrationExecution);
  gateway.statusOf[migrateId] = lostStatus;
  const { exit, stdout } = await runCli([...move, '--wait'], { gateway });
  assert.equal(exit, 5);
  assert.equal(
    stdout,
    block(`
      shop/web: needs a person, SnapshotMissing: ${lost.what}
        options vmflow migrate retry web -n shop              looks again
                vmflow migrate acknowledge-loss web -n shop   gives up the state of the VM
        watch   vmflow set watch web -n shop
        link    ${linkOf(migrateId)}
    `),
  );
});

test('--timeout gives 124, Ctrl-C 130, and both say how to come back', async () => {
  const late = await runCli([...move, '--wait', '--timeout', '5m'], { gateway: asking() });
  assert.equal(late.exit, 124);
  assert.match(late.stderr, /--timeout reached, the work goes on: vmflow set watch web -n shop\n/);
  const stop = new AbortController();
  stop.abort();
  const onInterrupt = (): { signal: AbortSignal; dispose: () => void } => ({
    signal: stop.signal,
    dispose: () => undefined,
  });
  const left = await runCli([...move, '--wait'], { gateway: asking(), runtime: { onInterrupt } });
  assert.equal(left.exit, 130);
  assert.match(
    left.stderr,
    /the work goes on\n {2}watch {3}vmflow set watch web -n shop\n {2}abort {3}vmflow migrate abort web -n shop\n/,
  );
});

test('--wait=STEP ends at that step', async () => {
  const gateway = withSet(setDetails(), execution(requestId), migrationExecution);
  gateway.statusOf[migrateId] = migrationStatus({}, 'Restoring');
  const { exit, stdout } = await runCli([...move, '--wait=Snapshotting'], { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /: reached\n/);
});

test('a migration that is over is not taken for the one that is waited for', async () => {
  const gateway = withSet(setDetails(), execution(requestId), { ...migrationExecution, state: 'completed' });
  gateway.statusOf[migrateId] = lostStatus;
  const { exit, stderr } = await runCli([...move, '--wait', '--timeout', '1m'], { gateway });
  assert.equal(exit, 124);
  assert.doesNotMatch(stderr, /running|done/);
});

test('a Temporal that is away for a moment is waited for', async () => {
  const gateway = asking();
  const away = new CliError({ exit: 'unreachable', reason: 'TEMPORAL_UNREACHABLE', message: 'away' });
  gateway.ends[requestId] = [away, away, requested()];
  const { exit, stderr } = await runCli([...move, '--wait'], { gateway });
  assert.equal(exit, 0);
  assert.equal(stderr.match(/lost contact with Temporal/g)?.length, 1);
});

test('a dry run is a request of its own that says what it would do, and asks nothing', async () => {
  const id = 'migrate-request/shop/web/dry-run-r4nd0m';
  const gateway = withSet(setDetails(), execution(id, { state: 'completed' }));
  const message = 'would move the main VM from node-a to node-b';
  gateway.outcomesOf[id] = { result: { outcome: 'would-migrate', from: 'node-a', to: 'node-b', message } };
  const { exit, stdout } = await runCli([...move, '--dry-run', '--wait'], { gateway });
  assert.equal(exit, 0);
  assert.equal(stdout, `shop/web: would move from node-a to node-b (dry run, nothing was changed): ${message}\n`);
  assert.equal((gateway.started[0]?.start.args[0] as { dryRun?: boolean }).dryRun, true);
  const silent = withSet(setDetails(), execution(id));
  assert.equal((await runCli([...move, '--dry-run'], { gateway: silent })).exit, 6);
});

test('names: the kind is found out, vm/ and set/ say it, and both of one name are never chosen among', async () => {
  const both = withSet(setDetails());
  both.answers.named = { what: 'named', vms: [vmInfo({ name: 'web' })], sets: [setDetails()], pods: [] };
  const unsure = await runCli(move, { gateway: both });
  assert.equal(unsure.exit, 3);
  assert.match(unsure.stderr, /"web" can mean 2 things\n {2}why {5}vm\/shop\/web .*\n {10}set\/shop\/web /);
  assert.deepEqual(both.started, []);
  for (const [text, kinds, namespace] of [
    ['web', ['vm', 'set'], undefined],
    ['set/web', ['set'], undefined],
    ['set/shop/web', ['set'], 'shop'],
    ['shop/web', ['vm', 'set'], 'shop'],
  ] as const) {
    const gateway = asking();
    assert.equal((await runCli(['move', text, '--to', 'node-b'], { gateway })).exit, 0, text);
    assert.deepEqual(gateway.lookups, [
      { what: 'named', name: 'web', kinds, ...(namespace === undefined ? {} : { namespace }) },
    ]);
  }
  const none = withSet(setDetails());
  none.answers.named = { what: 'named', vms: [], sets: [], pods: [] };
  const said = errorOf(await runCli([...move, '-o', 'json'], { gateway: none }));
  assert.deepEqual([said.code, said.reason], [3, 'NAME_NOT_FOUND']);
  assert.equal(said.hint, 'vmflow vm list -n shop\nvmflow set list -n shop');
});

test('who says vm/ is not asked which kind it is, nor who picks VMs', async () => {
  for (const argv of [
    ['move', 'vm/db-0', '-n', 'shop'],
    ['move', '--all', '-n', 'shop', '--yes'],
  ]) {
    const gateway = withSet(setDetails());
    gateway.startAnswer = { outcome: 'already-so', phase: 'Running' };
    gateway.answers.vms = { what: 'vms', items: [vmInfo()], truncated: false };
    assert.equal((await runCli(argv, { gateway })).exit, 0);
    assert.ok(!gateway.lookups.some(({ what }) => what === 'named'));
    assert.deepEqual(
      gateway.started.map(({ start }) => start.type),
      ['vmCoordinator'],
    );
  }
});

/** A cluster with a VM `db-0` and sets of any other name. */
function mixed(): FakeGateway {
  const gateway = asking();
  const lookup = gateway.lookup.bind(gateway);
  gateway.lookup = ((request: { what: string; name: string }) => {
    const isVm = request.name === 'db-0';
    gateway.answers.named = {
      what: 'named',
      vms: isVm ? [vmInfo()] : [],
      sets: isVm ? [] : [setDetails({ name: request.name })],
      pods: [],
    };
    return lookup(request as never);
  }) as typeof gateway.lookup;
  return gateway;
}

test('VMs and sets are moved by commands of their own, and a set can’t be forced', async () => {
  const gateway = mixed();
  const together = await runCli(['move', 'web', 'db-0', '-n', 'shop'], { gateway });
  assert.equal(together.exit, 2);
  assert.match(together.stderr, /vmflow move vm\/shop\/db-0\n {10}vmflow move set\/shop\/web\n/);
  const forced = await runCli([...move, '--force'], { gateway });
  assert.deepEqual([forced.exit, gateway.started.length], [2, 0]);
});

test('many sets are asked for, are a table, and give 9 when they end differently', async () => {
  const gateway = mixed();
  const argv = ['move', 'web', 'app', '-n', 'shop', '--to', 'node-b', '--wait'];
  const unasked = await runCli(argv, { gateway });
  assert.deepEqual([unasked.exit, gateway.started.length], [2, 0]);
  assert.match(unasked.stderr, /move 2 sets to node-b: shop\/web, shop\/app: a confirmation is needed/);
  const other = 'migrate-request/shop/app/to-node-b';
  gateway.executions = [execution(requestId), execution(other, { state: 'completed' })];
  gateway.outcomesOf[other] = { failure: { type: 'Forbidden', message: 'not allowed' } };
  gateway.ends[requestId] = [requested()];
  const { exit, stdout } = await runCli([...argv, '--yes'], { gateway });
  assert.equal(exit, 9);
  assert.equal(
    stdout,
    block(`
      SET       RESULT    FROM    TO      PAUSED  MESSAGE
      shop/web  migrated  node-a  node-b  4.2 s   the main VM runs on node-b
      shop/app  refused   node-a  node-b  -       can't move set shop/app: not allowed
    `),
  );
});
