import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Happening, PastRun } from '../../../activities/history/past.ts';
import type { HistoryRecord } from '../../../activities/history/record.ts';
import { recordsOf } from '../../../activities/history/records.ts';
import { CliError } from '../../../client/errors.ts';
import type { ExecutionView } from '../../../client/gateway.ts';
import { FakeGateway } from './fake-gateway.ts';
import { errorOf, runCli, type CliResult } from './run-cli.ts';

interface Given {
  readonly runId: string;
  readonly day: number;
  readonly batch?: string;
  readonly vm?: string;
  readonly isOpen?: boolean;
}

/** An entry of a batch that alice held at noon of a day in February, and that ended a minute later. */
function pastRun({ runId, day, batch = 'shop', vm = 'web-01', isOpen = false }: Given): PastRun {
  const attributes = { OpKind: 'migration', OpBatch: batch, OpVm: vm };
  const happened: readonly Happening[] = [
    { kind: 'started', type: 'migration', memo: {}, attributes, identity: '', isContinued: false },
    { kind: 'update', name: 'hold', argument: { by: 'alice', reason: 'month end' }, identity: '' },
    ...(isOpen ? [] : [{ kind: 'end', how: 'completed' } as const]),
  ];
  const date = `2026-02-${String(day).padStart(2, '0')}`;
  return {
    workflowId: `migration/${runId}`,
    runId,
    events: happened.map((what, i) => ({ id: i + 1, at: `${date}T12:0${i}:00.000Z`, what })),
  };
}

function execution({ workflowId, runId, events }: PastRun): ExecutionView {
  const first = events[0]?.what;
  const last = events.at(-1);
  return {
    ...{ workflowId, runId, type: 'migration', taskQueue: 'vmflow', memo: {}, pending: [] },
    state: last?.what.kind === 'end' ? 'completed' : 'running',
    startedAt: events[0]?.at ?? '',
    attributes: first?.kind === 'started' ? first.attributes : {},
  };
}

/** A Temporal that still has these runs. */
function having(...runs: readonly PastRun[]): FakeGateway {
  const gateway = new FakeGateway();
  gateway.executions = runs.map(execution);
  gateway.histories = Object.fromEntries(runs.map((run) => [run.runId, run]));
  return gateway;
}

function recordsOn({ stdout }: CliResult): HistoryRecord[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as HistoryRecord);
}

const runsOn = (result: CliResult): string[] => [...new Set(recordsOn(result).map(({ run }) => run))];

const gone = pastRun({ runId: 'gone', day: 1 });
const both = pastRun({ runId: 'both', day: 5, vm: 'demo/db-1' });
const open = pastRun({ runId: 'open', day: 3, batch: 'other', isOpen: true });

describe('history export', () => {
  let dir: string;
  let file: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'vmflow-export-'));
    file = join(dir, 'history.jsonl');
    const lines = [gone, both].flatMap(recordsOf).map((record) => `${JSON.stringify(record)}\n`);
    await writeFile(file, `${lines.join('')}{"id":"torn`);
  });
  after(async () => await rm(dir, { recursive: true, force: true }));

  const all = (...argv: readonly string[]): Promise<CliResult> =>
    runCli(['history', 'export', '--file', file, ...argv], { gateway: having(both, open) });

  test('puts what is in the record and what only Temporal has in order, each event once', async () => {
    const result = await all();
    assert.equal(result.exit, 0, result.stderr);
    assert.deepEqual(runsOn(result), ['gone', 'open', 'both']);
    assert.equal(new Set(recordsOn(result).map(({ id }) => id)).size, 8);
    assert.equal(recordsOn(result).length, 8);
    assert.deepEqual(recordsOn(result)[1], recordsOf(gone)[1]);
    assert.match(result.stderr, /^6 records from .*history\.jsonl, 2 more from Temporal\n$/);
  });

  const narrowed: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['a batch', ['--batch', 'other'], ['open']],
    ['a VM', ['--vm', 'web-01'], ['gone', 'open']],
    ['a VM without its namespace', ['--vm', 'db-1'], ['both']],
    ['a VM with its namespace', ['--vm', 'demo/db-1'], ['both']],
    ['a kind', ['--kind', 'batch'], []],
    ['a time on', ['--since', '2026-02-02'], ['open', 'both']],
    ['a span', ['--since', '27d'], ['open', 'both']],
    ['before a time', ['--until', '2026-02-03T00:00:00Z'], ['gone']],
  ];
  for (const [what, flags, runs] of narrowed)
    test(`is narrowed to ${what}`, async () => assert.deepEqual(runsOn(await all(...flags)), runs));

  test('asks Temporal only for what was open in the time span', async () => {
    const gateway = having();
    await runCli(['history', 'export', '--file', file, '--since', '1d', '--until', '1h'], { gateway });
    assert.match(
      gateway.queries[0] ?? '',
      /CloseTime IS NULL OR CloseTime >= '2026-02-28T13:20:00.000Z'\) AND StartTime < '2026-03-01T12:20:00.000Z'$/,
    );
  });

  test('without a record says that what retention has removed is gone', async () => {
    const result = await runCli(['history', 'export'], { gateway: having(open) });
    assert.deepEqual(runsOn(result), ['open']);
    assert.match(
      result.stderr,
      /2 records, all from Temporal: what its retention \(30 days\) .* has removed there is gone/,
    );
    assert.match(result.stderr, /no record of the bridge was read: there is no vmflow\.yaml here/);
  });

  const configured = (text: string): Promise<CliResult> =>
    runCli(['history', 'export'], {
      gateway: having(),
      env: { VMFLOW_CONFIG: '/etc/vmflow.yaml' },
      runtime: {
        readText: (path) => (path === '/etc/vmflow.yaml' ? Promise.resolve(text) : Promise.reject(new Error())),
      },
    });

  test('finds the record by the configuration of the bridge', async () => {
    assert.deepEqual(runsOn(await configured(`history: { file: ${file} }`)), ['gone', 'both']);
    assert.match((await configured('{}')).stderr, /names no history\.file/);
    assert.match((await configured('history: { file: /nonexistent/h }')).stderr, /\/nonexistent\/h isn't here/);
    const wrong = await configured('history: { fil: x }');
    assert.equal(wrong.exit, 2);
    assert.match(wrong.stderr, /can't read where the record is from \/etc\/vmflow\.yaml/);
  });

  test('writes to a file when told, and says when that is not possible', async () => {
    const out = join(dir, 'out.jsonl');
    const runtime = { writeText: writeFile };
    const argv = ['history', 'export', '--file', file, '--out', out];
    const { exit, stdout } = await runCli(argv, { gateway: having(open), runtime });
    assert.deepEqual([exit, stdout], [0, '']);
    assert.equal((await readFile(out, 'utf8')).trimEnd().split('\n').length, 8);
    assert.equal(errorOf(await runCli([...argv, '-o', 'json'], { gateway: having() })).reason, 'FILE_NOT_WRITTEN');
  });

  test('a run that goes away while it is read is told and no error', async () => {
    const gateway = having(open, both);
    gateway.histories = { open };
    const result = await runCli(['history', 'export'], { gateway });
    assert.deepEqual([result.exit, runsOn(result)], [0, ['open']]);
    assert.match(result.stderr, /migration\/both was removed while it was to be read/);
  });

  test('fails as a whole when Temporal can not be asked: a part must not pass for all', async () => {
    const gateway = having(open);
    gateway.history = () =>
      Promise.reject(new CliError({ exit: 'unreachable', reason: 'TEMPORAL_UNREACHABLE', message: 'away' }));
    const { exit, stdout } = await runCli(['history', 'export', '--file', file], { gateway });
    assert.deepEqual([exit, stdout], [7, '']);
  });

  const wrong: readonly (readonly [string, readonly string[], number, RegExp])[] = [
    ['a time that is none', ['--since', 'yesterday'], 2, /--since: "yesterday" is no time\n {2}next {4}write a span/],
    ['a span that ends before it begins', ['--since', '1h', '--until', '1d'], 2, /is not before --until/],
    ['a record that is not there', ['--file', '/nonexistent/h'], 3, /there is no such file/],
  ];
  for (const [what, argv, code, message] of wrong)
    test(`refuses ${what}`, async () => {
      const { exit, stdout, stderr } = await runCli(['history', 'export', ...argv], { gateway: having() });
      assert.deepEqual([exit, stdout], [code, '']);
      assert.match(stderr, message);
    });
});
