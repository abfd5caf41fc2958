import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertClean } from '../../support/guarantees.ts';
import { bigDisk } from '../../support/ova-builder.ts';
import { Rig, type Scenario, type Swap } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

const [old, wanted] = ['416.94.1', '417.94.2'];
const mebi = 1024 * 1024;
/** Slow enough to be met in the middle by whoever is killed. */
const slowUpload = 256 * 1024;
/** As many as two transfer workers take, and two more that wait for a place. */
const uploadsEach = 3;
const swaps = 2 * uploadsEach + 2;

let rig: Rig;
before(async () => {
  // One worker's place is not kept by a disk: a transfer worker takes as many activities as both say together.
  rig = await Rig.start({
    noWorkers: true,
    config: { limits: { uploads: uploadsEach - 1 }, batches: { diskCopies: 1 } },
  });
});
interface Running {
  readonly scenario: Scenario;
  readonly swap: Swap;
}

/** Who has the upload of the swap: `transfer@host:pid`. */
async function uploaderOf({ swap }: Running): Promise<string | undefined> {
  const { raw } = await swap.handle.describe();
  const upload = raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'importToTemp');
  return upload?.heartbeatDetails == null ? undefined : (upload.lastWorkerIdentity ?? undefined);
}

/** Pids of those who did workflow tasks of the swap. */
async function controllersOf({ swap }: Running): Promise<readonly string[]> {
  const { events } = await swap.handle.fetchHistory();
  return (events ?? []).flatMap(({ workflowTaskStartedEventAttributes: task }) => pidOf(task?.identity) ?? []);
}

const pidOf = (identity: string | null | undefined): string | undefined => identity?.split(':').at(-1);

test('two control and two transfer workers share the load; one of each is killed and nothing stalls', async (t) => {
  const controls = [await rig.startWorker('control'), await rig.startWorker('control')] as const;
  const transfers = [await rig.startWorker('transfer'), await rig.startWorker('transfer')] as const;
  t.after(() => Promise.all([...controls, ...transfers].map((worker) => worker.stop(3_000))));
  const scenarios: Scenario[] = [];
  while (scenarios.length < swaps) scenarios.push(await rig.scenario());
  const ova = await scenarios[0]!.ova(wanted, { disks: [bigDisk(8 * mebi, 'pattern')] });
  const throttle = rig.proxy.addNfcRule({ action: 'throttle', bytesPerSecond: slowUpload, times: Infinity });
  const running: Running[] = [];
  for (const scenario of scenarios) {
    await scenario.template(scenario.names.prod, old);
    running.push({ scenario, swap: await scenario.start({ version: wanted, ova }) });
  }

  const uploaders = await waitFor(
    'uploads on both',
    async () => {
      const found = await Promise.all(running.map(async (one) => pidOf(await uploaderOf(one))));
      const count = ({ pid }: { readonly pid: number }): number => found.filter((one) => one === String(pid)).length;
      return transfers.every((worker) => count(worker) === uploadsEach) && found;
    },
    { intervalMs: 200 },
  );
  await Promise.all([controls[0].kill(), transfers[0].kill()]);
  throttle.remove();

  const results = await Promise.all(running.map(({ swap }) => swap.result()));
  const attempts = results.map(({ outcome, uploadAttempts }) => [outcome, uploadAttempts]);
  const expected = uploaders.map((pid) => ['swapped', pid === String(transfers[0].pid) ? 2 : 1]);
  assert.deepEqual(attempts, expected, 'only what the killed one had was uploaded again');
  const controllers = new Set((await Promise.all(running.map(controllersOf))).flat());
  assert.deepEqual([...controllers].sort(), controls.map(({ pid }) => String(pid)).sort());
  // Leases of the killed worker's sessions: a real server ends them after some minutes, the simulator never does.
  await rig.vcsim.control.abortLeases();
  for (const { scenario } of running) await assertClean(scenario, wanted);
  for (const worker of [controls[1], transfers[1]]) assert.ok(worker.isRunning());
});

after(() => rig.stop());
