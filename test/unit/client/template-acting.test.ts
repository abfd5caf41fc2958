import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TemplateSwapResult } from '../../../workflows/contracts/template.ts';
import {
  completed,
  digest,
  foreignTemp,
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
import { refusedBy, type FakeGateway } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';

const name = 'rhel9-base';
const confirmed = ['--yes', '--confirm', name];

test('template/44 rollback sends undo after the name was confirmed', async () => {
  const gateway = withSwap(swapExecution(), keeping);
  gateway.updateAnswer = 'going back to the previous template, as op asked';
  const { exit, stdout } = await runCli(['template', 'rollback', name, ...confirmed, '--reason', 'broken'], {
    gateway,
  });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    `${name}: going back to the previous template, as op asked\n  watch   vmflow template watch ${name}\n`,
  );
  assert.deepEqual(gateway.updates, [
    {
      target: { workflowId: swapId, runId: 'run-1' },
      update: { name: 'undo', updateId: 'undo/2026-03-01T13:02:00.000Z', body: { by: 'op', reason: 'broken' } },
    },
  ]);
});

test('prune sends endKeep after the name was confirmed', async () => {
  const gateway = withSwap(swapExecution(), keeping);
  const result = await runCli(['template', 'prune', name, ...confirmed, '-o', 'json'], { gateway });
  assert.equal(documentOf(result, 'MessageSent')['message'], 'endKeep');
  assert.deepEqual(gateway.updates[0]?.update.body, { by: 'op' });
});

const unconfirmed: readonly [string, readonly string[], boolean, RegExp][] = [
  [
    'without a terminal and flags',
    [],
    false,
    /a confirmation is needed and there is no terminal\n {2}next {4}add --yes --confirm rhel9-base/,
  ],
  ['with --yes alone', ['--yes'], false, /a confirmation is needed/],
  ['with another name', ['--yes', '--confirm', 'other'], false, /--confirm "other" is not the name "rhel9-base"/],
  ['with another name typed', [], true, /not confirmed, nothing was done/],
];
for (const [what, flags, isTerminal, message] of unconfirmed) {
  test(`prune and rollback assume nothing ${what}`, async () => {
    for (const verb of ['prune', 'rollback']) {
      const gateway = withSwap(swapExecution(), keeping);
      const { exit, stderr } = await runCli(['template', verb, name, ...flags, '--color', 'never'], {
        gateway,
        isTerminal,
      });
      assert.equal(exit, 2);
      assert.match(stderr, message);
      assert.deepEqual(gateway.updates, []);
    }
  });
}

test('on a terminal the question says what will happen, and typing the name goes on', async () => {
  const gateway = withSwap(swapExecution(), keeping);
  let question = '';
  const ask = (text: string): Promise<string> => {
    question = text;
    return Promise.resolve(` ${name}\n`);
  };
  const { exit } = await runCli(['template', 'rollback', name], { gateway, isTerminal: true, runtime: { ask } });
  assert.equal(exit, 0);
  assert.equal(
    question,
    'rhel9-base goes back from 9.6 to 9.4, and the new one is destroyed. Type the name to go on (rhel9-base): ',
  );
  assert.equal(gateway.updates.length, 1);
});

test('without a kept version rollback and prune are refused before anything is asked', async () => {
  for (const verb of ['prune', 'rollback']) {
    const gateway = withSwap(swapExecution({ state: 'completed' }), completed);
    const error = errorOf(await runCli(['template', verb, name, '-o', 'json'], { gateway }));
    assert.deepEqual([error.code, error.reason], [5, 'NOTHING_KEPT']);
  }
});

test('what a cancelled update left is pruned by the same request once more', async () => {
  const left = { ...completed.result, rollbackDestroyed: false } as TemplateSwapResult;
  const request = {
    vcenter: 'vc1',
    placement,
    template: { prodName: name },
    source: { kind: 'file', path: '/images/rhel-9.6.ova', sha256: digest },
    target: { version: '9.6' },
    options: { keepRollbackMinutes: 60 },
  };
  const setUp = (inUse: string): FakeGateway => {
    const gateway = withSwap(swapExecution({ state: 'completed' }), { ...completed, result: left });
    const template = { name, folder: '/DC0/vm', moRef: 'vm-2', isTemplate: true, version: inUse, previous: '9.4' };
    gateway.answers = { template: { what: 'template', template } };
    gateway.inputOf = request;
    return gateway;
  };
  const gateway = setUp('9.6');
  const { exit, stdout } = await runCli(['template', 'prune', name, ...confirmed], { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /^rhel9-base: accepted\n/);
  assert.deepEqual(requestOf(gateway), { ...request, options: { keepRollbackMinutes: 0 }, by: 'op' });

  const moved = setUp('9.7');
  const error = errorOf(await runCli(['template', 'prune', name, ...confirmed, '-o', 'json'], { gateway: moved }));
  assert.deepEqual([error.code, error.reason, moved.started.length], [5, 'NOTHING_KEPT', 0]);
});

test('template/44 rollback --wait ends with 0 when the previous version is back', async () => {
  const gateway = withSwap(
    swapExecution(),
    keeping,
    swapStatus({ status: 'Undoing' }),
    swapStatus({ status: 'Undone' }),
  );
  const { exit, stdout } = await runCli(['template', 'rollback', name, ...confirmed, '--wait'], { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /^rhel9-base {3}Undone/);
});

test('resolve sends the decision for exactly the conflict that was read', async () => {
  const gateway = withSwap(swapExecution(), inConflict);
  const argv = ['template', 'resolve', name, '--decision', 'retry', '--reason', 'removed the VM'];
  const { exit } = await runCli(argv, { gateway });
  assert.equal(exit, 0);
  assert.deepEqual(gateway.updates[0]?.update, {
    name: 'resolve',
    updateId: `resolve/${foreignTemp.id}/${foreignTemp.since}/retry`,
    body: { conflictId: foreignTemp.id, decision: 'retry', by: 'op', reason: 'removed the VM' },
  });
});

test('conflict, resolve, finished: the printed command does it', async () => {
  const seen = await runCli(['template', 'get', name], { gateway: withSwap(swapExecution(), inConflict) });
  const command = /next {4}vmflow (.+)\n/.exec(seen.stdout)?.[1] ?? '';
  const gateway = withSwap(swapExecution(), inConflict, completed);
  const { exit, stdout } = await runCli([...command.split(' '), '--wait'], { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /Completed/);
});

test('resolve without a decision shows the choices that exist, with their effect', async () => {
  const { exit, stderr } = await runCli(['template', 'resolve', name], {
    gateway: withSwap(swapExecution(), inConflict),
  });
  assert.equal(exit, 2);
  assert.equal(
    stderr,
    block(`
      error: which decision? rhel9-base is in conflict: a powered-on VM has the temp name "mco-tmp-1" and isn't marked as ours
        why     --decision retry: after you changed something: look again and go on if it fits
                --decision abort: give up; nothing further is changed
        next    vmflow template resolve rhel9-base --decision retry
                vmflow template resolve rhel9-base --decision abort
        link    ${swapLink}
    `),
  );
});

test('resolve refuses a decision that this conflict doesn’t offer, and a conflict that isn’t the open one', async () => {
  const gateway = withSwap(swapExecution(), inConflict);
  const unknown = errorOf(
    await runCli(['template', 'resolve', name, '--decision', 'adopt', '-o', 'json'], { gateway }),
  );
  assert.deepEqual([unknown.code, unknown.reason], [2, 'DECISION_UNKNOWN']);
  const argv = ['template', 'resolve', name, '--decision', 'retry', '--conflict', 'OTHER/vm-1', '-o', 'json'];
  const stale = errorOf(await runCli(argv, { gateway }));
  assert.deepEqual([stale.code, stale.reason], [5, 'NO_CONFLICT']);
  assert.deepEqual(gateway.updates, []);
});

test('a refusal by the workflow keeps its reason and gives 5', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.updateAnswer = refusedBy('NOT_WAITING', 'rhel9-base is not waiting for space (Importing)');
  const error = errorOf(await runCli(['template', 'retry', name, '-o', 'json'], { gateway }));
  assert.deepEqual([error.code, error.reason], [5, 'NOT_WAITING']);
});

test('retry ends the wait for space', async () => {
  const gateway = withSwap(swapExecution(), swapStatus({ status: 'WaitingForSpace', waitingFor: 'capacity' }));
  const { exit } = await runCli(['template', 'retry', name], { gateway });
  assert.equal(exit, 0);
  assert.equal(gateway.updates[0]?.update.name, 'retryNow');
});

test('an update that was accepted but hasn’t finished is told as accepted', async () => {
  const gateway = withSwap(swapExecution(), swapStatus());
  gateway.update = () => Promise.resolve({ completed: false });
  assert.match((await runCli(['template', 'retry', name], { gateway })).stdout, /^rhel9-base: accepted\n/);
});

test('nothing is sent to an update that is over', async () => {
  const gateway = withSwap(swapExecution({ state: 'completed' }), completed);
  const error = errorOf(await runCli(['template', 'retry', name, '-o', 'json'], { gateway }));
  assert.deepEqual([error.code, error.reason], [5, 'OPERATION_OVER']);
});

test('template/36 cancel requests the cancellation and --wait gives 8 when it ended so', async () => {
  const gateway = withSwap(swapExecution(), swapStatus(), swapStatus(), swapStatus({ status: 'Cancelled' }));
  const { exit, stdout } = await runCli(['template', 'cancel', name, '--wait'], { gateway });
  assert.equal(exit, 8);
  assert.match(stdout, /^rhel9-base {3}Cancelled/);
  assert.deepEqual(gateway.cancelled, [{ workflowId: swapId, runId: 'run-1' }]);
});

test('cancel --wait doesn’t take a version that is still kept for the end', async () => {
  const gateway = withSwap(swapExecution(), keeping, keeping, completed);
  const { stdout } = await runCli(['template', 'cancel', name, '--wait'], { gateway });
  assert.match(stdout, /^rhel9-base {3}Completed/);
});

test('cancel of what is over is no error', async () => {
  const gateway = withSwap(swapExecution({ state: 'completed' }), completed);
  const { exit, stdout } = await runCli(['template', 'cancel', name], { gateway });
  assert.equal(exit, 0);
  assert.match(stdout, /nothing to cancel, it is Completed/);
  const json = await runCli(['template', 'cancel', name, '-o', 'json'], { gateway });
  assert.match(json.stdout, /"kind": "MessageSent"/);
  assert.deepEqual(gateway.cancelled, []);
});

const dryRuns: readonly [readonly string[], unknown][] = [
  [['rollback'], keeping],
  [['prune'], keeping],
  [['retry'], swapStatus()],
  [['cancel'], swapStatus()],
  [['resolve', '--decision', 'retry'], inConflict],
];
for (const [[verb = '', ...flags], status] of dryRuns) {
  test(`${verb} --dry-run says what it would do and sends nothing`, async () => {
    const gateway = withSwap(swapExecution(), status);
    const result = await runCli(['template', verb, name, ...flags, '--dry-run', '-o', 'json'], { gateway });
    assert.equal(result.exit, 0);
    assert.equal(documentOf(result, 'Plan')['verb'], verb);
    assert.deepEqual([gateway.updates, gateway.cancelled], [[], []]);
  });
}
