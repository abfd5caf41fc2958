import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shardId } from '../../../workflows/contracts/ids.ts';
import { CliError } from '../../../client/errors.ts';
import { batchExecution, batchView, entryExecution, night, uuidA, withBatches } from './batch-builders.ts';
import { refusedBy, type FakeGateway } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';

const link = 'http://localhost:8233/namespaces/vmflow/workflows/batch%2Fnight-1/run-1/history';

function running(view = batchView()): FakeGateway {
  const gateway = withBatches(batchExecution());
  gateway.statusOf[night] = view;
  return gateway;
}

describe('batch list', () => {
  test('shows totals and the window that is open or comes next', async () => {
    const gateway = running();
    const { exit, stdout } = await runCli(['batch', 'list'], { gateway });
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      block(`
        NAME     PHASE    DONE  RUNNING  WAITING  CONFLICT  FAILED  NEXT-WINDOW  ETA
        night-1  Running  2     1        1        1         0       sat (open)   -
      `),
    );
    assert.deepEqual(gateway.queries, ["OpKind = 'batch' AND ExecutionStatus = 'Running'"]);
    documentOf(await runCli(['batch', 'list', '-o', 'json'], { gateway }), 'BatchList');
  });

  test('names come in natural order, times of arrival are ranges', async () => {
    const gateway = withBatches(
      ...['b-10', 'b-9'].map((name) =>
        batchExecution({ workflowId: `batch/${name}`, attributes: { OpKind: 'batch', OpBatch: name } }),
      ),
    );
    const [from, to] = ['2026-03-01T12:20:00.000Z', '2026-03-01T14:10:00.000Z'];
    const half = { at: Date.parse('2026-03-01T13:20:00.000Z'), done: 10 };
    const pace = { samples: [{ at: Date.parse(from), done: 0 }, half], total: 20 };
    const window = { name: 'fri', start: from, end: to, capacity: 0, held: 0, state: 'open' } as const;
    gateway.statusOf['batch/b-9'] = batchView({ batch: 'b-9', windows: [window], pace });
    gateway.statusOf['batch/b-10'] = batchView({ batch: 'b-10', windows: [], pace });
    const { stdout } = await runCli(['batch', 'list', '--columns', 'NAME,NEXT-WINDOW,ETA'], { gateway });
    assert.equal(
      stdout,
      [
        'NAME  NEXT-WINDOW  ETA',
        'b-9   fri (open)   in 40 min or later',
        'b-10  -            in 40 min to in 2 h',
        '',
      ].join('\n'),
    );
  });

  test('without a worker it shows what Temporal recorded, and says so', async () => {
    const gateway = running();
    gateway.polled = {};
    const { stdout, stderr } = await runCli(['batch', 'list'], { gateway });
    assert.match(stdout, /night-1 {2}Running {2}- /);
    assert.match(stderr, /no worker can answer/);
  });

  test('no batches: an empty list, and how to make one', async () => {
    const { exit, stdout, stderr } = await runCli(['batch', 'list'], { gateway: withBatches() });
    assert.deepEqual([exit, stdout], [0, '']);
    assert.match(stderr, /vmflow batch apply -f FILE/);
  });
});

describe('batch get', () => {
  test('shows totals, windows, limits and what to do next', async () => {
    const { exit, stdout } = await runCli(['batch', 'get', 'night-1'], { gateway: running() });
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      block(`
        night-1   Running since 12:30 (50 min)
          now     2 finished, 1 need attention
          VMs     5: 2 finished, 1 in their downtime, 1 waiting, 1 in conflict
          windows sat: open, ends in 1 h 40 min, 1 of 2 places taken
                  sun: to come, begins in 23 h 40 min, 0 VMs in it
          limits  web: 1 of 1 in their downtime
          waiting for a decision by a person (Running: 2 finished, 1 need attention) since 12:30 (50 min), no deadline
          next    vmflow queue list --batch night-1 --status conflict
                  vmflow batch watch night-1
          link    ${link}
      `),
    );
  });

  test('a window is as it is now, whatever the batch last saw of it', async () => {
    const seen = batchView();
    const windows = seen.windows.map((window) => ({ ...window, state: 'ahead' as const }));
    const gateway = running();
    gateway.statusOf['batch/night-1'] = { ...seen, windows };
    const { stdout } = await runCli(['batch', 'get', 'night-1'], { gateway });
    assert.match(stdout, /sat: open, ends in 1 h 40 min/);
  });

  test('says when it will be done only while something goes on without a person', async () => {
    const from = Date.parse('2026-03-01T13:10:00.000Z');
    const samples = [
      { at: from, done: 0 },
      { at: from + 300_000, done: 2 },
    ];
    const pace = { samples, total: 5 };
    const shown = async (counts: ReturnType<typeof batchView>['counts']): Promise<string> => {
      const gateway = running(batchView({ windows: [], counts, pace }));
      return (await runCli(['batch', 'get', 'night-1'], { gateway })).stdout;
    };
    assert.match(await shown({ finished: 2, running: 2, conflict: 1 }), /^ {2}eta /m);
    assert.doesNotMatch(await shown({ finished: 4, conflict: 1 }), /^ {2}eta /m);
  });

  test('as JSON it validates; names and ids are what scripts need', async () => {
    const gateway = running();
    const document = documentOf(await runCli(['batch', 'get', 'night-1', '-o', 'json'], { gateway }), 'Batch');
    assert.deepEqual([document.name, document.phase, document.etag], ['night-1', 'Running', '3']);
    assert.equal((await runCli(['batch', 'get', 'night-1', '-o', 'name'], { gateway })).stdout, 'night-1\n');
    assert.equal((await runCli(['batch', 'get', 'night-1', '-q'], { gateway })).stdout, `${night}\n`);
  });

  test('--members reads all pages of all shards, in natural order', async () => {
    const gateway = running(batchView({ shards: 2 }));
    const row = (name: string) => ({ uuid: `u-${name}`, source: 'vc1', vm: 'vm-1', name, phase: 'waiting' });
    const pages: Record<string, unknown[]> = {
      [shardId('night-1', 0)]: [{ rows: [row('web-10')], cursor: 1 }, { rows: [row('web-9')] }],
      [shardId('night-1', 1)]: [{ rows: [row('db-1')] }],
    };
    const asked: unknown[] = [];
    gateway.query = (target, _name, argument) => {
      const own = pages[target.workflowId];
      if (own === undefined) return Promise.resolve(gateway.statusOf[target.workflowId]);
      asked.push(argument);
      return Promise.resolve(own.shift());
    };
    const { stdout } = await runCli(['batch', 'get', 'night-1', '--members'], { gateway });
    assert.match(stdout, /VM {6}SOURCE .*\n {4}db-1 .*\n {4}web-9 .*\n {4}web-10 /);
    assert.deepEqual(
      asked,
      [0, 1, 0].map((cursor) => ({ cursor, limit: 200 })),
    );
  });

  test("one that isn't there gives 3", async () => {
    const result = await runCli(['batch', 'get', 'nope', '-o', 'json'], { gateway: withBatches() });
    assert.deepEqual([result.exit, errorOf(result).reason], [3, 'BATCH_NOT_FOUND']);
    const gone = withBatches(batchExecution({ state: 'completed' }));
    assert.match((await runCli(['batch', 'get', 'night-1'], { gateway: gone })).stderr, /one of that name was deleted/);
  });

  test('without a worker it shows what Temporal recorded', async () => {
    const gateway = running();
    gateway.polled = {};
    const { stdout } = await runCli(['batch', 'get', 'night-1'], { gateway });
    assert.match(stdout, /^night-1 {3}Running\n.*note {4}no worker can answer/s);
  });
});

describe('batch watch', () => {
  test('ends with 0 when all are done, and says each change once', async () => {
    const gateway = running();
    gateway.executions.push(entryExecution({}, { OpStatus: 'Conflict', OpConflict: 'NETWORK_GONE' }));
    const views = [
      batchView(),
      batchView(),
      batchView({ batchStatus: 'Finished', counts: { finished: 5 }, message: 'all 5 VMs are migrated' }),
    ];
    gateway.query = () => Promise.resolve(views.length > 1 ? views.shift() : views[0]);
    const { exit, stdout, stderr } = await runCli(['batch', 'watch', 'night-1'], { gateway });
    assert.equal(exit, 0);
    assert.equal(
      stderr,
      block(`
        night-1: Running, 5: 2 finished, 1 in their downtime, 1 waiting, 1 in conflict
        night-1: web-03 is in conflict (NETWORK_GONE); see: vmflow queue get ${uuidA}
        night-1: Finished, 5: 5 finished
      `),
    );
    assert.match(stdout, /^night-1 {3}Finished/);
  });

  const ends: readonly (readonly [string, Parameters<typeof batchView>[0], number])[] = [
    ['needs a person and nothing else moves', { counts: { finished: 4, conflict: 1 } }, 5],
    ['is stopped and nobody is in the downtime', { batchStatus: 'Stopped', counts: { waiting: 5 } }, 8],
    ['is Defined', { batchStatus: 'Defined', counts: { none: 5 } }, 0],
  ];
  for (const [what, view, exit] of ends)
    test(`ends with ${exit} when the batch ${what}`, async () => {
      const result = await runCli(['batch', 'watch', 'night-1'], { gateway: running(batchView(view)) });
      assert.equal(result.exit, exit);
    });

  for (const phase of ['waiting', 'blocked', 'queued', 'running', 'ready', 'committed'] as const)
    test(`goes on while one needs a person and another is ${phase}`, async () => {
      const views = [
        batchView({ counts: { finished: 3, conflict: 1, [phase]: 1 } }),
        batchView({ batchStatus: 'Finished', counts: { finished: 5 } }),
      ];
      const gateway = running();
      gateway.query = () => Promise.resolve(views.length > 1 ? views.shift() : views[0]);
      assert.equal((await runCli(['batch', 'watch', 'night-1'], { gateway })).exit, 0);
    });

  test('--timeout gives 124 and says how to come back; Ctrl-C gives 130', async () => {
    const late = await runCli(['batch', 'watch', 'night-1', '--timeout', '10s'], { gateway: running() });
    assert.equal(late.exit, 124);
    assert.match(late.stderr, /the work goes on: vmflow batch watch night-1/);
    const onInterrupt = () => ({ signal: AbortSignal.abort(), dispose: () => undefined });
    const left = await runCli(['batch', 'watch', 'night-1'], { gateway: running(), runtime: { onInterrupt } });
    assert.equal(left.exit, 130);
    assert.match(left.stderr, /stop {4}vmflow batch stop night-1/);
  });

  test('one that goes away gives 8', async () => {
    const gateway = running();
    const { exit, stderr } = await runCli(['batch', 'watch', 'night-1'], {
      gateway,
      runtime: {
        sleep: () => {
          gateway.executions = [];
          return Promise.resolve();
        },
      },
    });
    assert.equal(exit, 8);
    assert.match(stderr, /batch night-1 is gone/);
  });

  test('on a terminal it is drawn in place, conflicts on top with their command', async () => {
    const gateway = running(batchView({ batchStatus: 'Finished' }));
    gateway.executions.push(
      entryExecution(
        { workflowId: 'migration/u-b' },
        { OpVm: 'web-01', OpStatus: 'Performing final import tasks', OpAtRisk: true },
      ),
      entryExecution({}, { OpStatus: 'Conflict', OpConflict: 'NETWORK_GONE' }),
      entryExecution({ workflowId: 'migration/u-c' }, { OpVm: 'web-02' }),
    );
    const { stdout, stderr } = await runCli(['batch', 'watch', 'night-1', '--color', 'never'], {
      gateway,
      isTerminal: true,
    });
    assert.equal(stdout, '');
    assert.match(stderr, /VM {6}PHASE .*\nweb-03 {2}Conflict .*\nweb-01 {2}Performing final import tasks /);
    assert.match(stderr, new RegExp(`web-03: vmflow queue resolve ${uuidA}\\n`));
    assert.doesNotMatch(stderr, /web-02/);
    const all = await runCli(['batch', 'watch', 'night-1', '--show', 'all', '--color', 'never'], {
      gateway,
      isTerminal: true,
    });
    assert.match(all.stderr, /web-02/);
  });

  test('-o jsonl is one document per change', async () => {
    const { stdout } = await runCli(['batch', 'watch', 'night-1', '-o', 'jsonl'], {
      gateway: running(batchView({ batchStatus: 'Finished' })),
    });
    const lines = stdout.trimEnd().split('\n');
    assert.equal(lines.length, 1);
    assert.equal((JSON.parse(lines[0] ?? '') as { kind: string }).kind, 'Batch');
  });
});

describe('batch start', () => {
  test('says how many are queued and who is left out', async () => {
    const gateway = running();
    gateway.updateAnswer = {
      queued: 3,
      skipped: [{ uuid: uuidA, name: 'web-03', why: 'batch b2 has it' }],
      skippedCount: 2,
    };
    const { exit, stdout } = await runCli(['batch', 'start', 'night-1', '--reason', 'go'], { gateway });
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      block(`
        night-1: 3 VMs queued, 2 left out: web-03 (batch b2 has it) and 1 more
          watch   vmflow batch watch night-1
          stop    vmflow batch stop night-1
      `),
    );
    assert.deepEqual(gateway.updates[0]?.update.body, { by: 'op', reason: 'go' });
    documentOf(await runCli(['batch', 'start', 'night-1', '-o', 'json'], { gateway }), 'BatchStarted');
  });

  test('--wait follows it to its end', async () => {
    const gateway = running(batchView({ counts: { finished: 4, error: 1 } }));
    gateway.updateAnswer = { queued: 5, skipped: [], skippedCount: 0 };
    const { exit, stderr } = await runCli(['batch', 'start', 'night-1', '--wait'], { gateway });
    assert.equal(exit, 5);
    assert.match(stderr, /^night-1: 5 VMs queued\n/);
  });

  test('--wait=Running ends when it runs', async () => {
    const gateway = running();
    gateway.updateAnswer = { queued: 5, skipped: [], skippedCount: 0 };
    assert.equal((await runCli(['batch', 'start', 'night-1', '--wait=Running'], { gateway })).exit, 0);
  });

  test('a refusal gives 5 in the words of the workflow', async () => {
    const gateway = running();
    gateway.updateAnswer = refusedBy('WINDOWS_OVER', 'all windows of night-1 are over');
    const result = await runCli(['batch', 'start', 'night-1', '-o', 'json'], { gateway });
    assert.deepEqual([result.exit, errorOf(result).reason], [5, 'WINDOWS_OVER']);
  });

  test('--dry-run sends nothing', async () => {
    for (const verb of ['start', 'stop', 'resume', 'reset', 'delete']) {
      const gateway = running();
      const result = await runCli(['batch', verb, 'night-1', '--dry-run', '-o', 'json'], { gateway });
      assert.deepEqual([result.exit, gateway.updates.length], [0, 0], verb);
      assert.equal(documentOf(result, 'Plan').verb, verb);
    }
  });
});

describe('batch stop and resume', () => {
  test('say what they do', async () => {
    const gateway = running();
    gateway.updateAnswer = 'Stopped';
    const stopped = await runCli(['batch', 'stop', 'night-1'], { gateway });
    assert.equal(stopped.exit, 0);
    assert.match(stopped.stdout, /^night-1: stopped; nothing more .*\n {2}resume {2}vmflow batch resume night-1\n$/);
    gateway.updateAnswer = { queued: 0, skipped: [], skippedCount: 0 };
    assert.equal((await runCli(['batch', 'resume', 'night-1'], { gateway })).exit, 0);
    assert.deepEqual(
      gateway.updates.map(({ update }) => update.name),
      ['stop', 'resume'],
    );
  });
});

describe('batch reset', () => {
  const argv = ['batch', 'reset', 'night-1'];

  test('wants the name typed; without a terminal the flags', async () => {
    const gateway = running();
    for (const flags of [[], ['--yes'], ['--yes', '--confirm', 'night-2'], ['--force']]) {
      const { exit, stderr } = await runCli([...argv, ...flags], { gateway });
      assert.equal(exit, 2, flags.join(' '));
      assert.match(stderr, /--confirm/);
    }
    const ask = (): Promise<string> => Promise.resolve('night-2');
    assert.equal((await runCli(argv, { gateway, isTerminal: true, runtime: { ask } })).exit, 2);
    assert.equal(gateway.updates.length, 0);
  });

  test('--force is for the batch, not for the question', async () => {
    const gateway = running();
    gateway.updateAnswer = ['vm-7 is gone at its source'];
    const { exit, stdout, stderr } = await runCli([...argv, '--force', '--yes', '--confirm', 'night-1'], { gateway });
    assert.equal(exit, 0);
    assert.match(stdout, /^night-1: reset, it is Defined again\n/);
    assert.match(stderr, /warning: vm-7 is gone at its source\n/);
    assert.deepEqual(gateway.updates[0]?.update.body, { by: 'op', force: true });
  });

  test('one that takes long is accepted', async () => {
    const gateway = running();
    gateway.update = () => Promise.resolve({ completed: false });
    const { exit, stdout } = await runCli([...argv, '--yes', '--confirm', 'night-1'], { gateway });
    assert.equal(exit, 0);
    assert.match(stdout, /accepted, its entries are being ended/);
  });
});

describe('batch delete', () => {
  test('asks, and without a terminal wants --yes', async () => {
    const gateway = running();
    gateway.updateAnswer = 'deleted';
    assert.equal((await runCli(['batch', 'delete', 'night-1'], { gateway })).exit, 2);
    const done = await runCli(['batch', 'delete', 'night-1', '--yes', '-o', 'json'], { gateway });
    assert.equal(documentOf(done, 'MessageSent').answer, 'deleted');
  });
});

test('a name that is none never reaches Temporal', async () => {
  const gateway = new Proxy(withBatches(), {});
  gateway.describe = () => Promise.reject(new CliError({ exit: 'failed', reason: 'X', message: 'asked' }));
  assert.equal((await runCli(['batch', 'get', "a'b"], { gateway })).exit, 3);
  assert.equal((await runCli(['queue', 'list', '--batch', "a' OR '1"], { gateway })).exit, 2);
});
