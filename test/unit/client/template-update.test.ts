import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TemplateSwapRequest } from '../../../workflows/contracts/template.ts';
import { shortened } from '../../../client/template/start.ts';
import {
  completed,
  digest,
  elsewhere,
  fullFlags,
  inConflict,
  keeping,
  placement,
  requestOf,
  swapExecution,
  swapId,
  swapLink,
  swapStatus,
  withSwap,
} from './builders.ts';
import { FakeGateway, noWorker, refusedBy } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';

const ovaAnswer = { what: 'ova', sha256: digest, size: 42, version: '9.6', warnings: ['no manifest'] } as const;

test('update starts the swap in one call with its update, and says how to come back', async () => {
  const gateway = new FakeGateway();
  const { exit, stdout } = await runCli(['template', 'update', 'rhel9-base', ...fullFlags], { gateway });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      rhel9-base: update to 9.6 on vc1 started
        id      ${swapId}
        watch   vmflow template watch rhel9-base
        cancel  vmflow template cancel rhel9-base
        link    ${swapLink}
    `),
  );
  const [{ start, update } = { start: undefined }] = gateway.started;
  assert.equal(start?.type, 'templateSwap');
  assert.equal(start.workflowId, swapId);
  assert.equal(start.summary, 'update template rhel9-base to 9.6 on vc1');
  assert.deepEqual(update, {
    name: 'ensure',
    updateId: `ensure/9.6@${digest}/r4nd0m`,
    body: { version: '9.6', sha256: digest, by: 'op' },
  });
  const attributes = Object.fromEntries(start.attributes.map(({ key, value }) => [key.name, value]));
  assert.deepEqual(attributes, {
    OpKind: 'template-swap',
    OpVm: '/DC0/vm/rhel9-base',
    OpTarget: '9.6',
    OpSource: 'vc1',
  });
  assert.deepEqual(start.memo, {
    name: 'rhel9-base',
    folder: '/DC0/vm',
    vcenter: 'vc1',
    version: '9.6',
    by: 'op',
    placement,
    naming: { prodName: 'rhel9-base' },
  });
  assert.deepEqual(requestOf(gateway), {
    vcenter: 'vc1',
    placement,
    template: { prodName: 'rhel9-base' },
    source: { kind: 'file', path: '/images/rhel-9.6.ova', sha256: digest },
    target: { version: '9.6' },
    options: {},
    by: 'op',
  } satisfies TemplateSwapRequest);
});

test('a URL with a query is refused: it may be a signature, and requests are readable', async () => {
  const gateway = new FakeGateway();
  const flags = [...fullFlags, '--ova', 'https://images.example/rhel.ova?sig=planted'];
  const { exit, stderr } = await runCli(['template', 'update', 'rhel9-base', ...flags], { gateway });
  assert.equal(exit, 2);
  assert.match(stderr, /--headers-ref/);
  assert.doesNotMatch(stderr, /planted/);
  assert.deepEqual(gateway.started, []);
});

test('the details in the Web UI say who, what and the commands', async () => {
  const gateway = new FakeGateway();
  const flags = [...fullFlags, '--ova', 'https://images.example/rhel.ova'];
  await runCli(['template', 'update', 'rhel9-base', ...flags], { gateway });
  const details = gateway.started[0]?.start.details ?? '';
  assert.match(details, /\*\*op\*\* asked to update template `rhel9-base` in `\/DC0\/vm` on `vc1` to \*\*9.6\*\*/);
  assert.match(details, /vmflow template cancel \S*rhel9-base/);
});

test('every flag has its place in the request', async () => {
  const gateway = new FakeGateway();
  const flags = [
    ...[
      '--folder',
      '/DC0/vm/t',
      '--pool',
      'gold',
      '--host',
      'esx1',
      '--temp-prefix',
      'tmp',
      '--rollback-prefix',
      'old',
    ],
    ...['--create', '--replace-unknown', '--no-strict-ownership', '--recovery', 'back-first', '--keep', '2h'],
    ...['--tag', 'os/rhel', '--tag', 'env/prod', '--annotation', 'golden', '--provisioning', 'thin'],
    ...[
      '--keep-secure-boot',
      '--strict-ova',
      '--verify-manifest',
      'require',
      '--max-gap',
      '2s',
      '--upload-stall',
      '3m',
    ],
    ...['--max-upload-attempts', '7', '--conflict-timeout', '1d', '--request-id', 'job-1', '--headers-ref', 'mirror'],
    ...['--ova', 'https://images.example/rhel.ova'],
  ];
  const { exit, stderr } = await runCli(['template', 'update', 'rhel9-base', ...fullFlags, ...flags], { gateway });
  assert.deepEqual([exit, stderr], [0, '']);
  assert.deepEqual(requestOf(gateway), {
    requestId: 'job-1',
    vcenter: 'vc1',
    placement: { ...placement, folder: '/DC0/vm/t', resourcePool: 'gold', host: 'esx1' },
    template: { prodName: 'rhel9-base', tempPrefix: 'tmp', rollbackPrefix: 'old' },
    source: { kind: 'http', url: 'https://images.example/rhel.ova', headersRef: 'mirror', sha256: digest },
    target: { version: '9.6' },
    options: {
      createIfMissing: true,
      replaceUnknownVersion: true,
      strictOwnership: false,
      recovery: 'back-first',
      diskProvisioning: 'thin',
      disableSecureBoot: false,
      annotation: 'golden',
      tags: ['os/rhel', 'env/prod'],
      keepRollbackMinutes: 120,
      verifyManifest: 'require',
      strictOva: true,
      maxGapMs: 2_000,
      uploadStallMs: 180_000,
      maxUploadAttempts: 7,
      conflictTimeoutMinutes: 1440,
    },
    by: 'op',
  });
});

test('the answer of an update is one document with -o json and an id with -q', async () => {
  const argv = ['template', 'update', 'rhel9-base', ...fullFlags];
  const document = documentOf(await runCli([...argv, '-o', 'json']), 'TemplateUpdate');
  assert.deepEqual([document['how'], document['id'], document['link']], ['started', swapId, swapLink]);
  assert.equal((await runCli([...argv, '-q'])).stdout, `${swapId}\n`);
  assert.equal((await runCli([...argv, '-o', 'name'])).stdout, 'rhel9-base\n');
});

test('template/35 the same command twice joins the running update', async () => {
  const gateway = new FakeGateway();
  gateway.startAnswer = { how: 'joined', version: '9.6', status: 'Importing' };
  const { exit, stdout } = await runCli(['template', 'update', 'rhel9-base', ...fullFlags], { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /^rhel9-base: update to 9.6 on vc1 is already in progress \(Importing\)\n/);
});

test('template/35 another target is refused with the running one named and --supersede offered', async () => {
  const gateway = new FakeGateway();
  gateway.startAnswer = refusedBy(
    'SWAP_RUNNING',
    'SWAP_RUNNING: /DC0/vm/rhel9-base is being updated to 9.5 (Importing), not to 9.6',
  );
  const argv = ['template', 'update', 'rhel9-base', ...fullFlags];
  const { exit, stdout, stderr } = await runCli(argv, { gateway });
  assert.deepEqual([exit, stdout], [5, '']);
  assert.equal(
    stderr,
    block(`
      error: can't update template rhel9-base to 9.6: another update of it is in progress
        why     /DC0/vm/rhel9-base is being updated to 9.5 (Importing), not to 9.6
        state   the running update goes on; nothing was changed by this call
        next    vmflow template watch rhel9-base
                or the same command with --supersede to go to this version instead
        link    ${swapLink.replace('/run-1/history', '')}
    `),
  );
  assert.equal(errorOf(await runCli([...argv, '-o', 'json'], { gateway })).reason, 'SWAP_RUNNING');
});

test('template/35 --supersede sends the new target to the running update', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.startAnswer = refusedBy('SWAP_RUNNING', 'SWAP_RUNNING: busy');
  const argv = ['template', 'update', 'rhel9-base', ...fullFlags, '--supersede', '--reason', 'CVE'];
  const { exit, stdout } = await runCli(argv, { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /takes the place of the one in progress/);
  const [{ target, update } = { target: undefined }] = gateway.updates;
  assert.deepEqual(target, { workflowId: swapId, runId: 'run-1' });
  assert.deepEqual(update, {
    name: 'retarget',
    updateId: `retarget/9.6@${digest}/r4nd0m`,
    body: {
      source: { kind: 'file', path: '/images/rhel-9.6.ova', sha256: digest },
      target: { version: '9.6' },
      by: 'op',
      reason: 'CVE',
    },
  });
});

test('placement comes from the last update of the template; a flag changes one part of it', async () => {
  const gateway = withSwap(swapExecution({ state: 'completed' }), completed);
  const argv = ['template', 'update', 'rhel9-base', '--ova', '/x.ova', '--version', '9.7', '--sha256', digest];
  const { exit, stderr } = await runCli([...argv, '--datastore', 'LocalDS_1'], { gateway });
  assert.equal(exit, 0);
  assert.match(stderr, /placement as in the last update of \/DC0\/vm\/rhel9-base on vc1/);
  const request = requestOf(gateway);
  assert.equal(request.vcenter, 'vc1');
  assert.deepEqual(request.placement, { ...placement, datastore: 'LocalDS_1' });
});

test('placement is never guessed between several templates of one name', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.executions.push(elsewhere('vc2', '/DC0/vm/a'));
  const argv = ['template', 'update', 'rhel9-base', '--ova', '/x.ova', '--version', '9.7', '--sha256', digest];
  assert.equal(errorOf(await runCli([...argv, '-o', 'json'], { gateway })).reason, 'NAME_AMBIGUOUS');
  const narrowed = await runCli([...argv, '--vcenter', 'vc2'], { gateway });
  assert.equal(narrowed.exit, 0);
  assert.equal(requestOf(gateway).placement.folder, '/DC0/vm/a');
});

test('with the placement remembered only the OVA is missing, and nothing stands before that', async () => {
  const gateway = withSwap(swapExecution({ state: 'completed' }), completed);
  const { exit, stderr } = await runCli(['template', 'update', 'rhel9-base'], { gateway });
  assert.equal(exit, 2);
  assert.match(stderr, /^error: can't update template rhel9-base: --ova is missing/);
});

test('without anything to take it from, every missing flag is named with a full example', async () => {
  const { exit, stderr } = await runCli(['template', 'update', 'web', '--datastore', 'fast'], {
    gateway: new FakeGateway(),
  });
  assert.equal(exit, 2);
  assert.equal(
    stderr,
    block(`
      error: can't update template web: --vcenter, --datacenter, --cluster, --network, --ova missing, and no earlier update of "web" to take it from
        next    vmflow template update web --ova /images/rhel-9.6.ova --vcenter vc1 --datacenter DC0 --cluster DC0_C0 --datastore fast --network 'VM Network'
    `),
  );
});

test('digest and version come from a worker, which reads the file it sees', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.answers = { ova: ovaAnswer };
  const { exit, stderr } = await runCli(['template', 'update', 'rhel9-base', '--ova', 'rhel.ova'], { gateway });
  assert.equal(exit, 0);
  assert.deepEqual(gateway.lookups, [{ what: 'ova', location: '/home/op/rhel.ova' }]);
  assert.match(stderr, /asking a worker to read \/home\/op\/rhel.ova for its digest .../);
  assert.match(stderr, /warning: no manifest\nversion 9.6, sha256 abab/);
  assert.deepEqual(requestOf(gateway).source, { kind: 'file', path: '/home/op/rhel.ova', sha256: digest, size: 42 });
  assert.deepEqual(requestOf(gateway).target, { version: '9.6' });
});

test('a digest that doesn’t match what the worker reads is refused before anything is started', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.answers = { ova: ovaAnswer };
  const argv = ['template', 'update', 'rhel9-base', '--ova', '/x.ova', '--sha256', 'cd'.repeat(32), '-o', 'json'];
  assert.equal(errorOf(await runCli(argv, { gateway })).reason, 'DIGEST_MISMATCH');
  assert.deepEqual(gateway.started, []);
});

test('an OVA that says no version asks for --version', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.answers = { ova: { what: 'ova', sha256: digest, size: 42, warnings: [] } };
  const error = errorOf(
    await runCli(['template', 'update', 'rhel9-base', '--ova', '/x.ova', '-o', 'json'], { gateway }),
  );
  assert.deepEqual([error.code, error.reason], [2, 'VERSION_MISSING']);
});

test('no worker: exit 6, sent but not acknowledged', async () => {
  const gateway = new FakeGateway();
  gateway.startAnswer = noWorker(`start ${swapId}`);
  const { exit, stderr } = await runCli(['template', 'update', 'rhel9-base', ...fullFlags], { gateway });
  assert.equal(exit, 6);
  assert.match(stderr, /sent, not yet acknowledged: is a worker running\?\n {2}next {4}vmflow doctor/);
});

test('template/31 a name of 81 characters is refused without any call', async () => {
  const gateway = new FakeGateway();
  const { exit, stderr } = await runCli(['template', 'update', 'x'.repeat(81), ...fullFlags], { gateway });
  assert.equal(exit, 2);
  assert.match(stderr, /the request isn't valid: template: NAME_TOO_LONG/);
  assert.deepEqual(gateway.started, []);
});

test('template/32 a name with a slash keeps one place in id, link and attribute', async () => {
  const gateway = new FakeGateway();
  const { stdout } = await runCli(['template', 'update', 'a/b', ...fullFlags, '-o', 'json'], { gateway });
  assert.equal(gateway.started[0]?.start.workflowId, 'template-swap/vc1/DC0/vm/a%2fb');
  assert.match(stdout, /workflows\/template-swap%2Fvc1%2FDC0%2Fvm%2Fa%252fb\/run-1\/history/);
});

const requestFile = `
apiVersion: vmflow.dev/v1
kind: TemplateSwapRequest
vcenter: vc1
placement: { datacenter: DC0, cluster: DC0_C0, datastore: LocalDS_0, network: VM Network }
template: { prodName: rhel9-base }
source: { kind: file, path: /images/rhel.ova, sha256: ${digest} }
target: { version: "9.6" }
options: { keepRollbackMinutes: 60, tags: [a/b] }
`;
const reading = (text: string): { readText: () => Promise<string> } => ({ readText: () => Promise.resolve(text) });

test('a request file holds everything; flags override parts of it', async () => {
  const gateway = new FakeGateway();
  const argv = ['template', 'update', '-f', '-', '--keep', '2h', '--version', '9.7'];
  const { exit, stderr } = await runCli(argv, { gateway, runtime: reading(requestFile) });
  assert.deepEqual([exit, stderr], [0, '']);
  const request = requestOf(gateway);
  assert.deepEqual(request.options, { keepRollbackMinutes: 120, tags: ['a/b'] });
  assert.deepEqual(request.target, { version: '9.7' });
  assert.equal(request.source.sha256, digest);
});

test('another OVA on the command line drops the digest that the file gives for its own', async () => {
  const gateway = new FakeGateway();
  gateway.answers = { ova: { ...ovaAnswer, sha256: 'cd'.repeat(32) } };
  await runCli(['template', 'update', '-f', 'r.yaml', '--ova', '/other.ova'], {
    gateway,
    runtime: reading(requestFile),
  });
  assert.equal(requestOf(gateway).source.sha256, 'cd'.repeat(32));
});

const badFiles: readonly [string, string, RegExp][] = [
  ['broken YAML', 'a: [', /- *: .*at line 1/],
  ['no mapping', '- a', /one mapping is expected/],
  [
    'another template',
    'template: { prodName: other }',
    /the file is for template "other", the command for "rhel9-base"/,
  ],
  ['an unknown field', `${requestFile}\nnope: 1`, /the request isn't valid: .*nope/],
  [
    'a URL with a password',
    requestFile.replace('kind: file, path: /images/rhel.ova', 'kind: http, url: "https://u:planted@h/x.ova"'),
    /the request isn't valid: source\.url: /,
  ],
];
for (const [what, text, message] of badFiles) {
  test(`a request file with ${what} is a usage error that says where`, async () => {
    const gateway = new FakeGateway();
    const { exit, stderr } = await runCli(['template', 'update', 'rhel9-base', '-f', '-'], {
      gateway,
      runtime: reading(text),
    });
    assert.equal(exit, 2);
    assert.match(stderr, message.source.startsWith('-') ? /standard input: .*line 1/s : message);
    assert.doesNotMatch(stderr, /planted/);
    assert.deepEqual(gateway.started, []);
  });
}

async function updateAndWait(statuses: readonly unknown[], more: readonly string[] = []) {
  const gateway = withSwap(swapExecution(), ...statuses);
  return runCli(['template', 'update', 'rhel9-base', ...fullFlags, '--wait', ...more], { gateway });
}

const failed = (type: string) =>
  swapStatus({
    status: 'Failed',
    reason: 'CODE',
    message: 'it failed',
    failure: { type, message: 'it failed', details: { code: 'CODE' } },
  });
const waits: readonly [string, readonly unknown[], number][] = [
  ['Completed', [swapStatus(), completed], 0],
  ['keeping the previous version', [swapStatus(), keeping], 0],
  ['Failed for want of a privilege', [swapStatus(), failed('Forbidden')], 4],
  ['Failed because of a foreign object', [failed('Foreign')], 5],
  ['Failed because the template is missing', [failed('NotFound')], 3],
  ['Failed because vCenter is away', [failed('Unavailable')], 7],
  ['Failed on the way', [failed('LeaseLost')], 1],
  ['Cancelled', [swapStatus({ status: 'Cancelled' })], 8],
  ['rolled back by somebody', [swapStatus({ status: 'Undone' })], 8],
  ['in a conflict', [swapStatus(), inConflict], 5],
  ['aimed at another version by somebody', [swapStatus({ target: { version: '9.9', sha256: digest } })], 8],
];
for (const [what, statuses, wanted] of waits) {
  test(`--wait: an update that ends ${what} gives ${wanted}`, async () => {
    const { exit, stdout } = await updateAndWait(statuses);
    assert.equal(exit, wanted);
    assert.match(stdout, /^rhel9-base {3}/);
  });
}

test('--wait prints progress on standard error and one document with -o json', async () => {
  const result = await updateAndWait([swapStatus(), completed], ['-o', 'json']);
  assert.equal(documentOf(result, 'TemplateSwap')['phase'], 'Completed');
  assert.match(result.stderr, /rhel9-base: running import under the temp name\n/);
});

test('--wait=PHASE ends when the phase is reached or passed', async () => {
  const gateway = withSwap(swapExecution(), swapStatus({}, 'preflight'), swapStatus({ status: 'Swapping' }, 'swap'));
  const argv = ['template', 'update', 'rhel9-base', ...fullFlags, '--wait=import'];
  const { exit, stdout } = await runCli(argv, { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /Swapping/);
});

test('--wait with --timeout gives 124', async () => {
  const { exit, stderr } = await updateAndWait([swapStatus()], ['--timeout', '5s']);
  assert.equal(exit, 124);
  assert.match(stderr, /the work goes on/);
});

const planned = (problem?: string) =>
  swapStatus(
    {
      ...completed,
      result: {
        outcome: 'planned',
        uploadedBytes: 0,
        uploadAttempts: 0,
        rollbackDestroyed: false,
        warnings: [],
        timings: {},
        plan: {
          row: '4b',
          actions: problem === undefined ? ['import', 'finalize', 'swap'] : [],
          ...(problem === undefined ? {} : { problem }),
        },
      },
    },
    'none',
  );

test('template/45 --dry-run plans with the workflow itself and prints the actions', async () => {
  const gateway = withSwap(swapExecution(), planned());
  const { exit, stdout } = await runCli(['template', 'update', 'rhel9-base', ...fullFlags, '--dry-run'], { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /row {5}4b\n {2}plan {4}1. import\n {10}2. finalize\n {10}3. swap\n/);
  assert.equal(requestOf(gateway).options?.dryRun, true);
  const { start } = gateway.started[0]!;
  assert.equal(start.memo['dryRun'], true);
  assert.match(start.summary, /^plan update template/);
});

test('template/45 a plan that can’t go on gives 5', async () => {
  const gateway = withSwap(swapExecution(), planned('PROD_MISSING'));
  const { exit, stdout } = await runCli(['template', 'update', 'rhel9-base', ...fullFlags, '--dry-run'], { gateway });
  assert.equal(exit, 5);
  assert.match(stdout, /problem PROD_MISSING/);
});

test('--dry-run beside the real update is refused: it would be that one’s result', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.startAnswer = { how: 'joined', version: '9.6', status: 'Importing' };
  const argv = ['template', 'update', 'rhel9-base', ...fullFlags, '--dry-run', '-o', 'json'];
  assert.equal(errorOf(await runCli(argv, { gateway })).code, 5);
});

test('long texts are cut between characters', () => {
  assert.equal(shortened('abc', 10), 'abc');
  const cut = shortened('模'.repeat(100), 200);
  assert.ok(Buffer.byteLength(cut) <= 200);
  assert.match(cut, /^模+…$/);
});
