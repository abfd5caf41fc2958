import assert from 'node:assert/strict';
import { test } from 'node:test';
import { vmOperationId } from '../../../workflows/contracts/ids.ts';
import { CliError } from '../../../client/errors.ts';
import { noWorker, refusedBy } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';
import {
  coordinator,
  coordinatorExecution,
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

const forced = stopInfo({
  ...taker,
  force: true,
  phase: 'Completed',
  reason: 'OperationCompleted',
  message: 'VirtualMachine "db-0" is stopped',
  seq: 5,
  supersedes: [{ name: stopName, uid: stopUid }],
  createdAt: '2026-03-01T13:09:58.000Z',
  endedAt: '2026-03-01T13:10:02.000Z',
});
const move = stopInfo({
  name: 'web-0-migrate-5',
  uid: '33333333-3333-4333-8333-333333333333',
  vmName: 'web-0',
  type: 'Migrate',
  reason: 'Syncing',
  progress: '33%',
  createdAt: '2026-03-01T13:19:00.000Z',
});

test('op list shows operations newest first, a superseded one with who took it over', async () => {
  const gateway = withCluster(supersededStop, forced, move);
  const { exit, stdout } = await runCli(['op', 'list', '-n', 'shop'], { gateway });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      NAME                       TYPE          VM     PHASE       PROGRESS  REASON                        AGE
      web-0-migrate-5            Migrate       web-0  InProgress  33%       Syncing                       1 min
      db-0-forced-stop-9f8e7d6c  Stop, forced  db-0   Completed   -         OperationCompleted            10 min
      db-0-stop-1a2b3c4d         Stop          db-0   Superseded  -         by db-0-forced-stop-9f8e7d6c  18 min
    `),
  );
  assert.deepEqual(gateway.lookups, [{ what: 'vmops', namespace: 'shop' }]);
});

test('op list across namespaces says whose VM it is; -o name can be used as it is', async () => {
  const gateway = withCluster(move);
  assert.match((await runCli(['op', 'list'], { gateway })).stdout, /Migrate {2}shop\/web-0 {2}InProgress/);
  assert.equal((await runCli(['ops', 'list', '-o', 'name'], { gateway })).stdout, 'shop/web-0-migrate-5\n');
});

test('op list narrows by VM, phase and what is active', async () => {
  const gateway = withCluster(supersededStop, forced, move);
  const names = async (...flags: string[]): Promise<string> =>
    (await runCli(['op', 'list', ...flags, '-o', 'name'], { gateway })).stdout;
  assert.equal(await names('--active'), 'shop/web-0-migrate-5\n');
  assert.equal(await names('--phase', 'superseded'), `shop/${stopName}\n`);
  await names('--vm', 'db-0', '-n', 'shop');
  assert.deepEqual(gateway.lookups.at(-1), { what: 'vmops', namespace: 'shop', vmName: 'db-0' });
});

test('case/01 the JSON of a superseded operation says so, with who took it over', async () => {
  const gateway = withCluster(supersededStop, forced);
  const { items } = documentOf(await runCli(['op', 'list', '-o', 'json'], { gateway }), 'OperationList');
  const first = (items as { phase: string; supersededBy?: object }[])[1];
  assert.deepEqual([first?.phase, first?.supersededBy], ['Superseded', taker]);
  const one = documentOf(
    await runCli(['op', 'get', stopUid, '-o', 'json'], { gateway: withCluster(supersededStop) }),
    'Operation',
  );
  assert.deepEqual([one['phase'], one['supersededBy']], ['Superseded', taker]);
});

test('op list without a worker shows what Temporal recorded and says so', async () => {
  const gateway = withCluster();
  gateway.answers.vmops = noWorker('ask the workers (vmops)');
  gateway.executions = [
    {
      ...coordinatorExecution(),
      workflowId: stopId,
      memo: { name: stopName, type: 'Stop', force: false, seq: 4, supersedes: [], supersededBy: taker.name },
      attributes: { OpKind: 'vm-operation', OpVm: 'shop/db-0', OpStatus: 'fenced' },
    },
    {
      ...coordinatorExecution(),
      workflowId: vmOperationId('test', 'x'),
      memo: { name: 'y', type: 'Start' },
      attributes: { OpStatus: 'Pending', OpVm: 'test/z' },
    },
  ];
  const { exit, stdout, stderr } = await runCli(['op', 'list', '-n', 'shop'], { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, new RegExp(`^NAME.*\n${stopName}  Stop  db-0  Superseded  -         -       20 min\n$`));
  assert.match(stderr, /no worker can look into the cluster; this is what Temporal recorded\n/);
  documentOf(await runCli(['op', 'list', '-o', 'json'], { gateway }), 'OperationList');
});

test('no operations is an empty list and a hint', async () => {
  const { exit, stdout, stderr } = await runCli(['op', 'list'], { gateway: withCluster() });
  assert.deepEqual([exit, stdout], [0, '']);
  assert.match(stderr, /no such operations/);
});

test('op get shows steps, what is waited for, what would take it over, what to do next', async () => {
  const { exit, stdout } = await runCli(['op', 'get', stopName], {
    gateway: withCluster(stopInfo({ why: 'patching' })),
  });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      ${stopName}   InProgress since 13:02 (18 min)   Stop of shop/db-0
        reason  StopInProgress: the guest is asked to shut down
        ✓ done     claim the VM
        ✓ done     ask the VM to change
        ● running  wait for the proof
        ○ to come  write the result
        waiting for the cluster since 13:02 (18 min), no deadline; ends with: vmflow op cancel ${stopName} -n shop
        by      alice: patching
        yields  to vmflow stop db-0 -n shop --force
                to vmflow restart db-0 -n shop --force
        next    vmflow op watch ${stopName} -n shop
                vmflow op cancel ${stopName} -n shop
        link    ${link(stopId)}
    `),
  );
});

test('op get of a superseded one leads to the one that took it over', async () => {
  const { stdout } = await runCli(['op', 'get', stopName, '--time', 'iso'], { gateway: withCluster(supersededStop) });
  assert.match(stdout, /Superseded since 2026-03-01T13:10:00.000Z/);
  assert.match(stdout, new RegExp(`reason  superseded by ${taker.name} \\(Stop, forced\\)\n`));
  assert.match(stdout, new RegExp(`next    vmflow op get ${taker.name} -n shop\n`));
  assert.doesNotMatch(stdout, /yields|waiting/);
});

test('op get without an answer of the workflow shows the object', async () => {
  const gateway = withCluster(stopInfo());
  gateway.statusOf = { [stopId]: new CliError({ exit: 'notFound', reason: 'EXECUTION_NOT_FOUND', message: 'gone' }) };
  const { exit, stdout } = await runCli(['op', 'get', stopName], { gateway });
  assert.equal(exit, 0);
  assert.doesNotMatch(stdout, /●/);
  documentOf(await runCli(['op', 'get', stopName, '-o', 'json'], { gateway }), 'Operation');
});

test('an operation is found by name, NAMESPACE/NAME, uid or workflow id', async () => {
  const ways: readonly [string, object][] = [
    [stopName, { nameOrUid: stopName }],
    [`shop/${stopName}`, { nameOrUid: stopName, namespace: 'shop' }],
    [stopUid, { nameOrUid: stopUid }],
    [stopId, { nameOrUid: stopUid, namespace: 'shop' }],
  ];
  for (const [id, wanted] of ways) {
    const gateway = withCluster(stopInfo());
    assert.equal((await runCli(['op', 'get', id], { gateway })).exit, 0);
    assert.deepEqual(gateway.lookups, [{ what: 'vmop', ...wanted }]);
  }
});

test('an ambiguous name gives 3 and the candidates; an unknown one gives 3', async () => {
  const gateway = withCluster(stopInfo(), stopInfo({ namespace: 'test', uid: taker.uid }));
  const two = await runCli(['op', 'cancel', stopName], { gateway });
  assert.equal(two.exit, 3);
  assert.match(
    two.stderr,
    new RegExp(`why     shop/${stopName}  \\(Stop of db-0, uid ${stopUid}\\)\n          test/${stopName}`),
  );
  assert.deepEqual(gateway.started, []);
  assert.equal(
    errorOf(await runCli(['op', 'get', 'x', '-o', 'json'], { gateway: withCluster() })).reason,
    'OPERATION_NOT_FOUND',
  );
});

test('op watch follows to the end, one line per step, and gives the code of the end', async () => {
  const gateway = withCluster(stopInfo());
  let look = 0;
  const lookup = gateway.lookup.bind(gateway);
  gateway.lookup = (request: never) => {
    if (look++ > 0) gateway.answers.vmop = { what: 'vmop', found: [supersededStop] };
    return lookup(request);
  };
  gateway.ends = { [stopId]: [ended({ outcome: 'fenced', supersededBy: taker })] };
  const { exit, stdout } = await runCli(['op', 'watch', stopName], { gateway });
  assert.equal(exit, 8);
  assert.match(stdout, new RegExp(`^${stopName}   Superseded since`));
});

test('op watch -o jsonl prints one valid document per change', async () => {
  const gateway = withCluster(stopInfo());
  const statuses = [stopStatus({ message: 'claim the VM' }), stopStatus(), stopStatus()];
  let finish: (outcome: object) => void = () => undefined;
  gateway.awaitEnd = () => new Promise((resolve) => (finish = resolve));
  gateway.query = () => {
    const next = statuses.shift() ?? stopStatus();
    if (statuses.length === 0) {
      const done = stopInfo({ phase: 'Completed', endedAt: '2026-03-01T13:20:00.000Z' });
      gateway.answers.vmop = { what: 'vmop', found: [done] };
      finish(ended());
    }
    return Promise.resolve(next);
  };
  const { exit, stdout } = await runCli(['op', 'watch', stopName, '-o', 'jsonl'], { gateway });
  assert.equal(exit, 0);
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, 3);
  for (const line of lines) documentOf({ exit: 0, stdout: line, stderr: '' }, 'Operation');
});

test('op watch of one that is over shows it and gives its code', async () => {
  assert.equal((await runCli(['op', 'watch', stopName], { gateway: withCluster(supersededStop) })).exit, 8);
  assert.equal((await runCli(['op', 'get', stopName, '-w'], { gateway: withCluster(forced) })).exit, 0);
});

test('op watch on a terminal draws the state in place, the last one too, and prints nothing twice', async () => {
  const gateway = withCluster(stopInfo());
  let finish: (outcome: object) => void = () => undefined;
  gateway.awaitEnd = () => new Promise((resolve) => (finish = resolve));
  gateway.query = () => {
    const done = stopInfo({ phase: 'Completed', endedAt: '2026-03-01T13:20:00.000Z' });
    gateway.answers.vmop = { what: 'vmop', found: [done] };
    finish(ended());
    return Promise.resolve(stopStatus());
  };
  const { exit, stdout, stderr } = await runCli(['op', 'watch', stopName, '--color', 'never'], {
    gateway,
    isTerminal: true,
  });
  assert.deepEqual([exit, stdout], [0, '']);
  const [first = '', ...again] = stderr
    .split('\u001b[J')
    .map((drawn) => drawn.split('\n')[0] ?? '')
    .slice(1);
  assert.match(first, /InProgress since/);
  assert.match(again.at(-1) ?? '', /Completed since/);
});

test('op watch --timeout gives 124', async () => {
  const gateway = withCluster(stopInfo());
  assert.equal((await runCli(['op', 'watch', stopName, '--timeout', '1m'], { gateway })).exit, 124);
});

for (const [verb, update] of [
  ['cancel', 'cancelOperation'],
  ['abandon', 'abandon'],
] as const) {
  test(`op ${verb} is an order to the coordinator of the VM`, async () => {
    const gateway = withCluster(stopInfo());
    gateway.startAnswer = `${stopName} is being ended`;
    const { exit, stdout } = await runCli(['op', verb, stopName, '--reason', 'stuck'], { gateway });
    assert.equal(exit, 0);
    assert.equal(stdout, `${stopName}: ${stopName} is being ended\n  vm      vmflow vm get db-0 -n shop\n`);
    assert.deepEqual(
      gateway.started.map(({ start, update: sent }) => [start.workflowId, sent]),
      [
        [
          coordinator,
          { name: update, updateId: `${update}/r4nd0m`, body: { uid: stopUid, by: 'op', reason: 'stuck' } },
        ],
      ],
    );
    documentOf(await runCli(['op', verb, stopName, '-o', 'json'], { gateway }), 'OperationMessageSent');
  });

  test(`op ${verb} --dry-run sends nothing; of one that is over there is nothing to do`, async () => {
    const gateway = withCluster(stopInfo());
    documentOf(await runCli(['op', verb, stopName, '--dry-run', '-o', 'json'], { gateway }), 'Plan');
    const over = withCluster(supersededStop);
    const { exit, stderr } = await runCli(['op', verb, stopName], { gateway: over });
    assert.equal(exit, 0);
    assert.match(stderr, new RegExp(`nothing to ${verb}, it is over: Superseded by ${taker.name}`));
    assert.deepEqual([gateway.started, over.started], [[], []]);
  });
}

test('op cancel --wait gives 8 once it is gone; a refusal gives 5', async () => {
  const gateway = withCluster(stopInfo());
  gateway.ends = { [stopId]: [ended({ outcome: 'released', reason: 'Deleted' })] };
  assert.equal((await runCli(['op', 'cancel', stopName, '--wait'], { gateway })).exit, 8);
  gateway.startAnswer = refusedBy('NOT_ACTIVE', `can't start ${coordinator}: not active`);
  const refused = errorOf(await runCli(['op', 'cancel', stopName, '-o', 'json'], { gateway }));
  assert.deepEqual([refused.code, refused.message], [5, `can't cancel operation shop/${stopName}: not active`]);
});

const manifest = `apiVersion: virtualization.deckhouse.io/v1alpha2
kind: VirtualMachineOperation
metadata:
  name: by-hand
  namespace: shop
spec:
  type: Stop
  virtualMachineName: db-0
`;
const withFile = (text: string) => ({ runtime: { readText: () => Promise.resolve(text) } });

test('op create -f asks for the operations of a file, one after the other', async () => {
  const gateway = withCluster();
  const second = manifest.replace('name: by-hand', 'generateName: db-0-').replace('type: Stop', 'type: Restart');
  const text = `${manifest}---\n${second}---\n`;
  const { exit, stdout } = await runCli(['op', 'create', '-f', '-', '--yes', '--reason', 'why'], {
    gateway,
    ...withFile(text),
  });
  assert.equal(exit, 0);
  assert.match(stdout, /^VM {9}TYPE/);
  assert.deepEqual(requestsOf(gateway), [
    { id: coordinator, request: { spec: { type: 'Stop' }, by: 'op', name: 'by-hand', reason: 'why' } },
    { id: coordinator, request: { spec: { type: 'Restart' }, by: 'op', name: 'db-0-r4nd0', reason: 'why' } },
  ]);
});

test('op create takes JSON, and looks for the VM when the manifest names no namespace', async () => {
  const gateway = withCluster();
  const json = JSON.stringify({
    apiVersion: 'virtualization.deckhouse.io/v1alpha2',
    kind: 'VirtualMachineOperation',
    spec: { type: 'Migrate', virtualMachineName: 'db-0', migrate: { nodeSelector: { zone: 'a' } } },
  });
  assert.equal((await runCli(['op', 'create', '-f', 'op.json'], { gateway, ...withFile(json) })).exit, 0);
  assert.deepEqual(requestsOf(gateway), [
    { id: coordinator, request: { spec: { type: 'Migrate', migrate: { nodeSelector: { zone: 'a' } } }, by: 'op' } },
  ]);
});

test('op create asks before a power cut, an eviction and several operations', async () => {
  const texts = [
    manifest.replace('type: Stop', 'type: Stop\n  force: true'),
    manifest.replace('type: Stop', 'type: Evict'),
    `${manifest}---\n${manifest.replace('by-hand', 'other')}`,
  ];
  for (const text of texts) {
    const gateway = withCluster();
    assert.equal((await runCli(['op', 'create', '-f', 'x'], { gateway, ...withFile(text) })).exit, 2);
    assert.deepEqual(gateway.started, []);
    assert.equal((await runCli(['op', 'create', '-f', 'x', '--yes'], { gateway, ...withFile(text) })).exit, 0);
  }
});

const bad: readonly [string, string, RegExp][] = [
  ['an unknown type', manifest.replace('type: Stop', 'type: Explode'), /op\.yaml:7:9: spec\.type: .*Start/],
  ['an unknown field', `${manifest}  froce: true\n`, /op\.yaml:7:3: spec: .*froce/],
  ['a wrong kind of value', `${manifest}  force: "yes"\n`, /op\.yaml:9:10: spec\.force: .*boolean/],
  ['a missing VM', manifest.replace('  virtualMachineName: db-0\n', ''), /op\.yaml:7:3: spec\.virtualMachineName: /],
  ['another kind', manifest.replace('kind: VirtualMachineOperation', 'kind: Pod'), /op\.yaml:2:7: kind: /],
  ['a broken document', 'a: [1\n', /op\.yaml: .*line 2, column 1/],
  [
    'an error in the second document',
    `${manifest}---\n${manifest.replace('Stop', 'Explode')}`,
    /op\.yaml:16:9: spec\.type/,
  ],
  ['nothing', '', /op\.yaml: no operation in it/],
];
for (const [what, text, message] of bad) {
  test(`op create tells where ${what} is, and asks for nothing`, async () => {
    const gateway = withCluster();
    const { exit, stdout, stderr } = await runCli(['op', 'create', '-f', 'op.yaml', '--yes'], {
      gateway,
      ...withFile(text),
    });
    assert.deepEqual([exit, stdout, gateway.started.length], [2, '', 0]);
    assert.match(stderr, message);
  });
}

test('op create without a file, or with one that can’t be read, is wrong usage', async () => {
  assert.match((await runCli(['op', 'create'])).stderr, /which file\?/);
  assert.match((await runCli(['op', 'create', '-f', 'nope'])).stderr, /can't read nope: ENOENT/);
});

test('vm list shows VMs with phase, node and run policy', async () => {
  const gateway = withCluster();
  gateway.answers.vms = {
    what: 'vms',
    items: [vmInfo(), vmInfo({ name: 'web-0', phase: 'Stopped', nodeName: '' })],
    truncated: false,
  };
  const { exit, stdout } = await runCli(['vm', 'list', '-n', 'shop', '-l', 'app=db'], { gateway });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      NAME   PHASE    NODE    RUN-POLICY                     AGE
      db-0   Running  node-1  AlwaysOnUnlessStoppedManually  3 h
      web-0  Stopped  -       AlwaysOnUnlessStoppedManually  3 h
    `),
  );
  assert.deepEqual(gateway.lookups, [{ what: 'vms', namespace: 'shop', selector: 'app=db' }]);
  const stopped = await runCli(['vms', 'list', '--phase', 'stopped', '-o', 'name'], { gateway });
  assert.equal(stopped.stdout, 'shop/web-0\n');
  documentOf(await runCli(['vm', 'list', '-o', 'json'], { gateway }), 'VirtualMachineList');
});

test('vm get shows power, what is active, the commands that would take it over, the last operations', async () => {
  const gateway = withCluster(stopInfo(), forced);
  const { exit, stdout } = await runCli(['vm', 'get', 'db-0', '-n', 'shop'], { gateway });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      shop/db-0   Running on node-1   run policy AlwaysOnUnlessStoppedManually
        active  ${stopName} (Stop) InProgress since 13:02 (18 min), asked by alice
          ✓ done     claim the VM
          ✓ done     ask the VM to change
          ● running  wait for the proof
          ○ to come  write the result
        yields  to vmflow stop db-0 -n shop --force
                to vmflow restart db-0 -n shop --force
        recent
          NAME                       TYPE          PHASE       PROGRESS  REASON              AGE
          db-0-stop-1a2b3c4d         Stop          InProgress  -         StopInProgress      18 min
          db-0-forced-stop-9f8e7d6c  Stop, forced  Completed   -         OperationCompleted  10 min
        next    vmflow op watch ${stopName} -n shop
                vmflow op cancel ${stopName} -n shop
        link    ${link(coordinator)}
    `),
  );
  documentOf(await runCli(['vm', 'get', 'shop/db-0', '-o', 'json'], { gateway }), 'VirtualMachine');
});

test('vm get of what nothing may take over says what is left', async () => {
  const gateway = withCluster(stopInfo({ type: 'Restart', force: true }));
  const { stdout } = await runCli(['vm', 'get', 'shop/db-0'], { gateway });
  assert.match(stdout, /yields {2}to nothing: it has to finish, or vmflow op abandon ends it\n/);
});

test('vm get of a VM that isn’t there gives 3, without a worker 6', async () => {
  const gateway = withCluster();
  gateway.answers.vm = { what: 'vm', operations: [] };
  assert.equal(errorOf(await runCli(['vm', 'get', 'shop/x', '-o', 'json'], { gateway })).reason, 'VM_NOT_FOUND');
  gateway.answers = {};
  assert.equal(errorOf(await runCli(['vm', 'get', 'shop/x', '-o', 'json'], { gateway })).code, 6);
});

test('workers without a cluster in their configuration say what to add', async () => {
  const gateway = withCluster();
  gateway.answers.vms = new CliError({
    exit: 'usage',
    reason: 'CLUSTER_NOT_CONFIGURED',
    message: "the workers' configuration names no Kubernetes cluster",
    next: 'add a section "cluster:"',
  });
  const { exit, stderr } = await runCli(['vm', 'list'], { gateway });
  assert.equal(exit, 2);
  assert.match(stderr, /add a section "cluster:"/);
});

test('open vm and open op lead to the coordinator and to the operation', async () => {
  const gateway = withCluster(stopInfo());
  gateway.executions = [coordinatorExecution(), { ...coordinatorExecution(), workflowId: stopId }];
  assert.equal(
    (await runCli(['open', 'vm', 'db-0', '--print'], { gateway })).stdout,
    `${link(coordinator)}/run-1/history\n`,
  );
  assert.equal(
    (await runCli(['open', 'op', stopName, '--print'], { gateway })).stdout,
    `${link(stopId)}/run-1/history\n`,
  );
  const nothing = errorOf(await runCli(['open', 'vm', 'shop/other', '--print', '-o', 'json'], { gateway }));
  assert.equal(nothing.code, 3);
  assert.match(nothing.message, /nothing has been done to shop\/other lately/);
});
