import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DrainNodeInput, DrainNodeResult } from '../../../workflows/contracts/hibernate.ts';
import type { FakeGateway } from './fake-gateway.ts';
import { refusedBy } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';
import { drainOfA, drainStatus, endAfter, execution, linkOf, nodeInfo, setDetails, withSet } from './set-builders.ts';

const drain = ['node', 'drain', 'node-a'];

/** A node with two sets and an open drain. */
function draining(): FakeGateway {
  const gateway = withSet(setDetails(), execution(drainOfA));
  gateway.statusOf[drainOfA] = drainStatus();
  gateway.answers.node = { what: 'node', node: nodeInfo({ cordoned: true, drainedBy: 'op' }) };
  return gateway;
}

function drained(result: DrainNodeResult): FakeGateway {
  const gateway = draining();
  gateway.ends[drainOfA] = [{ result }];
  return gateway;
}

test('node list shows what is cordoned and how many sets are on each', async () => {
  const gateway = withSet(setDetails());
  const nodes = [
    { name: 'node-a', ready: true, cordoned: true, drainedBy: 'op', mains: 2 },
    { name: 'node-b', ready: false, cordoned: false, mains: 0 },
  ];
  gateway.answers.nodes = { what: 'nodes', nodes, truncated: false };
  assert.equal(
    (await runCli(['node', 'list'], { gateway })).stdout,
    block(`
      NAME    READY  CORDONED  SETS  DRAINED-BY
      node-a  yes    yes       2     op
      node-b  no     no        0     -
    `),
  );
  documentOf(await runCli(['nodes', 'list', '-o', 'json'], { gateway }), 'NodeList');
});

test('node status shows the sets on it and how far its drain is, with what stays and why', async () => {
  const { exit, stdout } = await runCli(['node', 'status', 'node-a'], { gateway: draining() });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      node-a   ready, cordoned (by op)
        sets    shop/db, shop/web
        drain   since 13:09 (11 min), no deadline: 1 of 3 moved, 1 on their way, 1 can't move
        stays   shop/db: Suspended, its VM sleeps and keeps its seat; it wakes elsewhere
        next    vmflow node drain node-a --wait
                vmflow node cancel node-a
                vmflow node cancel node-a --uncordon
        link    ${linkOf(drainOfA, 'run-1')}
    `),
  );
  const document = documentOf(
    await runCli(['node', 'status', 'node-a', '-o', 'json'], { gateway: draining() }),
    'Node',
  );
  assert.deepEqual((document['drain'] as { blocked: unknown }).blocked, [{ set: 'shop/db', reason: 'Suspended' }]);
});

test('a node without a drain, one whose drain is over, and none of that name', async () => {
  const quiet = await runCli(['node', 'status', 'node-a'], { gateway: withSet(setDetails()) });
  assert.equal(
    quiet.stdout,
    'node-a   ready, open for VMs\n  sets    shop/db, shop/web\n  next    vmflow node drain node-a\n',
  );
  const over = withSet(setDetails(), execution(drainOfA, { state: 'completed' }));
  over.answers.node = { what: 'node', node: nodeInfo({ cordoned: true, sets: [] }) };
  over.outcomesOf[drainOfA] = { result: { outcome: 'drained', moved: 3, blocked: [] } };
  const { stdout } = await runCli(['node', 'status', 'node-a'], { gateway: over });
  assert.match(
    stdout,
    /sets {4}no main VM is here\n {2}drain {3}drained, 3 moved\n {2}next {4}kubectl uncordon node-a\n/,
  );
  const none = withSet(setDetails());
  none.answers.node = { what: 'node' };
  const said = errorOf(await runCli(['node', 'status', 'node-x', '-o', 'json'], { gateway: none }));
  assert.deepEqual([said.code, said.reason, said.hint], [3, 'NODE_NOT_FOUND', 'vmflow node list']);
});

const wishes: readonly [readonly string[], Partial<DrainNodeInput>][] = [
  [[], {}],
  [['--to', 'node-b, node-c'], { targets: ['node-b', 'node-c'] }],
  [['--max-parallel', '2'], { maxParallel: 2 }],
  [['--deadline', '2h'], { deadline: '2026-03-01T15:20:00.000Z' }],
  [['--keep-pin'], { unpinAfter: false }],
  [['--reason', 'new disks'], { reason: 'new disks' }],
];
for (const [flags, wish] of wishes)
  test(`node drain ${flags.join(' ')} starts exactly that, and doesn’t wait`, async () => {
    const gateway = draining();
    const { exit, stdout, stderr } = await runCli([...drain, '--yes', ...flags], { gateway });
    assert.deepEqual([exit, stderr], [0, 'node-a: drain started\n']);
    assert.match(stdout, /^node-a {3}ready, cordoned/);
    const [{ start } = assert.fail()] = gateway.started;
    assert.deepEqual([start.type, start.workflowId], ['drainNode', drainOfA]);
    assert.deepEqual(start.args, [{ node: 'node-a', by: 'op', ...wish }]);
  });

const wrong: readonly [readonly string[], RegExp][] = [
  [['--max-parallel', '0'], /a number from 1 on/],
  [['--max-parallel', 'many'], /a number from 1 on/],
  [['--deadline', '5'], /no duration/],
  [['--to', 'node-b,'], /write NODE or NODE,NODE/],
  [['--to', 'node-a'], /that is the node that is drained/],
];
for (const [flags, message] of wrong)
  test(`node drain ${flags.join(' ')} is wrong usage`, async () => {
    const gateway = draining();
    const { exit, stderr } = await runCli([...drain, '--yes', ...flags], { gateway });
    assert.deepEqual([exit, gateway.started.length], [2, 0]);
    assert.match(stderr, message);
  });

test('a drain reaches far: it is asked for with the sets that leave, and never assumed', async () => {
  const gateway = draining();
  const { exit, stderr } = await runCli(drain, { gateway });
  assert.deepEqual([exit, gateway.started.length], [2, 0]);
  assert.match(
    stderr,
    /drain node node-a is cordoned; move shop\/db, shop\/web wherever they fit; each VM stands still/,
  );
  const dry = await runCli([...drain, '--dry-run'], { gateway });
  assert.deepEqual([dry.exit, gateway.started.length], [0, 0]);
  assert.match(dry.stdout, /^drain would do: node node-a is cordoned; .*\(dry run, nothing was sent\)\n$/);
});

test('the same drain twice is one; another one for the same node is refused', async () => {
  const gateway = draining();
  gateway.isOpenAlready = true;
  gateway.inputOf = {
    node: 'node-a',
    targets: ['node-c', 'node-b'],
    by: 'alice',
    deadline: '2026-03-01T14:00:00.000Z',
  };
  const same = [...drain, '--yes', '--to', 'node-b,node-c', '--deadline', '1h'];
  const joined = await runCli(same, { gateway });
  assert.deepEqual([joined.exit, joined.stderr], [0, 'node-a: a drain is already in progress\n']);
  for (const flags of [
    ['--to', 'node-b'],
    ['--to', 'node-b,node-c'],
    [...same.slice(4), '--keep-pin'],
  ]) {
    const said = errorOf(await runCli([...drain, '--yes', ...flags, '-o', 'json'], { gateway }));
    assert.deepEqual([said.code, said.reason], [5, 'DRAIN_DIFFERS']);
    assert.match(said.message, /asked by alice: to node-b, node-c, /);
  }
});

const ends: readonly [DrainNodeResult, number][] = [
  [{ outcome: 'drained', moved: 3, blocked: [] }, 0],
  [{ outcome: 'cancelled', moved: 1, blocked: [] }, 8],
  [{ outcome: 'deadline', moved: 2, blocked: [{ set: 'shop/db', reason: 'NoTarget' }] }, 9],
  [{ outcome: 'deadline', moved: 0, blocked: [{ set: 'shop/db', reason: 'NoTarget' }] }, 1],
];
for (const [result, code] of ends)
  test(`node drain --wait that ends ${result.outcome} with ${result.moved} moved gives ${code}`, async () => {
    const { exit, stdout } = await runCli([...drain, '--yes', '--wait'], { gateway: drained(result) });
    assert.equal(exit, code);
    assert.match(stdout, /^node-a /);
  });

test('--wait tells every change and every set that stays, once', async () => {
  const gateway = draining();
  endAfter(gateway, drainOfA, {
    watched: drainOfA,
    statuses: [drainStatus(), drainStatus(), drainStatus({ moved: 2, inFlight: 0 })],
    outcome: { result: { outcome: 'drained', moved: 3, blocked: [] } },
  });
  const { stderr } = await runCli([...drain, '--yes', '--wait'], { gateway });
  assert.equal(
    stderr,
    block(`
      node-a: 1 of 3 moved, 1 on their way, 1 can't move; ends with: vmflow node cancel node-a
      node-a: stays for now: shop/db: Suspended, its VM sleeps and keeps its seat; it wakes elsewhere
      node-a: 2 of 3 moved, 0 on their way, 1 can't move; ends with: vmflow node cancel node-a
    `),
  );
});

test('a drain that fails is the error; --timeout gives 124, Ctrl-C 130', async () => {
  const refused = withSet(setDetails(), execution(drainOfA, { state: 'failed' }));
  const details = { code: 'NODE_NOT_FOUND', next: 'vmflow node list' };
  refused.outcomesOf[drainOfA] = { failure: { type: 'NotFound', message: 'there is no node "node-x"', details } };
  const said = errorOf(await runCli([...drain, '--yes', '--to', 'node-x', '-o', 'json'], { gateway: refused }));
  assert.deepEqual([said.code, said.reason], [3, 'NODE_NOT_FOUND']);
  const broken = draining();
  broken.ends[drainOfA] = [{ failure: { type: 'Forbidden', message: 'may not patch nodes' } }];
  assert.equal((await runCli([...drain, '--yes', '--wait'], { gateway: broken })).exit, 4);
  const late = await runCli([...drain, '--yes', '--wait', '--timeout', '1m'], { gateway: draining() });
  assert.equal(late.exit, 124);
  assert.match(late.stderr, /the work goes on: vmflow node drain node-a --wait\n/);
  const stop = new AbortController();
  stop.abort();
  const runtime = { onInterrupt: () => ({ signal: stop.signal, dispose: () => undefined }) };
  const left = await runCli([...drain, '--yes', '--wait'], { gateway: draining(), runtime });
  assert.equal(left.exit, 130);
  assert.match(left.stderr, /cancel {2}vmflow node cancel node-a\n/);
});

test('node cancel tells the open drain, with or without the cordon', async () => {
  for (const [flags, body, updateId] of [
    [[], {}, 'cancelDrain/keep'],
    [['--uncordon', '--reason', 'not today'], { uncordon: true, reason: 'not today' }, 'cancelDrain/uncordon'],
  ] as const) {
    const gateway = draining();
    gateway.updateAnswer = 'nothing more is started';
    const { exit, stdout } = await runCli(['node', 'cancel', 'node-a', ...flags], { gateway });
    assert.deepEqual([exit, stdout], [0, 'node-a: nothing more is started\n  watch   vmflow node status node-a\n']);
    assert.deepEqual(gateway.updates, [
      {
        target: { workflowId: drainOfA, runId: 'run-1' },
        update: { name: 'cancelDrain', updateId, body: { by: 'op', ...body } },
      },
    ]);
    const dry = draining();
    assert.equal((await runCli(['node', 'cancel', 'node-a', ...flags, '--dry-run'], { gateway: dry })).exit, 0);
    assert.deepEqual(dry.updates, []);
  }
});

test('node cancel without an open drain, or that the drain refuses, gives 5', async () => {
  for (const gateway of [withSet(setDetails()), withSet(setDetails(), execution(drainOfA, { state: 'completed' }))]) {
    const said = errorOf(await runCli(['node', 'cancel', 'node-a', '-o', 'json'], { gateway }));
    assert.deepEqual([said.code, said.reason], [5, 'NO_OPEN_DRAIN']);
    assert.match(said.hint ?? '', /^vmflow node status node-a\n/);
  }
  const gateway = draining();
  gateway.updateAnswer = refusedBy('ORDER_REFUSED', 'say who asks');
  assert.equal((await runCli(['node', 'cancel', 'node-a'], { gateway })).exit, 5);
});
