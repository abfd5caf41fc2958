import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { vmOperationId } from '../../../workflows/contracts/ids.ts';
import { CliError } from '../../../client/errors.ts';
import { noWorker, refusedBy, type FakeGateway } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';
import {
  coordinator,
  coordinatorExecution,
  created,
  ended,
  link,
  requestsOf,
  stopId,
  stopInfo,
  stopName,
  stopStatus,
  stopUid,
  supersededStop,
  taker,
  vmInfo,
  withCluster,
} from './vm-builders.ts';

const stop = ['stop', 'db-0', '-n', 'shop'];

test('a stop is a request to the coordinator of its VM, which is started when there is none', async () => {
  const gateway = withCluster();
  const { exit, stdout, stderr } = await runCli([...stop, '--reason', 'patching'], { gateway });
  assert.equal(exit, 0);
  assert.equal(stderr, '');
  assert.equal(
    stdout,
    block(`
      shop/db-0: Stop requested (${stopName})
        watch   vmflow op watch ${stopName} -n shop
        link    ${link(stopId)}
    `),
  );
  const [{ start, update } = assert.fail()] = gateway.started;
  assert.equal(start.type, 'vmCoordinator');
  assert.deepEqual(start.args, [{ namespace: 'shop', vmName: 'db-0' }]);
  assert.deepEqual(update, {
    name: 'request',
    updateId: 'request/r4nd0m',
    body: { spec: { type: 'Stop' }, by: 'op', reason: 'patching' },
  });
  assert.deepEqual(gateway.lookups, []);
});

const kinds: readonly [string, readonly string[], object][] = [
  ['start', [], { type: 'Start' }],
  ['stop', ['--force', '--yes'], { type: 'Stop', force: true }],
  ['restart', [], { type: 'Restart' }],
  ['restart', ['--force', '--yes'], { type: 'Restart', force: true }],
  ['evict', ['--yes'], { type: 'Evict' }],
  ['move', [], { type: 'Migrate' }],
  ['move', ['--force'], { type: 'Migrate', force: true }],
  ['move', ['--to', 'node-2'], { type: 'Migrate', migrate: { nodeSelector: { 'kubernetes.io/hostname': 'node-2' } } }],
];
for (const [verb, flags, spec] of kinds) {
  test(`case/03 ${[verb, ...flags].join(' ')} asks for exactly that, and force is absent without --force`, async () => {
    const gateway = withCluster();
    assert.equal((await runCli([verb, 'db-0', '-n', 'shop', ...flags], { gateway })).exit, 0);
    assert.deepEqual(
      requestsOf(gateway).map(({ request }) => request),
      [{ spec, by: 'op' }],
    );
  });
}

test('a start can’t be forced', async () => {
  assert.match((await runCli(['start', 'db-0', '--force'])).stderr, /unknown option '--force'/);
});

test('what the coordinator answers is told: already in progress, already so, takes over', async () => {
  const gateway = withCluster();
  gateway.startAnswer = { outcome: 'in-progress', name: stopName, uid: stopUid };
  const again = await runCli(stop, { gateway });
  assert.equal(again.exit, 0);
  assert.match(again.stdout, new RegExp(`^shop/db-0: Stop is already in progress \\(${stopName}\\)\n  watch`));
  gateway.startAnswer = { outcome: 'already-so', phase: 'Stopped' };
  const so = await runCli(stop, { gateway });
  assert.deepEqual([so.exit, so.stdout], [0, 'shop/db-0: already so, it is Stopped\n']);
  gateway.startAnswer = { ...created, supersedes: [taker] };
  assert.match((await runCli(stop, { gateway })).stdout, new RegExp(`takes   over from ${taker.name}\n`));
});

test('the JSON of a request has one item per VM and validates', async () => {
  const gateway = withCluster();
  const document = documentOf(await runCli([...stop, '-o', 'json'], { gateway }), 'OperationRequestList');
  assert.deepEqual(document['items'], [
    {
      ...{ namespace: 'shop', vm: 'db-0', type: 'Stop', id: stopId, result: 'created', supersedes: [] },
      ...{ operation: { name: stopName, uid: stopUid }, link: link(stopId) },
    },
  ]);
  assert.equal((await runCli([...stop, '-o', 'name'], { gateway })).stdout, `shop/${stopName}\n`);
  assert.equal((await runCli([...stop, '-q'], { gateway })).stdout, `${stopId}\n`);
});

test('a dry run goes the same way, asks nothing, and says that nothing was created', async () => {
  const gateway = withCluster();
  gateway.startAnswer = { outcome: 'would-create', supersedes: [taker] };
  const { exit, stdout } = await runCli([...stop, '--force', '--dry-run'], { gateway });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    `shop/db-0: Stop, forced would be requested, taking over from ${taker.name} (dry run, nothing was created)\n`,
  );
  assert.equal(requestsOf(gateway)[0]?.request.dryRun, true);
});

const refusals: readonly [string, CliError, number, string][] = [
  [
    'by the supersede rule',
    refusedBy('NOT_READY_TO_BE_EXECUTED', "can't start vm/shop/db-0: it should finish first"),
    5,
    'refused',
  ],
  ['without a worker', noWorker('start vm/shop/db-0'), 6, 'not acknowledged'],
];
for (const [what, error, code] of refusals) {
  test(`a request that is refused ${what} gives ${code} and names the verb and the VM`, async () => {
    const gateway = withCluster();
    gateway.startAnswer = error;
    const said = errorOf(await runCli([...stop, '-o', 'json'], { gateway }));
    assert.deepEqual([said.code, said.reason], [code, error.reason]);
    assert.match(said.message, /^can't stop shop\/db-0: /);
    assert.equal(gateway.started.length, 1);
  });
}

test('a coordinator that closes in this moment is met again with the same update', async () => {
  const gateway = withCluster();
  const closing = new CliError({ exit: 'notFound', reason: 'EXECUTION_NOT_FOUND', message: 'closed' });
  const real = gateway.startWithUpdate.bind(gateway);
  gateway.startWithUpdate = (start, update) => {
    gateway.startAnswer = gateway.started.length === 0 ? closing : created;
    return real(start, update);
  };
  assert.equal((await runCli(stop, { gateway })).exit, 0);
  assert.deepEqual(new Set(gateway.started.map(({ update }) => update?.updateId)).size, 1);
  assert.equal(gateway.started.length, 2);
});

const silences: readonly [string, (gateway: FakeGateway) => void, RegExp][] = [
  [
    'in its own words',
    (gateway) => (gateway.statusOf[coordinator] = { reason: 'Trouble', message: "can't read the operations" }),
    /can't read the operations/,
  ],
  [
    'in those of the call that it tries again',
    (gateway) => {
      const pending = { type: 'listActiveVmops', attempt: 4, maxAttempts: 0, state: 'scheduled' } as const;
      gateway.executions = [
        { ...coordinatorExecution(), pending: [{ ...pending, lastFailure: 'the API server is away' }] },
      ];
    },
    /the API server is away/,
  ],
];
for (const [what, prepare, words] of silences) {
  test(`a coordinator that is slow to answer says what it waits for, ${what}`, async () => {
    const gateway = withCluster();
    prepare(gateway);
    const answer = gateway.startWithUpdate.bind(gateway);
    gateway.startWithUpdate = async (start, update) => {
      await setImmediate();
      return answer(start, update);
    };
    const slow = await runCli(stop, { gateway });
    assert.equal(slow.exit, 0);
    assert.match(slow.stderr, new RegExp(`accepted, not answered yet: .*${words.source}`));
    gateway.startAnswer = new CliError({
      exit: 'notAcknowledged',
      reason: 'NOT_FINISHED_YET',
      message: `can't start ${coordinator}: accepted`,
    });
    const never = await runCli(stop, { gateway });
    assert.equal(never.exit, 6);
    assert.match(
      never.stderr,
      new RegExp(`can't stop shop/db-0: accepted\n {2}why {5}${words.source}\n {2}link {4}http`),
    );
  });
}

test('names: NAMESPACE/NAME, vm/NAME, -n and VMFLOW_KUBE_NAMESPACE; without a namespace it is looked for', async () => {
  const ways: readonly [readonly string[], Record<string, string>, number][] = [
    [['stop', 'shop/db-0'], {}, 0],
    [['stop', 'vm/db-0', '-n', 'shop'], {}, 0],
    [['stop', 'vm/shop/db-0'], {}, 0],
    [['stop', 'db-0'], { VMFLOW_KUBE_NAMESPACE: 'shop' }, 0],
    [['stop', 'db-0'], {}, 1],
  ];
  for (const [argv, env, lookups] of ways) {
    const gateway = withCluster();
    assert.equal((await runCli(argv, { gateway, env })).exit, 0, argv.join(' '));
    assert.deepEqual([gateway.started[0]?.start.workflowId, gateway.lookups.length], [coordinator, lookups]);
  }
});

test('a name that is nowhere or in several namespaces is not guessed', async () => {
  const gateway = withCluster();
  gateway.answers.vms = { what: 'vms', items: [vmInfo(), vmInfo({ namespace: 'test' })], truncated: false };
  const two = await runCli(['stop', 'db-0'], { gateway });
  assert.equal(two.exit, 3);
  assert.match(two.stderr, /there are 2 VMs named "db-0"\n {2}why {5}shop\/db-0 {2}\(Running, uid .*\n {10}test\/db-0/);
  gateway.answers.vms = { what: 'vms', items: [], truncated: false };
  assert.equal(errorOf(await runCli(['stop', 'db-0', '-o', 'json'], { gateway })).reason, 'VM_NOT_FOUND');
  assert.deepEqual(gateway.started, []);
});

const wrong: readonly [string, readonly string[], RegExp][] = [
  ['no VM', ['stop'], /which VM\?/],
  ['names and --all', ['stop', 'db-0', '--all', '-n', 'shop'], /not both/],
  ['all VMs of no namespace', ['stop', '--all', '--yes'], /in which namespace\?/],
  ['another namespace in the name', ['stop', 'shop/db-0', '-n', 'test'], /-n says test/],
  ['a set', ['stop', 'set/web', '-n', 'shop'], /a set has no power of its own/],
  ['no name', ['stop', 'a/b/c'], /is no name/],
  ['a duration without unit', [...stop, '--wait', '--timeout', '5'], /is no duration/],
];
for (const [what, argv, message] of wrong) {
  test(`wrong usage: ${what}`, async () => {
    const { exit, stdout, stderr } = await runCli(argv, { gateway: withCluster() });
    assert.deepEqual([exit, stdout], [2, '']);
    assert.match(stderr, message);
  });
}

/** A namespace with this many VMs. */
function manyVms(count: number): FakeGateway {
  const gateway = withCluster();
  const items = Array.from({ length: count }, (_, i) => vmInfo({ name: `web-${String(i)}` }));
  gateway.answers.vms = { what: 'vms', items, truncated: false };
  return gateway;
}

const asked: readonly [string, readonly string[], RegExp][] = [
  ['a selector', ['stop', '-l', 'app=web', '-n', 'shop'], /stop 12 VMs: shop\/web-0, .*shop\/web-9 and 2 more: a conf/],
  ['--all', ['restart', '--all', '-n', 'shop'], /restart 12 VMs: .* and 2 more/],
  ['several names', ['start', 'a', 'b', '-n', 'shop'], /start 2 VMs: shop\/a, shop\/b/],
  ['an eviction', ['evict', 'db-0', '-n', 'shop'], /evict shop\/db-0/],
  ['a power cut', [...stop, '--force'], /stop shop\/db-0; power is cut, unsaved data in the guest may be lost/],
  ['many power cuts', ['stop', '--all', '-n', 'shop', '--force'], /unsaved data in 12 guests may be lost/],
];
for (const [what, argv, question] of asked) {
  test(`${what} is asked for, and never assumed without a terminal`, async () => {
    const gateway = manyVms(12);
    const refused = await runCli(argv, { gateway });
    assert.deepEqual([refused.exit, gateway.started.length], [2, 0]);
    assert.match(refused.stderr, question);
    assert.match(refused.stderr, /next {4}add --yes/);
    const no = await runCli(argv, { gateway, isTerminal: true, runtime: { ask: () => Promise.resolve('') } });
    assert.deepEqual([no.exit, gateway.started.length], [2, 0]);
    const yes = await runCli(argv, { gateway, isTerminal: true, runtime: { ask: () => Promise.resolve('y\n') } });
    assert.equal(yes.exit, 0, yes.stderr);
    assert.ok(gateway.started.length > 0);
  });
}

test('one stop or restart isn’t asked for', async () => {
  for (const verb of ['start', 'stop', 'restart', 'move'])
    assert.equal((await runCli([verb, 'db-0', '-n', 'shop'], { gateway: withCluster() })).exit, 0);
});

test('many VMs: a table, and 9 when some are refused; the same refusal of all gives its code', async () => {
  const gateway = manyVms(2);
  const real = gateway.startWithUpdate.bind(gateway);
  const refusal = refusedBy('NOT_APPLICABLE', "can't start vm/shop/web-1: it is Stopped");
  gateway.startWithUpdate = (start, update) => {
    gateway.startAnswer = start.workflowId.endsWith('web-1') ? refusal : created;
    return real(start, update);
  };
  const { exit, stdout } = await runCli(['stop', '--all', '-n', 'shop', '--yes'], { gateway });
  assert.equal(exit, 9);
  assert.equal(
    stdout,
    block(`
      VM          TYPE  RESULT   OPERATION           MESSAGE
      shop/web-0  Stop  created  ${stopName}  -
      shop/web-1  Stop  refused  -                   can't stop shop/web-1: it is Stopped
    `),
  );
  const json = documentOf(
    await runCli(['stop', '--all', '-n', 'shop', '--yes', '-o', 'json'], { gateway }),
    'OperationRequestList',
  );
  assert.deepEqual(
    (json['items'] as { result: string }[]).map(({ result }) => result),
    ['created', 'refused'],
  );
  gateway.startWithUpdate = (start, update) => {
    gateway.startAnswer = refusal;
    return real(start, update);
  };
  assert.equal((await runCli(['stop', '--all', '-n', 'shop', '--yes'], { gateway })).exit, 5);
});

test('all pages of VMs are read', async () => {
  const gateway = withCluster();
  gateway.lookup = ((request: { after?: string }) => {
    const answer =
      request.after === undefined
        ? { what: 'vms', items: [vmInfo({ name: 'a' })], truncated: true, next: 'shop/a' }
        : { what: 'vms', items: [vmInfo({ name: 'b' })], truncated: false };
    return Promise.resolve({ answer, startedAt: '' });
  }) as unknown as typeof gateway.lookup;
  assert.equal((await runCli(['stop', '--all', '-n', 'shop', '--yes'], { gateway })).exit, 0);
  assert.deepEqual(
    requestsOf(gateway).map(({ id }) => id),
    ['vm/shop/a', 'vm/shop/b'],
  );
});

const ends: readonly [string, object, number, RegExp][] = [
  ['Completed', ended(), 0, /Completed: VirtualMachine "db-0" is stopped\n/],
  [
    'Failed',
    ended({ outcome: 'Failed', reason: 'OperationFailed', message: 'refused by the API server' }),
    1,
    /Failed, OperationFailed: refused by the API server\n/,
  ],
  ['deleted', ended({ outcome: 'released', reason: 'Deleted' }), 8, /cancelled: the operation was deleted\n/],
];
for (const [what, outcome, code, line] of ends) {
  test(`--wait of an operation that ends ${what} gives ${code}`, async () => {
    const gateway = withCluster();
    gateway.ends = { [stopId]: [outcome] };
    const { exit, stdout, stderr } = await runCli([...stop, '--wait'], { gateway });
    assert.equal(exit, code, stderr);
    assert.match(stdout, line);
    assert.match(stderr, /db-0: .*waiting for its end/);
  });
}

test('--wait of an operation that was taken over gives 8 and names the one that took it over', async () => {
  const gateway = withCluster(supersededStop);
  gateway.ends = {
    [stopId]: [ended({ outcome: 'fenced', reason: 'Superseded', message: 'superseded', supersededBy: taker })],
  };
  const { exit, stdout } = await runCli([...stop, '--wait'], { gateway });
  assert.equal(exit, 8);
  assert.match(
    stdout,
    new RegExp(`Superseded by ${taker.name} \\(Stop, forced\\)\n  next    vmflow op get ${taker.name} -n shop\n`),
  );
  const json = documentOf(await runCli([...stop, '--wait', '-o', 'json'], { gateway }), 'OperationRequestList');
  const [item] = json['items'] as { result: string; supersededBy: object }[];
  assert.deepEqual([item?.result, item?.supersededBy], ['superseded', taker]);
});

test('a fenced operation whose clean-up failed has failed: the object says so', async () => {
  const gateway = withCluster(
    stopInfo({
      phase: 'Failed',
      reason: 'OperationFailed',
      message: 'not cleaned up',
      endedAt: '2026-03-01T13:10:00.000Z',
    }),
  );
  gateway.ends = { [stopId]: [ended({ outcome: 'fenced', supersededBy: taker })] };
  assert.equal((await runCli([...stop, '--wait'], { gateway })).exit, 1);
});

test('a fenced operation whose object nobody can read any more is superseded by what its workflow says', async () => {
  const gateway = withCluster();
  gateway.answers.vmop = noWorker('ask the workers (vmop)');
  gateway.ends = {
    [stopId]: [ended({ outcome: 'fenced', message: `superseded by ${taker.name}`, supersededBy: taker })],
  };
  const { exit, stdout } = await runCli([...stop, '--wait'], { gateway });
  assert.equal(exit, 8);
  assert.match(stdout, new RegExp(`Superseded by ${taker.name}\n`));
});

test('a workflow that was ended by hand is no end: what the sweep brings back is waited for', async () => {
  const gateway = withCluster(stopInfo());
  gateway.ends = { [stopId]: [{ failure: { type: 'TerminatedFailure', message: 'by hand' } }, ended()] };
  const { exit, stderr } = await runCli([...stop, '--wait'], { gateway });
  assert.equal(exit, 0);
  assert.match(stderr, /its workflow was ended from outside \(by hand\); the sweep brings it back\n/);
});

test('a workflow that never comes: the object says what became of the operation', async () => {
  const missing = new CliError({ exit: 'notFound', reason: 'EXECUTION_NOT_FOUND', message: 'no such' });
  const gateway = withCluster();
  gateway.ends = { [stopId]: [missing] };
  assert.equal((await runCli([...stop, '--wait'], { gateway })).exit, 8);
  gateway.answers.vmop = {
    what: 'vmop',
    found: [stopInfo({ phase: 'Completed', endedAt: '2026-03-01T13:10:00.000Z' })],
  };
  assert.equal((await runCli([...stop, '--wait'], { gateway })).exit, 0);
});

test('a Temporal that is away for a moment is waited for', async () => {
  const away = new CliError({ exit: 'unreachable', reason: 'TEMPORAL_UNREACHABLE', message: 'away' });
  const gateway = withCluster();
  gateway.ends = { [stopId]: [away, away, ended()] };
  const { exit, stderr } = await runCli([...stop, '--wait'], { gateway });
  assert.equal(exit, 0);
  assert.equal(stderr.match(/lost contact with Temporal/g)?.length, 1);
  gateway.ends = { [stopId]: [away] };
  assert.equal((await runCli([...stop, '--wait'], { gateway })).exit, 7);
});

test('--wait=PHASE ends when the phase or the step is reached', async () => {
  for (const until of ['InProgress', 'signal']) {
    const { exit, stdout } = await runCli([...stop, `--wait=${until}`], { gateway: withCluster() });
    assert.equal(exit, 0);
    assert.match(stdout, new RegExp(`${until} is reached\n`));
  }
});

test('--timeout gives 124 and says how to come back', async () => {
  const { exit, stderr } = await runCli([...stop, '--wait', '--timeout', '5m'], { gateway: withCluster() });
  assert.equal(exit, 124);
  assert.match(stderr, new RegExp(`--timeout reached, the work goes on: vmflow op watch ${stopName} -n shop\n`));
});

test('Ctrl-C gives 130, says how to come back and how to stop it', async () => {
  const controller = new AbortController();
  const onInterrupt = () => ({ signal: controller.signal, dispose: () => undefined });
  const gateway = withCluster();
  const query = gateway.query.bind(gateway);
  gateway.query = (target) => {
    controller.abort();
    return query(target);
  };
  const { exit, stderr } = await runCli([...stop, '--wait'], { gateway, runtime: { onInterrupt } });
  assert.equal(exit, 130);
  assert.match(
    stderr,
    new RegExp(`watch   vmflow op watch ${stopName} -n shop\n  cancel  vmflow op cancel ${stopName} -n shop\n`),
  );
});

test('while it waits, each step is one line', async () => {
  const gateway = withCluster();
  const seen = [
    stopStatus(),
    stopStatus(),
    stopStatus({ steps: stopStatus().steps.map((step) => ({ ...step, state: 'done' })) }),
  ];
  let finish: (outcome: object) => void = () => undefined;
  gateway.awaitEnd = () => new Promise((resolve) => (finish = resolve));
  gateway.query = () => {
    const next = seen.shift();
    if (seen.length === 0) finish(ended());
    return Promise.resolve(next ?? stopStatus());
  };
  const { stderr } = await runCli([...stop, '--wait'], { gateway });
  assert.deepEqual(
    stderr.split('\n').filter((line) => line.includes('wait for the proof')),
    [`${stopName}: running wait for the proof`, `${stopName}: done wait for the proof`],
  );
});

test('many VMs are waited for side by side; different ends give 9', async () => {
  const gateway = manyVms(2);
  const real = gateway.startWithUpdate.bind(gateway);
  gateway.startWithUpdate = (start, update) => {
    const uid = start.workflowId.slice('vm/shop/'.length);
    gateway.startAnswer = { ...created, name: `${uid}-stop`, uid };
    return real(start, update);
  };
  gateway.ends = {
    [vmOperationId('shop', 'web-0')]: [ended()],
    [vmOperationId('shop', 'web-1')]: [ended({ outcome: 'Failed', reason: 'OperationFailed', message: 'no' })],
  };
  const { exit, stdout, stderr } = await runCli(['stop', '--all', '-n', 'shop', '--yes', '--wait'], { gateway });
  assert.equal(exit, 9);
  assert.match(
    stdout,
    /shop\/web-0 {2}Stop {2}completed {2}web-0-stop .*\nshop\/web-1 {2}Stop {2}failed {5}web-1-stop {2}no\n/,
  );
  assert.match(stderr, /web-1: Failed, OperationFailed: no\n/);
});
