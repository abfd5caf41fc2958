import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  HibernationAnswer,
  RequestHibernationResult,
  RequestHibernationStatus,
} from '../../../workflows/contracts/hibernation-request.ts';
import { CliError } from '../../../client/errors.ts';
import { noWorker, refusedBy, type FakeGateway } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';
import { endAfter, execution, hibernateId, linkOf, podInfo, setDetails, wakeId, withSet } from './set-builders.ts';

const created: HibernationAnswer = { outcome: 'created', uid: 'h1', generation: 1 };
const verbs = [
  ['hibernate', 'Hibernate', hibernateId, 'wake', 'Hibernated'],
  ['wake', 'Wake', wakeId, 'hibernate', 'Active'],
] as const;

function withAnswer(answer: HibernationAnswer | CliError): FakeGateway {
  const gateway = withSet(setDetails());
  gateway.startAnswer = answer;
  return gateway;
}

for (const [verb, desire, id, undo, reached] of verbs) {
  const argv = [verb, 'web', '-n', 'shop'];

  test(`${verb} of a set asks for its main VM, and doesn’t wait`, async () => {
    const gateway = withAnswer(created);
    const { exit, stdout, stderr } = await runCli([...argv, '--reason', 'night'], { gateway });
    assert.deepEqual([exit, stderr], [0, '']);
    assert.equal(
      stdout,
      block(`
        shop/web-0: ${desire} requested
          wait    vmflow ${verb} pod/web-0 -n shop --wait
          undo    vmflow ${undo} pod/web-0 -n shop
          link    ${linkOf(id)}
      `),
    );
    const [{ start, update } = assert.fail()] = gateway.started;
    assert.deepEqual([start.type, start.workflowId], ['requestHibernation', id]);
    assert.deepEqual(start.args, [{ namespace: 'shop', podName: 'web-0', desire, by: 'op', reason: 'night' }]);
    assert.deepEqual(update, { name: 'request', updateId: 'request/r4nd0m', body: { by: 'op' } });
    const document = documentOf(
      await runCli([...argv, '-o', 'json'], { gateway: withAnswer(created) }),
      'HibernationRequestList',
    );
    assert.deepEqual(document['items'], [
      { namespace: 'shop', pod: 'web-0', desire, id, result: 'created', link: linkOf(id) },
    ]);
  });

  const answers: readonly [HibernationAnswer, RegExp][] = [
    [{ outcome: 'in-progress', uid: 'h1', generation: 1 }, new RegExp(`${desire} is already in progress\n`)],
    [{ outcome: 'already-so', phase: reached }, new RegExp(`already so, it is ${reached}\n$`)],
    [
      { outcome: 'changed', phase: 'Failed', uid: 'h1', generation: 3 },
      new RegExp(`${desire} requested, it was Failed\n`),
    ],
  ];
  for (const [answer, text] of answers)
    test(`${verb} that is answered ${answer.outcome} gives 0 and says so`, async () => {
      const { exit, stdout } = await runCli(argv, { gateway: withAnswer(answer) });
      assert.equal(exit, 0);
      assert.match(stdout, text);
    });

  const ends: readonly [RequestHibernationResult['outcome'], number][] = [
    [reached, 0],
    ['Failed', 1],
    ['superseded', 8],
    ['deleted', 8],
  ];
  for (const [outcome, code] of ends)
    test(`${verb} --wait that ends ${outcome} gives ${code}`, async () => {
      const gateway = withAnswer(created);
      gateway.ends[id] = [{ result: { outcome, message: 'said by the cluster' } }];
      const { exit, stdout } = await runCli([...argv, '--wait'], { gateway });
      assert.equal(exit, code);
      assert.match(stdout, new RegExp(`^shop/web-0: ${outcome}: said by the cluster\n`));
    });

  const refusals: readonly [CliError, number][] = [
    [refusedBy('NOT_HIBERNATED', `can't start ${id}: it is on its way to another node`), 5],
    [noWorker(`start ${id}`), 6],
  ];
  for (const [error, code] of refusals)
    test(`${verb} that is refused (${error.reason}) gives ${code} and names the verb and the Pod`, async () => {
      const said = errorOf(await runCli([...argv, '-o', 'json'], { gateway: withAnswer(error) }));
      assert.deepEqual([said.code, said.reason], [code, error.reason]);
      assert.match(said.message, new RegExp(`^can't ${verb} shop/web-0: `));
    });

  test(`${verb} --timeout gives 124, Ctrl-C 130`, async () => {
    const late = await runCli([...argv, '--wait', '--timeout', '1m'], { gateway: withAnswer(created) });
    assert.deepEqual([late.exit, /--timeout reached/.test(late.stdout)], [124, true]);
    const stop = new AbortController();
    stop.abort();
    const runtime = { onInterrupt: () => ({ signal: stop.signal, dispose: () => undefined }) };
    assert.equal((await runCli([...argv, '--wait'], { gateway: withAnswer(created), runtime })).exit, 130);
  });

  test(`${verb} --dry-run is a request of its own`, async () => {
    const gateway = withAnswer({ outcome: 'would-change', phase: 'Active' });
    const { exit, stdout } = await runCli([...argv, '--dry-run', '--wait'], { gateway });
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      `shop/web-0: its CocoonHibernation would be changed to ${desire}, it was Active (dry run, nothing was changed)\n`,
    );
    const [{ start } = assert.fail()] = gateway.started;
    assert.match(start.workflowId, /^hibernation-request\/shop\/web-0~dry-run-r4nd0m\//);
    assert.equal((start.args[0] as { dryRun?: boolean }).dryRun, true);
  });
}

test('--wait tells the steps, and a request that fails is the error', async () => {
  const gateway = withAnswer(created);
  gateway.executions = [execution(hibernateId)];
  const status: RequestHibernationStatus = {
    ...{ kind: 'hibernation-request', id: hibernateId, status: 'Waiting', reason: 'Waiting' },
    ...{ message: 'the VM of shop/web-0 is to be Hibernated', since: '2026-03-01T13:20:00.000Z' },
    steps: [
      { id: 'Ask', title: 'ask for it in the cluster', state: 'done' },
      { id: 'Wait', title: 'store memory and disks, remove the VM', state: 'active' },
    ],
    ...{ waitingFor: 'far-side', next: ['vmflow wake pod/web-0 -n shop'], desire: 'Hibernate', podName: 'web-0' },
  };
  endAfter(gateway, hibernateId, {
    watched: hibernateId,
    statuses: [status],
    outcome: { failure: { type: 'TerminatedFailure', message: 'by an operator' } },
  });
  const { exit, stderr } = await runCli(['hibernate', 'web', '-n', 'shop', '--wait'], { gateway });
  assert.equal(exit, 1);
  assert.match(
    stderr,
    /shop\/web-0: done ask for it in the cluster\nshop\/web-0: running store memory and disks, remove the VM\n/,
  );
  assert.match(stderr, /waiting for the cluster .*no deadline; ends with: vmflow wake pod\/web-0 -n shop\n/);
  assert.match(stderr, /can't hibernate shop\/web-0: by an operator\n/);
});

test('a Pod is named as a set is; both of one name are never chosen among', async () => {
  const gateway = withAnswer(created);
  gateway.answers.named = { what: 'named', vms: [], sets: [], pods: [podInfo()] };
  assert.equal((await runCli(['hibernate', 'pod/web-1', '-n', 'shop'], { gateway })).exit, 0);
  assert.deepEqual(gateway.lookups, [{ what: 'named', name: 'web-1', namespace: 'shop', kinds: ['pod'] }]);
  assert.equal(gateway.started[0]?.start.workflowId, 'hibernation-request/shop/web-1/Hibernate');
  gateway.answers.named = { what: 'named', vms: [], sets: [setDetails({ name: 'web-1' })], pods: [podInfo()] };
  const unsure = await runCli(['hibernate', 'web-1', '-n', 'shop'], { gateway });
  assert.equal(unsure.exit, 3);
  assert.match(unsure.stderr, /set\/shop\/web-1 .*\n {10}pod\/shop\/web-1 /);
  assert.equal((await runCli(['wake'], { gateway })).exit, 2);
});

test('several VMs are asked for, are a table, and give 9 when they end differently', async () => {
  const gateway = withSet(setDetails());
  const lookup = gateway.lookup.bind(gateway);
  gateway.lookup = ((request: { name: string }) => {
    gateway.answers.named = { what: 'named', vms: [], sets: [setDetails({ name: request.name })], pods: [] };
    return lookup(request as never);
  }) as typeof gateway.lookup;
  const start = gateway.startWithUpdate.bind(gateway);
  gateway.startWithUpdate = (request, update) => {
    gateway.startAnswer = request.workflowId.includes('web') ? created : refusedBy('NO_VM_POD', 'it names no VM');
    return start(request, update);
  };
  const argv = ['hibernate', 'web', 'app', '-n', 'shop'];
  const unasked = await runCli(argv, { gateway });
  assert.deepEqual([unasked.exit, gateway.started.length], [2, 0]);
  assert.match(unasked.stderr, /hibernate 2 VMs: shop\/web-0, shop\/app-0: a confirmation is needed/);
  const { exit, stdout } = await runCli([...argv, '--yes'], { gateway });
  assert.equal(exit, 9);
  assert.equal(
    stdout,
    block(`
      POD         DESIRE     RESULT   MESSAGE
      shop/web-0  Hibernate  created  -
      shop/app-0  Hibernate  refused  it names no VM
    `),
  );
});

test('a request that closes in this moment is met again with the same update', async () => {
  const gateway = withSet(setDetails());
  const closing = new CliError({ exit: 'notFound', reason: 'EXECUTION_NOT_FOUND', message: 'closed' });
  const start = gateway.startWithUpdate.bind(gateway);
  gateway.startWithUpdate = (request, update) => {
    gateway.startAnswer = gateway.started.length === 0 ? closing : created;
    return start(request, update);
  };
  assert.equal((await runCli(['wake', 'web', '-n', 'shop'], { gateway })).exit, 0);
  assert.equal(gateway.started.length, 2);
  assert.equal(new Set(gateway.started.map(({ update }) => update?.updateId)).size, 1);
});
