import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { ClosedRun, Past, PastRun } from '../../../activities/history/past.ts';
import type { HistoryRecord } from '../../../activities/history/record.ts';
import { recordsOf } from '../../../activities/history/records.ts';
import { HistoryKeeper } from '../../../workers/bridge/history-keeper.ts';
import { overlapMs } from '../../../workers/bridge/history-state.ts';
import { waitFor } from '../../support/wait-for.ts';
import { pastRuns } from './past-runs.ts';

/** Three closed runs of different kinds, in the order in which they ended. */
const ended = (await pastRuns())
  .filter(({ name }) =>
    ['batch-completed-f9792fd8', 'drainNode-completed-3f73eee4', 'migration-completed-cd1a49df'].includes(name),
  )
  .map(({ run }) => run)
  .toSorted((a, b) => (closedAt(a) < closedAt(b) ? -1 : 1));

function closedAt({ events }: PastRun): string {
  return events.at(-1)?.at ?? '';
}

/** A Temporal with these closed runs. */
class FakePast implements Past {
  runs: PastRun[];
  readonly reads: string[] = [];
  readonly asked: (string | undefined)[] = [];
  /** What reading this run fails with. */
  broken: string | undefined;

  constructor(runs: readonly PastRun[]) {
    this.runs = [...runs];
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- pages of the server
  async *closedSince(at: string | undefined): AsyncGenerator<readonly ClosedRun[]> {
    this.asked.push(at);
    const found = this.runs.map((run) => ({ workflowId: run.workflowId, runId: run.runId, closedAt: closedAt(run) }));
    for (const run of found.toReversed()) if (at === undefined || run.closedAt >= at) yield [run];
  }

  read({ runId }: ClosedRun): Promise<PastRun | undefined> {
    this.reads.push(runId);
    if (runId === this.broken) return Promise.reject(new Error('Temporal is away'));
    return Promise.resolve(this.runs.find((run) => run.runId === runId));
  }
}

describe('the keeper of the record', () => {
  let dir: string;
  let file: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'vmflow-history-'));
    file = join(dir, 'history.jsonl');
  });
  afterEach(async () => await rm(dir, { recursive: true, force: true }));

  const silent = { info: () => undefined, warn: () => undefined };
  let owners = 0;

  /** A keeper of a new process; it finds a lock as a process left it that was killed, unless there is none. */
  function keeper(past: Past, more: { readonly patienceMs?: number } = {}): HistoryKeeper {
    owners += 1;
    return new HistoryKeeper({ file, everyMs: 10, past, owner: `bridge ${owners}`, log: silent, ...more });
  }

  /** One look of a process that is the only one, and then is killed. */
  async function lookOnce(past: Past): Promise<void> {
    await rm(`${file}.lock`, { force: true });
    await keeper(past).look();
  }

  const textOf = (runs: readonly PastRun[]): string =>
    runs.flatMap((run) => recordsOf(run).map((record) => `${JSON.stringify(record)}\n`)).join('');
  const content = async (): Promise<string> => await readFile(file, 'utf8');

  test('writes down what has ended, oldest first, each run once', async () => {
    const past = new FakePast(ended.slice(0, 2));
    const one = keeper(past);
    await one.look();
    assert.equal(await content(), textOf(ended.slice(0, 2)));
    past.runs = [...ended];
    await one.look();
    await one.look();
    assert.equal(await content(), textOf(ended));
    assert.equal(past.reads.length, 3);
  });

  test('goes on after a restart where it was, and asks only for what has ended since, with an overlap', async () => {
    await lookOnce(new FakePast(ended));
    const past = new FakePast(ended);
    await lookOnce(past);
    assert.equal(await content(), textOf(ended));
    assert.deepEqual(past.reads, []);
    const newest = Date.parse(closedAt(ended[2]!));
    assert.deepEqual(past.asked, [new Date(newest - overlapMs).toISOString()]);
  });

  test('whatever byte a kill cuts the file at: nothing is lost and nothing is there twice', async () => {
    const whole = Buffer.from(textOf(ended));
    const lines = [...whole.entries()].flatMap(([at, byte]) => (byte === 10 ? [at, at + 1] : []));
    const cuts = new Set([
      0,
      1,
      ...lines,
      ...Array.from({ length: 40 }, (_, i) => Math.floor((whole.length * i) / 40)),
    ]);
    for (const cut of cuts) {
      await writeFile(file, whole.subarray(0, cut));
      await rm(`${file}.state`, { force: true });
      await lookOnce(new FakePast(ended));
      assert.equal(await content(), whole.toString(), `cut at ${cut}`);
    }
  });

  test('a kill between the file and the state, or between two runs, doubles nothing', async () => {
    const past = new FakePast(ended.slice(0, 1));
    await lookOnce(past);
    const state = await readFile(`${file}.state`);
    past.runs = [...ended];
    await lookOnce(past);
    await writeFile(`${file}.state`, state);
    await lookOnce(past);
    assert.equal(await content(), textOf(ended));
  });

  test('a state that was half written is none: the file tells what is in it', async () => {
    await lookOnce(new FakePast(ended));
    await writeFile(`${file}.state`, '{"since":"20');
    await lookOnce(new FakePast(ended));
    assert.equal(await content(), textOf(ended));
  });

  test('a file that was moved away goes on in a new one, also after a restart', async () => {
    const past = new FakePast(ended.slice(0, 1));
    const one = keeper(past);
    await one.look();
    await rename(file, `${file}.1`);
    past.runs = ended.slice(0, 2);
    await one.look();
    assert.equal(await content(), textOf(ended.slice(1, 2)));
    await rename(file, `${file}.2`);
    past.runs = [...ended];
    await lookOnce(past);
    assert.equal(await content(), textOf(ended.slice(2)));
  });

  test('a run that visibility tells of late is not missed', async () => {
    const late = { ...ended[0]!, runId: 'late', events: ended[2]!.events.slice(-1) };
    const past = new FakePast(ended);
    await lookOnce(past);
    past.runs.push(late);
    await lookOnce(past);
    assert.equal(await content(), textOf([...ended, late]));
  });

  test('a second kill, after one in the middle of a run, loses nothing either', async () => {
    const [early, torn] = [ended[0]!, ended[1]!];
    const lines = textOf([torn]).split(/(?<=\n)/);
    await writeFile(file, lines.slice(0, 3).join(''));
    const past = new FakePast([early, torn]);
    past.broken = torn.runId;
    await rm(`${file}.lock`, { force: true });
    await assert.rejects(keeper(past).look(), /Temporal is away/);
    past.broken = undefined;
    await lookOnce(past);
    assert.equal(await content(), lines.slice(0, 3).join('') + textOf([early]) + lines.slice(3).join(''));
  });

  test('a history that can not be read is told by its name, holds up no other, and follows', async () => {
    const past = new FakePast(ended);
    const one = keeper(past);
    past.broken = ended[1]!.runId;
    await assert.rejects(one.look(), new RegExp(`${ended[1]!.workflowId}, run .*: Temporal is away`));
    await rename(file, `${file}.1`);
    await assert.rejects(one.look(), /Temporal is away/);
    past.broken = undefined;
    await one.look();
    assert.equal(await readFile(`${file}.1`, 'utf8'), textOf([ended[0]!, ended[2]!]));
    assert.equal(await content(), textOf([ended[1]!]));
    await one.look();
    assert.equal(past.reads.length, 5);
  });

  test('of two that share a file one writes; the other follows when it stops, and when it is dead', async () => {
    const past = new FakePast(ended.slice(0, 1));
    const [first, second] = [keeper(past), keeper(past, { patienceMs: 0 })];
    await first.look();
    past.runs = ended.slice(0, 2);
    await second.look();
    assert.equal(await content(), textOf(ended.slice(0, 1)), 'the second one must wait');
    await first.stop();
    await second.look();
    assert.equal(await content(), textOf(ended.slice(0, 2)));
    past.runs = [...ended];
    const third = keeper(past, { patienceMs: 0 });
    await third.look(); // sees the lock of one that is killed now
    await third.look(); // takes it
    assert.equal(await content(), textOf(ended.slice(0, 2)), 'another may have taken it in the same moment');
    await third.look();
    assert.equal(await content(), textOf(ended));
    past.runs.push({ ...ended[0]!, runId: 'more', events: ended[2]!.events.slice(-1) });
    await second.look();
    assert.equal(await content(), textOf(ended), 'it is not dead after all, and sees that it lost the file');
  });

  test('looks again and again until it is stopped', async () => {
    const past = new FakePast([]);
    const one = keeper(past);
    one.start();
    past.runs = [...ended];
    await waitFor('the record', async () => (await content()) === textOf(ended));
    await one.stop();
    assert.ok(!(await readdir(dir)).includes('history.jsonl.lock'));
    const records = (await content())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as HistoryRecord);
    assert.equal(new Set(records.map(({ id }) => id)).size, records.length);
  });
});
