import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { copyPassId } from '../../../workflows/contracts/ids.ts';
import type { Resolution } from '../../../workflows/contracts/conflict.ts';
import {
  batchView,
  entryA,
  entryExecution,
  entryInConflict,
  entryView,
  night,
  placementChanged,
  uuidA,
  uuidB,
  withBatches,
} from './batch-builders.ts';
import { omit } from '../../../client/objects.ts';
import { refusedBy, type FakeGateway } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';

const link = `http://localhost:8233/namespaces/vmflow/workflows/migration%2F${uuidA}/run-1/history`;

function queued(view: unknown = entryView()): FakeGateway {
  const gateway = withBatches(entryExecution());
  gateway.statusOf = { [entryA]: view, [night]: batchView() };
  const answers = gateway.query.bind(gateway);
  gateway.query = (target, name) => (name === 'timeline' ? Promise.resolve([]) : answers(target));
  return gateway;
}

describe('queue list', () => {
  const rows = [
    entryExecution(
      { workflowId: `migration/${uuidB}` },
      { OpVm: 'web-10', OpStatus: 'Waiting', OpWaitingFor: undefined },
    ),
    entryExecution(
      { workflowId: 'migration/u-c' },
      {
        OpVm: 'web-9',
        OpStatus: 'Performing final import tasks',
        OpAtRisk: true,
        OpDeadline: '2026-03-01T15:00:00.000Z',
      },
    ),
    entryExecution({}, { OpStatus: 'Conflict', OpWaitingFor: 'person', OpConflict: 'NETWORK_GONE' }),
    entryExecution({ workflowId: 'migration/u-d', state: 'completed' }, { OpVm: 'web-1', OpStatus: 'Finished' }),
  ];

  test('shows who needs a person first, then whose source is off; needs no worker', async () => {
    const gateway = withBatches(...rows);
    gateway.polled = {};
    const { exit, stdout } = await runCli(['queue', 'list', '--batch', 'night-1'], { gateway });
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      block(`
        VM      BATCH    PHASE                          PROGRESS  WAITING-FOR   WINDOW
        web-03  night-1  Conflict                       60%       NETWORK_GONE  -
        web-9   night-1  Performing final import tasks  60%       window        ends in 1 h 40 min
        web-10  night-1  Waiting                        60%       -             -
      `),
    );
    assert.deepEqual(gateway.queries, ["OpKind = 'migration' AND OpBatch = 'night-1' AND ExecutionStatus = 'Running'"]);
    documentOf(await runCli(['queue', 'list', '-o', 'json'], { gateway }), 'QueueList');
  });

  test('--status takes the beginning of a status', async () => {
    const gateway = withBatches(...rows);
    const names = async (status: string): Promise<string> =>
      (await runCli(['queue', 'list', '--status', status, '-o', 'name'], { gateway })).stdout;
    assert.equal(await names('conflict'), 'web-03\n');
    assert.equal(await names('performing'), 'web-9\n');
    assert.equal(await names('finished'), '');
  });

  test('-o wide asks each for what only it knows', async () => {
    const gateway = queued(entryView({ window: 'sat' }));
    const { stdout } = await runCli(['queue', 'list', '-o', 'wide'], { gateway });
    assert.match(stdout, /sat .*Waiting for migration window/);
  });

  test('an empty queue is an empty list', async () => {
    const { exit, stdout, stderr } = await runCli(['queue', 'list'], { gateway: withBatches() });
    assert.deepEqual([exit, stdout, stderr], [0, '', 'no VM is in the queue\n']);
  });
});

describe('queue get', () => {
  test('shows steps, what it waits for and until when, where it goes', async () => {
    const { exit, stdout } = await runCli(['queue', 'get', 'web-03'], { gateway: queued() });
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      block(`
        web-03   Idle (awaiting-window) since 13:02 (18 min)   batch night-1   vc1 → tgt/default
          ✓ done     Check whether it can migrate
          ✓ done     Create the target instance
          ✓ done     Copy the disks while the source runs
          ● running  Wait for its window
          ○ to come  Source off, copy what has changed
          waiting for its window (awaiting-window: Waiting for migration window) since 13:02 (18 min), until 22:00 (8 h 40 min); ends with: vmflow queue cancel ${uuidA}
          goes to pools fast; networks br0; started at the end
          next    vmflow queue watch ${uuidA}
                  vmflow queue cancel ${uuidA}
          link    ${link}
      `),
    );
  });

  test('a conflict shows what was wanted and found, and only the choices that exist, as commands', async () => {
    const { stdout } = await runCli(['queue', 'get', uuidA], { gateway: queued(entryInConflict) });
    assert.match(
      stdout,
      new RegExp(
        [
          'reason  PLACEMENT_CHANGED: cpus 4 → 8 at the source, so the program now chooses project p2',
          ' +wanted {2}project p1',
          ' +found {3}project p2',
          ' +options --decision recheck {3}check again, go on if it fits',
          ' +--decision cancel {4}leave web-03 out of night-1',
          ` +next {4}vmflow queue resolve ${uuidA} --decision recheck`,
          ` +vmflow queue resolve ${uuidA} --decision cancel\n`,
        ].join('\n'),
      ),
    );
    assert.match(
      stdout,
      /risk {4}its source is switched off, or about to be \(window sat, which ends 15:00 .*rolled back\)/,
    );
    assert.doesNotMatch(stdout, /waiting/);
  });

  test('a copy under way shows bytes and attempts', async () => {
    const phase = 'Performing background import tasks';
    const gateway = queued(entryView({ entryStatus: phase, copyPass: 2 }));
    gateway.executions.push(
      entryExecution(
        {
          workflowId: copyPassId(uuidA, 2),
          pending: [
            {
              ...{ type: 'copyDisk', attempt: 2, maxAttempts: 5, state: 'started', lastFailure: 'connection reset' },
              heartbeat: { phase: 'copying', bytesRead: 3 * 1024 ** 3, bytesTotal: 10 * 1024 ** 3 },
            },
          ],
        },
        { OpKind: 'copy-pass' },
      ),
    );
    const { stdout } = await runCli(['queue', 'get', 'web-03'], { gateway });
    assert.match(stdout, /pass 2: 3\.0 GiB of 10\.0 GiB \(30%\), attempt 2 after: connection reset/);
    const document = documentOf(await runCli(['queue', 'get', 'web-03', '-o', 'json'], { gateway }), 'QueueEntry');
    assert.equal((document.copy as { bytesDone: number }).bytesDone, 3 * 1024 ** 3);
  });

  test('a call that a far side refuses again and again is what it waits for', async () => {
    const view = omit(
      entryView({ entryStatus: 'Worker tasks complete', message: 'Performing final checks' }),
      'waitingFor',
    );
    const gateway = queued(view);
    const refused = { type: 'finalCheck', attempt: 4, maxAttempts: 0, state: 'scheduled' } as const;
    gateway.executions[0] = entryExecution({ pending: [{ ...refused, lastFailure: 'vc1 can’t be reached' }] });
    const document = documentOf(await runCli(['queue', 'get', 'web-03', '-o', 'json'], { gateway }), 'QueueEntry');
    assert.equal(document.waitingFor, 'far-side');
    assert.equal(document.message, 'Performing final checks (vc1 can’t be reached)');
    gateway.executions[0] = entryExecution({ pending: [{ ...refused, attempt: 1 }] });
    assert.doesNotMatch((await runCli(['queue', 'get', 'web-03'], { gateway })).stdout, /waiting for/);
  });

  test('documents have the history too', async () => {
    const gateway = queued();
    const timeline = [
      { at: '2026-03-01T12:30:00.000Z', status: 'Waiting', message: 'Performing initial migration checks' },
    ];
    gateway.query = (_target, name) => Promise.resolve(name === 'timeline' ? timeline : entryView());
    const document = documentOf(await runCli(['queue', 'get', 'web-03', '-o', 'json'], { gateway }), 'QueueEntry');
    assert.deepEqual(document.timeline, timeline);
    const wide = await runCli(['queue', 'get', 'web-03', '-o', 'wide'], { gateway });
    assert.match(wide.stdout, /so far {2}12:30 \(50 min\) {2}Waiting: Performing initial migration checks\n/);
  });

  test('without a worker it shows what Temporal recorded', async () => {
    const gateway = queued();
    gateway.polled = {};
    const { exit, stdout } = await runCli(['queue', 'get', 'web-03'], { gateway });
    assert.equal(exit, 0);
    assert.match(stdout, /^web-03 {3}Idle {3}batch night-1 .*note {4}no worker can answer/s);
  });

  test('a name that several VMs have lists them with their uuids and chooses none', async () => {
    const gateway = withBatches(
      entryExecution(),
      entryExecution(
        { workflowId: `migration/${uuidB}` },
        { OpBatch: 'night-2', OpSource: 'vc2', OpStatus: 'Blocked' },
      ),
    );
    const { exit, stdout, stderr } = await runCli(['queue', 'get', 'web-03'], { gateway });
    assert.equal(exit, 3);
    assert.equal(stdout, '');
    assert.equal(
      stderr,
      block(`
        error: there are 2 VMs named "web-03" in the queue
          why     ${uuidA}  (batch night-1, source vc1, Idle)
                  ${uuidB}  (batch night-2, source vc2, Blocked)
          next    use the uuid instead of the name, or name the batch with --batch
      `),
    );
    gateway.statusOf = { [entryA]: entryView(), [`migration/${uuidB}`]: entryView({ batch: 'night-2', uuid: uuidB }) };
    for (const one of [uuidB, uuidB.toUpperCase(), `migration/${uuidB}`])
      assert.equal((await runCli(['queue', 'get', one], { gateway })).exit, 0);
    const narrowed = await runCli(['queue', 'get', 'web-03', '--batch', 'night-2', '-q'], { gateway });
    assert.equal(narrowed.stdout, `${uuidB}\n`);
  });

  test('one that is over is found by its name as long as Temporal remembers it', async () => {
    const gateway = withBatches(
      entryExecution({ state: 'completed', runId: 'run-2' }, { OpStatus: 'Finished' }),
      entryExecution({ state: 'continued' }),
    );
    const { exit, stdout } = await runCli(['queue', 'get', 'web-03'], { gateway });
    assert.equal(exit, 0);
    assert.match(stdout, /^web-03 {3}Finished/);
  });

  test('one that nobody knows gives 3', async () => {
    for (const name of ['web-03', uuidA, 'no such name'])
      assert.ok([2, 3].includes((await runCli(['queue', 'get', name], { gateway: withBatches() })).exit), name);
    const { reason } = errorOf(await runCli(['queue', 'get', 'web-03', '-o', 'json'], { gateway: withBatches() }));
    assert.equal(reason, 'ENTRY_NOT_FOUND');
  });
});

describe('queue watch', () => {
  const ends: readonly (readonly [string, Parameters<typeof entryView>[0], number])[] = [
    ['Finished', { entryStatus: 'Finished' }, 0],
    ['an Error', { entryStatus: 'Error' }, 1],
    ['Canceled', { entryStatus: 'Canceled' }, 8],
    ['in conflict', { entryStatus: 'Conflict', conflict: placementChanged }, 5],
  ];
  for (const [what, view, exit] of ends)
    test(`ends with ${exit} when it is ${what}`, async () => {
      const idle = omit(entryView(view), 'substate');
      assert.equal((await runCli(['queue', 'watch', 'web-03'], { gateway: queued(idle) })).exit, exit);
    });

  test("what is still being cleaned up isn't over", async () => {
    const gateway = queued(entryView({ entryStatus: 'Canceled', substate: 'cleanup-pending' }));
    const { exit, stderr } = await runCli(['queue', 'watch', 'web-03', '--timeout', '10s'], { gateway });
    assert.equal(exit, 124);
    assert.match(stderr, new RegExp(`the work goes on: vmflow queue watch ${uuidA}`));
  });
});

describe('queue resolve', () => {
  const argv = ['queue', 'resolve', 'web-03'];

  test('without a decision it shows what can be decided, ready to paste', async () => {
    const { exit, stdout, stderr } = await runCli(argv, { gateway: queued(entryInConflict) });
    assert.equal(exit, 2);
    assert.equal(stdout, '');
    assert.equal(
      stderr,
      block(`
        error: which decision? web-03 is in conflict: cpus 4 → 8 at the source, so the program now chooses project p2
          why     --decision recheck: check again, go on if it fits
                  --decision cancel: leave web-03 out of night-1
          next    vmflow queue resolve ${uuidA} --decision recheck
                  vmflow queue resolve ${uuidA} --decision cancel
          link    ${link}
      `),
    );
    const wrong = await runCli([...argv, '--decision', 'ignore', '-o', 'json'], { gateway: queued(entryInConflict) });
    assert.equal(errorOf(wrong).reason, 'DECISION_UNKNOWN');
  });

  test('sends the decision for the conflict that was seen', async () => {
    const gateway = queued(entryInConflict);
    gateway.updateAnswer = { result: 'waiting' };
    const { exit, stdout } = await runCli([...argv, '--decision', 'recheck', '--reason', 'put back'], { gateway });
    assert.equal(exit, 0);
    assert.equal(stdout, `web-03: resolved, it goes on\n  look    vmflow queue get ${uuidA}\n`);
    const [{ update } = assert.fail()] = gateway.updates;
    const body: Resolution = { conflictId: placementChanged.id, decision: 'recheck', by: 'op', reason: 'put back' };
    assert.deepEqual(update.body, body);
    assert.match(update.updateId, /^resolve\/PLACEMENT_CHANGED.*recheck$/);
  });

  test('the same conflict again gives 5', async () => {
    const gateway = queued(entryInConflict);
    const conflict = { code: 'PLACEMENT_CHANGED', message: 'project p2 is still chosen', expected: 'p1', found: 'p2' };
    gateway.updateAnswer = { result: 'conflict', conflict };
    const result = await runCli([...argv, '--decision', 'recheck', '-o', 'json'], { gateway });
    const { code, reason, message } = errorOf(result);
    assert.deepEqual([code, reason], [5, 'PLACEMENT_CHANGED']);
    assert.match(message, /in conflict again: project p2 is still chosen; wanted p1, found p2/);
  });

  test('without a conflict, or when it is over, it gives 5', async () => {
    const none = await runCli([...argv, '--decision', 'recheck', '-o', 'json'], { gateway: queued() });
    assert.deepEqual([none.exit, errorOf(none).reason], [5, 'NO_CONFLICT']);
    const over = withBatches(entryExecution({ state: 'completed' }));
    assert.equal(errorOf(await runCli([...argv, '-o', 'json'], { gateway: over })).reason, 'ENTRY_OVER');
  });

  test('--wait ends with the next conflict, not with the one that was answered', async () => {
    const gateway = queued();
    const later = { ...placementChanged, since: '2026-03-01T13:21:00.000Z' };
    const views = [
      entryInConflict,
      entryInConflict,
      entryView({ entryStatus: 'Worker tasks complete' }),
      { ...entryInConflict, conflict: later },
    ];
    gateway.query = () => Promise.resolve(views.length > 1 ? views.shift() : views[0]);
    gateway.updateAnswer = { result: 'revalidating' };
    const { exit, stderr } = await runCli([...argv, '--decision', 'recheck', '--wait'], { gateway });
    assert.equal(exit, 5);
    assert.match(stderr, /^web-03: accepted, everything is being checked again\n/);
    assert.equal(views.length, 1);
  });
});

describe('orders to a VM', () => {
  const plain: readonly (readonly [string, object])[] = [
    ['retry', { by: 'op' }],
    ['hold', { by: 'op' }],
    ['unhold', { by: 'op' }],
    ['cancel', { cleanup: false, by: 'op' }],
  ];
  for (const [verb, body] of plain)
    test(`${verb} needs no question`, async () => {
      const gateway = queued();
      gateway.updateAnswer = `${verb} done`;
      const { exit, stdout } = await runCli(['queue', verb, 'web-03'], { gateway });
      assert.equal(exit, 0);
      assert.equal(stdout, `web-03: ${verb} done\n  look    vmflow queue get ${uuidA}\n`);
      assert.deepEqual([gateway.updates[0]?.update.name, gateway.updates[0]?.update.body], [verb, body]);
    });

  test('retry --wait follows what comes of it, not what it was before', async () => {
    const gateway = queued();
    const done = omit(entryView(), 'substate');
    const views = [
      { ...done, entryStatus: 'Canceled' },
      { ...done, entryStatus: 'Waiting' },
      { ...done, entryStatus: 'Finished' },
    ];
    gateway.query = () => Promise.resolve(views.length > 1 ? views.shift() : views[0]);
    const { exit, stdout } = await runCli(['queue', 'retry', 'web-03', '--wait'], { gateway });
    assert.equal(exit, 0);
    assert.match(stdout, /^web-03 {3}Finished/);
  });

  for (const verb of ['cancel --cleanup', 'cleanup'])
    test(`${verb} wants the name of the VM`, async () => {
      const argv = ['queue', ...verb.split(' '), 'web-03'];
      const gateway = queued();
      assert.equal((await runCli([...argv, '--yes'], { gateway })).exit, 2);
      assert.equal((await runCli([...argv, '--yes', '--confirm', 'web-04'], { gateway })).exit, 2);
      assert.equal(gateway.updates.length, 0);
      assert.equal((await runCli([...argv, '--yes', '--confirm', 'web-03'], { gateway })).exit, 0);
      const ask = (): Promise<string> => Promise.resolve('web-03\n');
      assert.equal((await runCli(argv, { gateway, isTerminal: true, runtime: { ask } })).exit, 0);
    });

  test('delete asks', async () => {
    const gateway = queued();
    assert.equal((await runCli(['queue', 'delete', 'web-03'], { gateway })).exit, 2);
    assert.equal((await runCli(['queue', 'delete', 'web-03', '--yes'], { gateway })).exit, 0);
  });

  test('cutover within an open window asks nothing', async () => {
    const gateway = queued();
    assert.equal((await runCli(['queue', 'cutover', 'web-03'], { gateway })).exit, 0);
    gateway.statusOf[night] = batchView({ windows: [] });
    assert.equal((await runCli(['queue', 'cutover', 'web-03'], { gateway })).exit, 0);
  });

  test('cutover outside asks and names the window; a script says yes and why', async () => {
    const gateway = queued();
    gateway.statusOf[night] = batchView({ windows: batchView().windows.slice(1) });
    const argv = ['queue', 'cutover', 'web-03'];
    const silent = await runCli(argv, { gateway });
    assert.equal(silent.exit, 2);
    assert.match(silent.stderr, /its next window is sun: to come, begins in 23 h 40 min/);
    assert.match((await runCli([...argv, '--yes'], { gateway })).stderr, /add --reason/);
    assert.equal(gateway.updates.length, 0);
    assert.equal((await runCli([...argv, '--yes', '--reason', 'agreed'], { gateway })).exit, 0);
    gateway.polled = {};
    assert.equal((await runCli(argv, { gateway })).exit, 2, "who can't see the windows has to ask");
  });

  test('--dry-run says what it would do and sends nothing', async () => {
    for (const verb of ['cancel', 'retry', 'hold', 'unhold', 'cutover', 'cleanup', 'delete']) {
      const gateway = queued();
      const result = await runCli(['queue', verb, 'web-03', '--dry-run', '-o', 'json'], { gateway });
      assert.deepEqual([result.exit, gateway.updates.length], [0, 0], verb);
      assert.equal(documentOf(result, 'Plan').verb, verb);
    }
  });

  test('a refusal gives 5 in the words of the workflow', async () => {
    const gateway = queued();
    gateway.updateAnswer = refusedBy('WRONG_STATUS', 'it is Idle, only a Canceled one is retried');
    const result = await runCli(['queue', 'retry', 'web-03', '-o', 'json'], { gateway });
    assert.deepEqual([result.exit, errorOf(result).message], [5, 'it is Idle, only a Canceled one is retried']);
  });

  test('one that is no longer in the queue is told nothing', async () => {
    const gateway = withBatches(entryExecution({ state: 'completed' }, { OpStatus: 'Finished' }));
    const { exit } = await runCli(['queue', 'cancel', 'web-03'], { gateway });
    assert.deepEqual([exit, gateway.updates.length], [5, 0]);
  });
});

describe('queue explain', () => {
  test('says what is waited for, what was chosen by which rule, and what is in the way', async () => {
    const gateway = queued();
    gateway.answers = {
      placement: {
        what: 'placement',
        found: {
          reasons: [
            { field: 'target', value: 'tgt', why: 'default of the batch' },
            { field: 'pool:[ds] web/web.vmdk', value: 'fast', why: 'placement rule 1' },
          ],
          constraint: 'web',
          obstacles: ['target "tgt" has no storage pool "fast"'],
        },
      },
    };
    const { exit, stdout } = await runCli(['queue', 'explain', 'web-03'], { gateway });
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      block(`
        web-03   Idle   batch night-1
          waiting for its window (awaiting-window: Waiting for migration window) since 13:02 (18 min), until 22:00 (8 h 40 min); ends with: vmflow queue cancel ${uuidA}
          limit   constraint web
          goes to target = tgt                    default of the batch
                  pool:[ds] web/web.vmdk = fast   placement rule 1
          blocked target "tgt" has no storage pool "fast"
          next    vmflow queue watch ${uuidA}
                  vmflow queue cancel ${uuidA}
      `),
    );
    assert.deepEqual(gateway.lookups, [{ what: 'placement', batch: 'night-1', uuid: uuidA }]);
    documentOf(await runCli(['queue', 'explain', 'web-03', '-o', 'json'], { gateway }), 'QueueExplanation');
  });

  test("a VM that its source doesn't have any more is told so", async () => {
    const gateway = queued(entryInConflict);
    gateway.answers = { placement: { what: 'placement' } };
    const { stdout } = await runCli(['queue', 'explain', 'web-03'], { gateway });
    assert.match(stdout, /waiting a decision by a person: cpus .*\n {2}blocked its source has no such VM any more/);
  });
});
