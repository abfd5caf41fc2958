import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { messages } from '../../../workflows/contracts/messages.ts';
import { findTool } from '../../stack/tool.ts';
import { tools } from '../../stack/tools.ts';
import { NextRelease, type Edit } from '../../support/next-release.ts';
import { password, Rig, type Scenario, type Swap } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

const run = promisify(execFile);
const edits: readonly Edit[] = [
  { file: 'workflows/template/template-swap.ts', after: 'for (let round = 1; ; round++) {' },
];

interface Waiting {
  readonly scenario: Scenario;
  readonly swap: Swap;
}

/** Its upload stands still. */
async function uploading(rig: Rig): Promise<Waiting & { release(): void }> {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  let release = (): void => undefined;
  const until = new Promise<void>((resolve) => (release = resolve));
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: 1024, times: Infinity, until });
  const swap = await scenario.start({ ova: await scenario.ova() });
  await swap.reaches('Importing');
  return { scenario, swap, release: () => release() };
}

/** Somebody else's object is in the way. */
async function inConflict(rig: Rig): Promise<Waiting> {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  await scenario.template(scenario.names.temp, '410.0.0');
  const swap = await scenario.start({ ova: await scenario.ova() });
  await swap.reaches('Conflict');
  return { scenario, swap };
}

/** Swapped, and the old one is kept for a while. */
async function keeping(rig: Rig): Promise<Waiting> {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const swap = await scenario.start({ ova: await scenario.ova(), options: { keepRollbackMinutes: 10 } });
  await swap.reaches('Keeping');
  return { scenario, swap };
}

async function decide({ swap }: Waiting): Promise<void> {
  const { conflict } = await swap.status();
  await swap.update(messages.resolve, { conflictId: conflict?.id, decision: 'destroy-foreign', by: 'a test' });
}

/** Timers of no more than a millisecond: what the next release does more. */
async function moreSteps({ swap }: Waiting): Promise<number> {
  const { events } = await swap.handle.fetchHistory();
  const timers = (events ?? []).map((event) => event.timerStartedEventAttributes?.startToFireTimeout);
  return timers.filter(
    (timeout) => timeout != null && Number(timeout.seconds ?? 0) === 0 && timeout.nanos === 1_000_000,
  ).length;
}

async function isDone({ scenario, swap }: Waiting): Promise<void> {
  assert.equal((await swap.result()).outcome, 'swapped');
  assert.deepEqual(
    (await scenario.inventory()).map(({ name, version }) => [name, version]),
    [[scenario.names.prod, '417.94.2']],
  );
}

async function release(t: TestContext, how: 'patched' | 'careless'): Promise<NextRelease> {
  const next = await NextRelease.make(edits, how);
  t.after(() => next.remove());
  return next;
}

describe('a new release under running swaps, workers without versions', () => {
  let rig: Rig;
  before(async () => (rig = await Rig.start({ ownTemporal: true })));
  after(() => rig.stop());

  test('each goes on where it was, with what the release keeps for it; later ones do what is new', async (t) => {
    const kept = await keeping(rig);
    const asking = await inConflict(rig);
    const copying = await uploading(rig);
    const [careless, next] = await Promise.all([release(t, 'careless'), release(t, 'patched')]);
    const env = { TEMPORAL_ADDRESS: rig.temporal.address, TEMPORAL_NAMESPACE: rig.temporal.namespace };
    const found = await careless.replay(env);
    assert.equal(found.exit, 1, found.text);
    assert.match(found.text, /^template-swap\/.*Nondeterminism/m);
    const good = await next.replay(env);
    assert.equal(good.exit, 0, good.text);

    const old = [...rig.workers.values()];
    await Promise.all((['control', 'transfer'] as const).map((kind) => rig.startWorker(kind, { sources: next.dir })));
    await Promise.all(old.map((worker) => worker.stop(60_000)));
    copying.release();
    await decide(asking);
    await kept.swap.update(messages.endKeep, { by: 'a test' });
    await Promise.all([kept, asking, copying].map(isDone));

    const scenario = await rig.scenario();
    await scenario.template(scenario.names.prod, '416.94.1');
    const fresh = { scenario, swap: await scenario.start({ ova: await scenario.ova() }) };
    await isDone(fresh);
    assert.ok((await moreSteps(fresh)) > 0);
  });
});

describe('a new release under running swaps, workers with versions', () => {
  let rig: Rig;
  before(async () => {
    rig = await Rig.start({ ownTemporal: true, noWorkers: true });
  });
  after(() => rig.stop());

  async function workersOf(buildId: string, sources?: string): Promise<(() => Promise<unknown>)[]> {
    const env = { VC_PASSWORD: password, VMFLOW_VERSIONING: 'on', VMFLOW_BUILD_ID: buildId };
    const more = { env, ...(sources === undefined ? {} : { sources }) };
    const workers = await Promise.all((['control', 'transfer'] as const).map((kind) => rig.startWorker(kind, more)));
    return workers.map((worker) => () => worker.stop(60_000));
  }

  /** As an operator does it; a build is known once its workers have asked for work. */
  async function makeCurrent(buildId: string): Promise<void> {
    const { address, namespace } = rig.temporal;
    const temporal = await findTool(tools.temporal);
    const args = ['worker', 'deployment', 'set-current-version', '--deployment-name', 'vmflow', '--build-id', buildId];
    await waitFor(
      `build ${buildId} to be the current one`,
      () =>
        run(temporal, [...args, '--yes', '--address', address, '--namespace', namespace]).then(
          () => true,
          (error: unknown) => {
            if (/not found|missing/i.test(String(error))) return false;
            throw error;
          },
        ),
      { intervalMs: 500 },
    );
  }

  test('a swap ends on the build that began it, though the next one could not go on with it', async (t) => {
    const stopOld = await workersOf('n');
    await makeCurrent('n');
    const asking = await inConflict(rig);
    const next = await release(t, 'careless');
    await workersOf('n+1', next.dir);
    await makeCurrent('n+1');
    await decide(asking);
    await isDone(asking);
    assert.equal(await moreSteps(asking), 0);

    const scenario = await rig.scenario();
    await scenario.template(scenario.names.prod, '416.94.1');
    const fresh = { scenario, swap: await scenario.start({ ova: await scenario.ova() }) };
    await isDone(fresh);
    assert.ok((await moreSteps(fresh)) > 0);
    await Promise.all(stopOld.map((stop) => stop()));
  });
});
