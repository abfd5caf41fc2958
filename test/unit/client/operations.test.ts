import assert from 'node:assert/strict';
import { test } from 'node:test';
import { searchKeys } from '../../../workflows/contracts/attributes.ts';
import { wantedSchedules } from '../../../client/admin/schedules.ts';
import { CliError } from '../../../client/errors.ts';
import { schemaKinds } from '../../../client/output/schemas.ts';
import { swapExecution, swapId, swapLink, swapStatus, withSwap } from './builders.ts';
import { FakeGateway, noWorker } from './fake-gateway.ts';
import { block, documentOf, errorOf, now, runCli } from './run-cli.ts';

const allAttributes = Object.fromEntries(Object.values(searchKeys).map(({ name, type }) => [name, type as string]));
const endpoint = { name: 'vc1', kind: 'vcenter', url: 'https://vc1.example/sdk', user: 'svc', tls: 'ca' } as const;
const reachable = { name: 'reachable', ok: true, detail: '12 ms' };
const untrusted = {
  name: 'certificate',
  ok: false,
  detail: 'not trusted, SHA-256 AB:CD',
  remedy: 'set tls.sha256',
  failure: 'unreachable',
} as const;

/** Everything there and well. */
function healthy(): FakeGateway {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.attributes = allAttributes;
  gateway.schedules = [...wantedSchedules('vmflow')];
  gateway.answers = {
    worker: { what: 'worker', buildId: 'b1', sdk: '1.24.0', node: '24.21.0', checks: [] },
    endpoints: { what: 'endpoints', endpoints: [endpoint] },
    endpoint: { what: 'endpoint', endpoint, checks: [reachable] },
  };
  return gateway;
}

test('doctor: everything well gives 0', async () => {
  const { exit, stdout } = await runCli(['doctor'], { gateway: healthy() });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      CHECK              RESULT  DETAIL                                  REMEDY
      Temporal           ok      1.29.1 at localhost:7233                -
      namespace          ok      vmflow, retention 30 d                  -
      search attributes  ok      all 11                                  -
      schedules          ok      vmop-sweep, sync-sources, vmop-gc       -
      control worker     ok      1 on queue vmflow: control@a            -
      transfer worker    ok      1 on queue vmflow-transfer: transfer@a  -
      builds             ok      not told                                -
      worker answers     ok      build b1, SDK 1.24.0, Node 24.21.0      -
      clock              ok      0 s between this machine and Temporal   -
      vc1: reachable     ok      12 ms                                   -
      Web UI             ok      http://localhost:8233 answers           -
    `),
  );
  documentOf(await runCli(['doctor', '-o', 'json'], { gateway: healthy() }), 'DoctorReport');
});

const sick: readonly [string, (gateway: FakeGateway) => void, number, RegExp, RegExp?][] = [
  [
    'no namespace',
    (g) => (g.knownNamespace = undefined),
    3,
    /namespace {2}FAILED {2}there is no "vmflow" +vmflow admin setup/,
    /control worker/,
  ],
  [
    'an attribute of another type',
    (g) => (g.attributes = { ...allAttributes, OpVm: 'TEXT' }),
    3,
    /missing or of another type: OpVm/,
    /worker answers/,
  ],
  [
    'no worker',
    (g) => (g.polled = {}),
    6,
    /control worker {5}FAILED {2}nobody polls task queue "vmflow"/,
    /worker answers/,
  ],
  [
    'no transfer worker',
    (g) => (g.polled = { vmflow: [{ identity: 'a' }] }),
    6,
    /transfer worker {4}FAILED {2}nobody polls task queue "vmflow-transfer"/,
  ],
  [
    'a schedule that is missing and one that is otherwise',
    (g) => (g.schedules = [wantedSchedules('other')[0]!, wantedSchedules('vmflow')[1]!]),
    3,
    /schedules .*FAILED {2}vmop-sweep is different, vmop-gc is missing .*vmflow admin setup/,
  ],
  [
    'workers of two builds',
    (g) =>
      (g.polled = {
        vmflow: [{ identity: 'control@a', buildId: 'b1' }],
        'vmflow-transfer': [{ identity: 'transfer@a', buildId: 'b2' }],
      }),
    5,
    /builds .*FAILED {2}control@a is b1, transfer@a is b2 .*one build/,
  ],
  ['a silent worker', (g) => (g.answers = {}), 6, /worker answers {5}FAILED {2}.*is a worker running/, /endpoints/],
  [
    'an untrusted vCenter',
    (g) => (g.answers.endpoint = { what: 'endpoint', endpoint, checks: [reachable, untrusted] }),
    7,
    /vc1: certificate {3}FAILED {2}not trusted, SHA-256 AB:CD .*set tls.sha256/,
  ],
  [
    'no endpoint at all',
    (g) => (g.answers.endpoints = { what: 'endpoints', endpoints: [] }),
    3,
    /endpoints .*FAILED {2}none configured/,
  ],
];
for (const [what, spoil, wanted, line, absent] of sick) {
  test(`doctor: ${what} gives ${wanted}, with its remedy and without its consequences`, async () => {
    const gateway = healthy();
    spoil(gateway);
    const { exit, stdout } = await runCli(['doctor'], { gateway });
    assert.equal(exit, wanted);
    assert.match(stdout, line);
    if (absent !== undefined) assert.doesNotMatch(stdout, absent);
  });
}

test('doctor: a Temporal that is away is one line, not seven', async () => {
  const away = new CliError({
    exit: 'unreachable',
    reason: 'TEMPORAL_UNREACHABLE',
    message: "Temporal isn't reachable",
    next: 'vmflow config view',
  });
  const runtime = { connect: () => Promise.reject(away), httpStatus: () => Promise.reject(new Error('refused')) };
  const { exit, stdout } = await runCli(['doctor'], { runtime });
  assert.equal(exit, 7);
  assert.equal(stdout.trimEnd().split('\n').length, 3);
  assert.match(stdout, /Temporal {2}FAILED {2}Temporal isn't reachable .*vmflow config view/);
  assert.match(stdout, /Web UI {4}FAILED/);
});

test('doctor: a command line of another build than the workers is told', async () => {
  const gateway = healthy();
  gateway.polled = {
    vmflow: [{ identity: 'control@a', buildId: 'b1' }],
    'vmflow-transfer': [{ identity: 'transfer@a', buildId: 'b1' }],
  };
  const same = await runCli(['doctor'], { gateway, env: { VMFLOW_BUILD_ID: 'b1' } });
  assert.match(same.stdout, /builds +ok +b1 /);
  const { exit, stdout } = await runCli(['doctor'], { gateway, env: { VMFLOW_BUILD_ID: 'b2' } });
  assert.equal(exit, 5);
  assert.match(stdout, /builds +FAILED .*control@a is b1, .*this command line is b2/);
});

test('doctor: builds side by side are as they should be where workers are versioned', async () => {
  const gateway = healthy();
  gateway.polled = {
    vmflow: ['b1', 'b2'].map((buildId) => ({ identity: `control@${buildId}`, buildId, isVersioned: true })),
    'vmflow-transfer': [{ identity: 'transfer@b2', buildId: 'b2', isVersioned: true }],
  };
  const known = await runCli(['doctor'], { gateway, env: { VMFLOW_BUILD_ID: 'b2' } });
  assert.match(known.stdout, /builds +ok +b1, b2: the workers are versioned/);
  const other = await runCli(['doctor'], { gateway, env: { VMFLOW_BUILD_ID: 'b3' } });
  assert.match(other.stdout, /builds +FAILED .*this command line is b3/);
  gateway.polled = { ...gateway.polled, 'vmflow-transfer': [{ identity: 'transfer@b2', buildId: 'b2' }] };
  const mixed = await runCli(['doctor'], { gateway });
  assert.match(mixed.stdout, /builds +FAILED/);
});

test('doctor: what answers at the address of the Web UI and has no such page is no Web UI', async () => {
  const runtime = { httpStatus: () => Promise.resolve(404) };
  const { exit, stdout } = await runCli(['doctor'], { gateway: healthy(), runtime });
  assert.equal(exit, 7);
  assert.match(stdout, /Web UI +FAILED .*answers with 404 +name it with --ui or VMFLOW_UI_URL/);
});

test('doctor: clocks that differ are told', async () => {
  const later = { now: () => new Date(Date.parse(now) + 60_000) };
  const { exit, stdout } = await runCli(['doctor'], { gateway: healthy(), runtime: later });
  assert.equal(exit, 5);
  assert.match(stdout, /clock .*FAILED {2}1 min between this machine and Temporal/);
});

test('endpoint list shows what the workers are configured for', async () => {
  const gateway = healthy();
  const { stdout } = await runCli(['endpoint', 'list'], { gateway });
  assert.equal(
    stdout,
    'NAME  KIND     URL                      USER  TLS\nvc1   vcenter  https://vc1.example/sdk  svc   ca\n',
  );
  documentOf(await runCli(['endpoint', 'list', '-o', 'json'], { gateway }), 'EndpointList');
});

test('endpoint check shows every check and gives the code of the first that failed', async () => {
  const gateway = healthy();
  gateway.answers.endpoint = { what: 'endpoint', endpoint, checks: [reachable, untrusted] };
  const { exit, stdout } = await runCli(['endpoint', 'check', 'vc1'], { gateway });
  assert.equal(exit, 7);
  assert.equal(
    stdout,
    block(`
      ENDPOINT  CHECK        RESULT  DETAIL                      REMEDY
      vc1       reachable    ok      12 ms                       -
      vc1       certificate  FAILED  not trusted, SHA-256 AB:CD  set tls.sha256
    `),
  );
  documentOf(await runCli(['endpoint', 'check', '-o', 'json'], { gateway }), 'EndpointCheckList');
});

test('endpoint check of several: one that fails beside one that is well gives 9', async () => {
  const gateway = healthy();
  gateway.answers.endpoints = { what: 'endpoints', endpoints: [endpoint, { ...endpoint, name: 'vc2' }] };
  const lookup = gateway.lookup.bind(gateway);
  gateway.lookup = ((request: { what: 'endpoint'; name: string }) =>
    request.name === 'vc2' ? Promise.reject(noWorker('ask')) : lookup(request)) as typeof gateway.lookup;
  const { exit, stdout } = await runCli(['endpoint', 'check'], { gateway });
  assert.equal(exit, 9);
  assert.match(stdout, /vc2 {7}look up {4}FAILED/);
});

test('an endpoint check without a worker is an error with -o json', async () => {
  assert.equal(errorOf(await runCli(['endpoint', 'check', 'vc1', '-o', 'json'])).code, 6);
});

test('admin setup creates what is missing and changes nothing the second time', async () => {
  const gateway = new FakeGateway();
  gateway.knownNamespace = undefined;
  const first = await runCli(['admin', 'setup', '--retention', '7d'], { gateway });
  assert.equal(first.exit, 0);
  assert.match(first.stdout, /namespace {9}vmflow {8}missing {2}created, retention 7 d\n/);
  assert.deepEqual(gateway.attributes, allAttributes);
  gateway.addSearchAttributes = () => Promise.reject(new Error('called again'));
  gateway.createNamespace = () => Promise.reject(new Error('called again'));
  const second = await runCli(['admin', 'setup', '-o', 'json'], { gateway });
  const { items } = documentOf(second, 'SetupResult');
  assert.ok((items as { was: string }[]).every(({ was }) => was === 'present'));
});

test('admin setup creates the schedules of the task queue and changes those that are otherwise', async () => {
  const gateway = new FakeGateway();
  const first = await runCli(['admin', 'setup'], { gateway });
  assert.match(first.stdout, /schedule {10}vmop-sweep {4}missing {2}created, every 30 s\n/);
  assert.match(first.stdout, /schedule {10}vmop-gc {7}missing {2}created, daily at 00:00 UTC\n/);
  assert.deepEqual(gateway.schedules, wantedSchedules('vmflow'));
  const plan = await runCli(['admin', 'setup', '--task-queue', 'other', '--dry-run'], { gateway });
  assert.match(plan.stdout, /vmop-gc {7}different {2}would be changed/);
  assert.deepEqual(gateway.schedules, wantedSchedules('vmflow'));
  await runCli(['admin', 'setup', '--task-queue', 'other'], { gateway });
  assert.deepEqual(gateway.schedules, wantedSchedules('other'));
});

test('admin setup waits until the server has taken it up, and gives up at its time', async () => {
  const gateway = new FakeGateway();
  gateway.knownNamespace = undefined;
  const notYet = new CliError({ exit: 'notFound', reason: 'SEARCH_ATTRIBUTES_MISSING', message: 'not yet' });
  let refusals = 5;
  gateway.list = () => (refusals-- > 0 ? Promise.reject(notYet) : Promise.resolve([]));
  assert.equal((await runCli(['admin', 'setup'], { gateway })).exit, 0);
  const stuck = new FakeGateway();
  stuck.list = () => Promise.reject(notYet);
  assert.equal(
    errorOf(await runCli(['admin', 'setup', '--timeout', '10s', '-o', 'json'], { gateway: stuck })).code,
    124,
  );
});

test('admin setup --dry-run says what is missing and changes nothing', async () => {
  const gateway = new FakeGateway();
  gateway.knownNamespace = undefined;
  const { exit, stdout } = await runCli(['admin', 'setup', '--dry-run'], { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /would be created, retention 30 d/);
  assert.match(stdout, /OpProgress {4}missing {2}would be registered/);
  assert.deepEqual([gateway.knownNamespace, gateway.attributes], [undefined, {}]);
});

test('admin setup refuses an attribute that exists with another type', async () => {
  const gateway = new FakeGateway();
  gateway.attributes = { OpVm: 'TEXT' };
  const error = errorOf(await runCli(['admin', 'setup', '-o', 'json'], { gateway }));
  assert.deepEqual([error.code, error.reason], [5, 'SEARCH_ATTRIBUTE_TYPE']);
});

test('open prints the link, and opens it unless only the link is wanted', async () => {
  const opened: string[] = [];
  const runtime = {
    openBrowser: (url: string) => {
      opened.push(url);
      return Promise.resolve();
    },
  };
  const gateway = withSwap(swapExecution(), swapStatus());
  const printed = await runCli(['open', 'template', 'rhel9-base', '--print'], { gateway, runtime });
  assert.deepEqual([printed.stdout, opened], [`${swapLink}\n`, []]);
  documentOf(await runCli(['open', 'workflow', swapId, '-o', 'json'], { gateway, runtime }), 'Link');
  assert.deepEqual(opened, []);
  await runCli(['open', 'template', 'rhel9-base', '--ui', 'https://ui.example/'], { gateway, runtime });
  assert.deepEqual(opened, [swapLink.replace('http://localhost:8233', 'https://ui.example')]);
});

test('open names the kinds it knows, and the link when there is no browser', async () => {
  assert.equal(
    errorOf(await runCli(['open', 'constructor', 'x', '-o', 'json'])).hint,
    'kinds: vm, op, set, migration, drain, template, fleet, batch, entry, source, workflow',
  );
  const runtime = { openBrowser: () => Promise.reject(new Error('ENOENT xdg-open')) };
  const { exit, stderr } = await runCli(['open', 'template', 'rhel9-base'], {
    gateway: withSwap(swapExecution(), swapStatus()),
    runtime,
  });
  assert.equal(exit, 1);
  assert.match(
    stderr,
    /can't start a browser here\n {2}why {5}ENOENT xdg-open\n {2}next {4}vmflow open template rhel9-base --print/,
  );
});

test('version tells its own versions also without a server', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  const there = await runCli(['--version'], { gateway });
  assert.match(there.stdout, /^vmflow \d+\.\d+\.\d+\n {2}sdk {5}@temporalio\/client 1\.24\.0\n/);
  assert.match(there.stdout, /server {2}1\.29\.1\n {2}workers control@a\n/);
  const away = new CliError({ exit: 'unreachable', reason: 'TEMPORAL_UNREACHABLE', message: "isn't reachable" });
  const absent = await runCli(['version', '-o', 'json'], { runtime: { connect: () => Promise.reject(away) } });
  assert.equal(absent.exit, 0);
  assert.equal(documentOf(absent, 'Version')['note'], "isn't reachable");
});

for (const shell of ['bash', 'zsh', 'fish']) {
  test(`completion prints a script for ${shell} that asks this program`, async () => {
    const { exit, stdout } = await runCli(['completion', shell]);
    assert.equal(exit, 0);
    assert.match(stdout, /vmflow complete -- /);
  });
}

test('completion knows nouns, verbs and flags, and says which shells it knows', async () => {
  const words = async (...typed: string[]): Promise<string[]> =>
    (await runCli(['complete', '--', ...typed])).stdout.split('\n').map((line) => line.split('\t')[0] ?? '');
  assert.ok((await words('te')).includes('template'));
  assert.deepEqual((await words('template', 're')).slice(0, 2).sort(), ['resolve', 'retry']);
  assert.ok((await words('template', 'update', '--dry')).includes('--dry-run'));
  assert.ok((await words('template', 'list', '--out')).includes('--output'), 'flags that every command takes');
  assert.ok((await words('-o', 'json', 'templates', 'upd')).includes('update'), 'below the plural of a noun');
  assert.ok(!(await words('templ')).includes('templates'));
  assert.equal(errorOf(await runCli(['completion', 'tcsh', '-o', 'json'])).hint, 'shells: bash, zsh, fish');
});

test('every kind of output has a published schema', async () => {
  const { stdout } = await runCli(['schema']);
  assert.deepEqual(stdout.trimEnd().split('\n'), schemaKinds);
  for (const kind of schemaKinds) {
    const printed = JSON.parse((await runCli(['schema', kind])).stdout) as { $schema: string; type: string };
    assert.deepEqual([printed.$schema, printed.type], ['https://json-schema.org/draft/2020-12/schema', 'object']);
  }
  assert.equal((await runCli(['schema', 'Nope'])).exit, 2);
});
