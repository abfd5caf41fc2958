import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TemplateSwapResult } from '../../../workflows/contracts/template.ts';
import { swapNames } from '../../../workflows/domain/template/names.ts';
import {
  completed,
  elsewhere,
  inConflict,
  keeping,
  swapExecution,
  swapId,
  swapLink,
  swapStatus,
  uploading,
  withSwap,
} from './builders.ts';
import { FakeGateway, noWorker } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';

const mib = 1024 * 1024;
const knownVersions = {
  what: 'templates',
  truncated: false,
  templates: [
    { name: 'rhel9-base', folder: '/DC0/vm', moRef: 'vm-1', isTemplate: true, version: '9.4', previous: '9.3' },
    { name: 'by-hand', folder: '/DC0/vm', moRef: 'vm-7', isTemplate: true, version: '1' },
    { name: 'a-vm', folder: '/DC0/vm', moRef: 'vm-8', isTemplate: false },
  ],
} as const;

test('template list shows what vmflow worked on, with the versions that vCenter reports', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.answers = { templates: knownVersions };
  const { exit, stdout, stderr } = await runCli(['template', 'list'], { gateway });
  assert.equal(exit, 0);
  assert.equal(stderr, '');
  assert.equal(
    stdout,
    block(`
      NAME        VCENTER  VERSION  PREVIOUS  PHASE      UPDATED
      by-hand     vc1      1        -         -          -
      rhel9-base  vc1      9.4      9.3       Importing  20 min ago
    `),
  );
  assert.deepEqual(gateway.queries, ["OpKind = 'template-swap'"]);
});

test('template list has one document with -o json, names with -o name and ids with -q', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.answers = { templates: knownVersions };
  const { items } = documentOf(await runCli(['template', 'list', '-o', 'json'], { gateway }), 'TemplateList');
  const [, row] = items as Record<string, unknown>[];
  assert.deepEqual([row?.['version'], row?.['target'], row?.['link']], ['9.4', '9.6', swapLink]);
  assert.equal((await runCli(['template', 'list', '-o', 'name'], { gateway })).stdout, 'by-hand\nrhel9-base\n');
  assert.equal((await runCli(['template', 'list', '-q'], { gateway })).stdout, `${swapId}\n`);
  const lines = (await runCli(['template', 'list', '-o', 'jsonl'], { gateway })).stdout.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { name: string }).name),
    ['by-hand', 'rhel9-base'],
  );
  const yaml = (await runCli(['template', 'list', '-o', 'yaml'], { gateway })).stdout;
  assert.match(yaml, /^apiVersion: vmflow\.dev\/v1\nkind: TemplateList\nitems:\n/);
});

test('template list takes columns and leaves headers out', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  const { stdout } = await runCli(['template', 'list', '--no-lookup', '--columns', 'name,target', '--no-headers'], {
    gateway,
  });
  assert.equal(stdout, 'rhel9-base  9.6\n');
  assert.deepEqual(gateway.lookups, []);
});

test('without a worker template list still shows what Temporal knows, and says what it doesn’t', async () => {
  const gateway = withSwap(swapExecution({ attributes: { OpStatus: 'Conflict', OpConflict: 'FOREIGN_OBJECT' } }));
  gateway.polled = {};
  const { exit, stdout, stderr } = await runCli(['template', 'list', '--time', 'iso'], { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /rhel9-base {2}vc1 {6}- {8}- {9}Conflict \(FOREIGN_OBJECT\) {2}2026-03-01T13:00:00.000Z/);
  assert.match(stderr, /no worker polls task queue "vmflow": versions in use are not known/);
});

test('a vCenter that can’t be asked doesn’t hide the others', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.answers = { templates: noWorker('ask the workers (templates)') };
  const { exit, stdout, stderr } = await runCli(['template', 'list'], { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /rhel9-base/);
  assert.match(stderr, /vc1 \/DC0\/vm: versions in use are not known/);
});

test('a plan says nothing about a template: list and get show the last real update', async () => {
  const real = swapExecution({
    runId: 'run-1',
    state: 'completed',
    attributes: { OpStatus: 'Completed', OpTarget: '9.5' },
  });
  const plan = swapExecution({
    runId: 'run-2',
    state: 'completed',
    memo: { ...real.memo, version: '9.9', dryRun: true },
  });
  const gateway = withSwap(plan, completed);
  gateway.executions = [plan, real];
  const { items } = documentOf(
    await runCli(['template', 'list', '-o', 'json', '--no-lookup'], { gateway }),
    'TemplateList',
  );
  assert.deepEqual(
    (items as { runId: string; target: string }[]).map(({ runId, target }) => [runId, target]),
    [['run-1', '9.5']],
  );
});

test('template get shows phase, steps, transfer, next commands and link', async () => {
  const gateway = withSwap(swapExecution({ pending: [uploading(120 * mib)] }), swapStatus());
  const { exit, stdout } = await runCli(['template', 'get', 'rhel9-base'], { gateway });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      rhel9-base   Importing since 13:02 (18 min)   9.6 on vc1 /DC0/vm
        now     importing the OVA under the temp name
        ✓ done     check names, placement, tags and space
        ● running  import under the temp name              120 MiB of 300 MiB (40 %), 30.0 MiB/s, 6 s left
        ○ to come  swap by rename
        next    vmflow template watch rhel9-base
                vmflow template cancel rhel9-base
        link    ${swapLink}
    `),
  );
  const document = documentOf(
    await runCli(['template', 'get', 'rhel9-base', '-o', 'json'], { gateway }),
    'TemplateSwap',
  );
  assert.deepEqual(document['transfer'], {
    activity: 'importToTemp',
    phase: 'uploading',
    attempt: 1,
    maxAttempts: 5,
    sentBytes: 120 * mib,
    totalBytes: 300 * mib,
    rate: 30 * mib,
    secondsLeft: 6,
  });
});

test('a stalled upload says for how long instead of a time left', async () => {
  const stalled = uploading(120 * mib, {
    attempt: 2,
    heartbeat: {
      v: 1,
      phase: 'uploading',
      attempt: 2,
      sentBytes: 120 * mib,
      totalBytes: 300 * mib,
      rate: 0,
      stalledMs: 40_000,
      startedAt: '',
    },
  });
  const { stdout } = await runCli(['template', 'get', 'rhel9-base'], {
    gateway: withSwap(swapExecution({ pending: [stalled] }), swapStatus()),
  });
  assert.match(
    stdout,
    /120 MiB of 300 MiB \(40 %\), stalled for 40 s, lease kept alive, attempt 2 of 5, starts over \(NFC can't resume\)\n/,
  );
});

test('between two attempts it says when the next one starts and why', async () => {
  const waiting = uploading(120 * mib, {
    attempt: 2,
    state: 'scheduled',
    nextAttemptAt: '2026-03-01T13:20:10.000Z',
    lastFailure: 'the lease was lost',
  });
  const gateway = withSwap(swapExecution({ pending: [waiting] }), swapStatus());
  const { stdout } = await runCli(['template', 'get', 'rhel9-base'], { gateway });
  assert.match(
    stdout,
    /attempt 2 of 5, starts over \(NFC can't resume\), next attempt in 10 s, last failure: the lease was lost\n/,
  );
  assert.doesNotMatch(stdout, /120 MiB/);
});

test('a conflict shows reason, options with their effect, and the commands that decide it', async () => {
  const gateway = withSwap(swapExecution(), inConflict);
  const { exit, stdout } = await runCli(['template', 'get', 'rhel9-base'], { gateway });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      rhel9-base   CONFLICT since 13:02 (18 min)   9.6 on vc1 /DC0/vm
        reason  FOREIGN_OBJECT: a powered-on VM has the temp name "mco-tmp-1" and isn't marked as ours
        wanted  no object, or a VM with our marker
        found   vm-66, without a marker
        options --decision retry   after you changed something: look again and go on if it fits
                --decision abort   give up; nothing further is changed
        ✓ done     check names, placement, tags and space
        ● running  import under the temp name
        ○ to come  swap by rename
        waiting for a decision by a person since 13:02 (18 min), until 2026-03-02 13:02 (23 h 42 min); ends with: vmflow template resolve rhel9-base --decision retry
        next    vmflow template resolve rhel9-base --decision retry
                vmflow template resolve rhel9-base --decision abort
        link    ${swapLink}
    `),
  );
});

test('when no worker can answer, get shows what Temporal recorded and says so', async () => {
  for (const [polled, status] of [
    [{}, swapStatus()],
    [{ vmflow: [{ identity: 'dead' }] }, noWorker('read the state')],
  ] as const) {
    const gateway = withSwap(swapExecution(), status);
    gateway.polled = polled;
    const { exit, stdout } = await runCli(['template', 'get', 'rhel9-base'], { gateway });
    assert.equal(exit, 0);
    assert.match(stdout, /Importing since 13:00/);
    assert.match(stdout, /note {4}no worker can answer; this is what Temporal recorded last/);
    assert.match(stdout, /vmflow template cancel rhel9-base/);
  }
});

test('without a worker the result of a closed update comes from its history', async () => {
  const gateway = withSwap(swapExecution({ state: 'failed', closedAt: '2026-03-01T13:10:00.000Z' }));
  gateway.polled = {};
  gateway.outcomeOf = { failure: { type: 'NoSpace', message: 'the datastore is full' } };
  const { stdout } = await runCli(['template', 'get', 'rhel9-base'], { gateway });
  assert.match(stdout, /Failed since 13:10/);
  assert.match(stdout, /the datastore is full/);
});

test('a terminated execution is not shown as running, whatever its last status said', async () => {
  const gateway = withSwap(swapExecution({ state: 'terminated' }), swapStatus());
  const document = documentOf(
    await runCli(['template', 'get', 'rhel9-base', '-o', 'json'], { gateway }),
    'TemplateSwap',
  );
  assert.equal(document['phase'], 'Terminated');
});

test('a missing production name and a kept previous version stand out', async () => {
  const absent = swapStatus({ prodAbsentSince: '2026-03-01T13:19:58.000Z' });
  const one = await runCli(['template', 'get', 'rhel9-base'], { gateway: withSwap(swapExecution(), absent) });
  assert.match(one.stdout, /risk {4}no template has the name "rhel9-base" since 13:19 \(2 s\)/);
  const two = await runCli(['template', 'get', 'rhel9-base'], { gateway: withSwap(swapExecution(), keeping) });
  assert.match(two.stdout, /kept {4}9.4 can be brought back until 15:20 \(2 h\)/);
});

test('an unknown template is not found, and the error says how to go on', async () => {
  const error = errorOf(await runCli(['template', 'get', 'nope', '-o', 'json'], { gateway: new FakeGateway() }));
  assert.deepEqual([error.code, error.reason], [3, 'TEMPLATE_NOT_FOUND']);
  assert.equal(error.hint, 'vmflow template list\nvmflow template update nope --ova FILE|URL');
});

test('an ambiguous name lists the candidates with their ids and picks none', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.executions.push(elsewhere('vc2', '/DC0/vm/a'));
  const { exit, stderr } = await runCli(['template', 'get', 'rhel9-base'], { gateway });
  assert.equal(exit, 3);
  assert.equal(
    stderr,
    block(`
      error: there are 2 templates named "rhel9-base"
        why     template-swap/vc1/DC0/vm/rhel9-base  (vc1 /DC0/vm)
                template-swap/vc2/DC0/vm/a/rhel9-base  (vc2 /DC0/vm/a)
        next    use an id instead of the name, or add --vcenter, --datacenter or --folder
    `),
  );
});

test('an id, a vCenter or a folder tells templates of one name apart', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.executions.push(elsewhere('vc2', '/DC0/vm/a'));
  for (const argv of [
    ['template-swap/vc2/DC0/vm/a/rhel9-base'],
    ['rhel9-base', '--vcenter', 'vc2'],
    ['rhel9-base', '--folder', 'vm/a'],
  ]) {
    const { stdout } = await runCli(['template', 'get', ...argv, '-q'], { gateway });
    assert.equal(stdout, 'template-swap/vc2/DC0/vm/a/rhel9-base\n', argv.join(' '));
  }
});

test('an execution that visibility doesn’t list yet is found by vCenter and datacenter', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.list = () => Promise.resolve([]);
  const { exit } = await runCli(['template', 'get', 'rhel9-base', '--vcenter', 'vc1', '--datacenter', 'DC0'], {
    gateway,
  });
  assert.equal(exit, 0);
});

test('watch without a terminal prints one line per step and per 10 %, then the end', async () => {
  const gateway = withSwap(swapExecution(), swapStatus(), swapStatus(), swapStatus(), completed);
  const sent = [0, 12, 15, 100];
  gateway.describe = () => Promise.resolve(swapExecution({ pending: [uploading((sent.shift() ?? 300) * mib)] }));
  const { exit, stdout, stderr } = await runCli(['template', 'watch', 'rhel9-base'], { gateway });
  assert.equal(exit, 0);
  assert.equal(
    stderr,
    block(`
      rhel9-base: done check names, placement, tags and space
      rhel9-base: running import under the temp name
      rhel9-base: 0 B of 300 MiB (0 %), 30.0 MiB/s, 10 s left
      rhel9-base: done import under the temp name
      rhel9-base: done swap by rename
      rhel9-base: 100 MiB of 300 MiB (33 %), 30.0 MiB/s, 7 s left
      rhel9-base: Completed
    `),
  );
  assert.match(stdout, /^rhel9-base {3}Completed/);
  assert.match(
    stdout,
    /result {2}swapped, in use 9.6 \(vm-2\), before 9.4, without the name for 12 ms, 8.0 MiB uploaded/,
  );
});

test('watch -o jsonl prints one document per change on standard output and nothing else', async () => {
  const gateway = withSwap(swapExecution(), swapStatus(), swapStatus(), completed);
  const { exit, stdout, stderr } = await runCli(['template', 'watch', 'rhel9-base', '-o', 'jsonl'], { gateway });
  assert.equal(exit, 0);
  assert.equal(stderr, '');
  const phases = stdout
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { phase: string }).phase);
  assert.deepEqual(phases, ['Importing', 'Completed']);
});

test('watch -o json prints one valid document, progress or not', async () => {
  const gateway = withSwap(swapExecution(), swapStatus(), completed);
  documentOf(await runCli(['template', 'watch', 'rhel9-base', '-o', 'json'], { gateway }), 'TemplateSwap');
});

test('watch goes on through a conflict: somebody else may decide it', async () => {
  const gateway = withSwap(swapExecution(), inConflict, completed);
  const { exit, stderr } = await runCli(['template', 'watch', 'rhel9-base'], { gateway });
  assert.equal(exit, 0);
  assert.match(
    stderr,
    /waiting for person since 13:02 \(18 min\), until 2026-03-02 13:02 \(23 h 42 min\); ends with: vmflow template resolve rhel9-base --decision retry\n/,
  );
});

test('a wait is one line of a log however long it takes', async () => {
  const long = Array.from({ length: 300 }, () => inConflict);
  const gateway = withSwap(swapExecution(), ...long, completed);
  const { stderr } = await runCli(['template', 'watch', 'rhel9-base'], { gateway });
  assert.equal(stderr.match(/waiting for person/g)?.length, 1);
});

test('any step that has to be tried again shows its attempt and why', async () => {
  const renaming = {
    type: 'swapNames',
    attempt: 3,
    maxAttempts: 0,
    state: 'scheduled',
    heartbeat: { v: 1, phase: 'renaming rhel9-base to mco-old-1' },
    nextAttemptAt: '2026-03-01T13:20:05.000Z',
    lastFailure: "can't swap template rhel9-base on vCenter vc1: connection refused",
  } as const;
  const gateway = withSwap(swapExecution({ pending: [renaming] }), swapStatus({ status: 'Swapping' }, 'swap'));
  const { stdout } = await runCli(['template', 'get', 'rhel9-base'], { gateway });
  assert.match(
    stdout,
    /running +swap by rename +renaming rhel9-base to mco-old-1, attempt 3, next attempt in 5 s, last failure: can't swap template .*connection refused\n/,
  );
  const first = withSwap(swapExecution({ pending: [{ ...renaming, attempt: 1 }] }), swapStatus({}, 'swap'));
  assert.doesNotMatch((await runCli(['template', 'get', 'rhel9-base'], { gateway: first })).stdout, /attempt/);
});

test('an import that waits for vCenter says so', async () => {
  const away = uploading(0, { heartbeat: { v: 1, phase: 'source', attempt: 1, startedAt: '', waitingFor: 'vcenter' } });
  const gateway = withSwap(swapExecution({ pending: [away] }), swapStatus());
  const { stdout } = await runCli(['template', 'get', 'rhel9-base'], { gateway });
  assert.match(stdout, /import under the temp name +vCenter doesn't answer, trying again\n/);
});

test('after a way back the version in use is shown, and nothing is kept any more', async () => {
  const undone = swapStatus(
    {
      status: 'Undone',
      keptUntil: '2026-03-01T15:20:00.000Z',
      result: { ...completed.result, outcome: 'undone', prod: { moRef: 'vm-1', version: '9.4' } } as TemplateSwapResult,
    },
    'none',
  );
  const gateway = withSwap(swapExecution({ state: 'completed' }), undone);
  const { stdout } = await runCli(['template', 'get', 'rhel9-base'], { gateway });
  assert.match(stdout, /^rhel9-base {3}Undone since .* {3}9\.4 on vc1/);
  assert.doesNotMatch(stdout, /kept/);
});

test('template list shows what is kept under a temporary name in the row it belongs to', async () => {
  const { temp, rollback } = swapNames('rhel9-base');
  const other = swapNames('by-hand');
  const template = { folder: '/DC0/vm', moRef: 'vm-1', isTemplate: true };
  const gateway = withSwap(swapExecution(), keeping);
  gateway.answers = {
    templates: {
      what: 'templates',
      truncated: false,
      templates: [
        { ...template, name: 'rhel9-base', version: '9.6' },
        { ...template, name: rollback, version: '9.4' },
        { ...template, name: temp, version: '9.7' },
        { ...template, name: 'by-hand', version: '2' },
        { ...template, name: other.rollback, version: '1' },
      ],
    },
  };
  const { stdout } = await runCli(['template', 'list', '--columns', 'name,version,previous', '--no-headers'], {
    gateway,
  });
  assert.equal(stdout, 'by-hand     2    1\nrhel9-base  9.6  9.4\n');
});

test('waiting on a terminal shows the final state once', async () => {
  const gateway = withSwap(swapExecution(), keeping, completed);
  const { stdout, stderr } = await runCli(
    ['template', 'prune', 'rhel9-base', '--yes', '--confirm', 'rhel9-base', '--wait'],
    {
      gateway,
      isTerminal: true,
    },
  );
  assert.match(stderr, /Completed/);
  assert.equal(stdout, '');
});

test('watch on a terminal draws the whole state in place, with colour', async () => {
  const gateway = withSwap(swapExecution(), swapStatus(), completed);
  const { stdout } = await runCli(['template', 'watch', 'rhel9-base'], { gateway, isTerminal: true });
  assert.ok(stdout.includes('\u001b[J'));
  assert.equal(stdout.split('A\r\u001b[J').length, 2);
  assert.ok(stdout.includes('\u001b[32m✓ done'));
});

test('Ctrl-C stops watching, not the work, and says how to come back', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  const interrupted = new AbortController();
  const runtime = {
    onInterrupt: () => ({ signal: interrupted.signal, dispose: () => undefined }),
    sleep: () => {
      interrupted.abort();
      return Promise.resolve();
    },
  };
  const { exit, stderr } = await runCli(['template', 'watch', 'rhel9-base'], { gateway, runtime });
  assert.equal(exit, 130);
  assert.match(
    stderr,
    new RegExp(
      `stopped watching ${swapId}, the work goes on\n {2}watch {3}vmflow template watch rhel9-base\n {2}cancel {2}vmflow template cancel`,
    ),
  );
  assert.deepEqual(gateway.cancelled, []);
});

test('--timeout ends watching with 124 and the work goes on', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  const { exit, stderr } = await runCli(['template', 'watch', 'rhel9-base', '--timeout', '3s'], { gateway });
  assert.equal(exit, 124);
  assert.match(stderr, /--timeout reached, the work goes on: vmflow template watch rhel9-base\n$/);
});
