import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { VSphere, VSphereSession } from '../../../activities/vsphere/port.ts';
import { createVSphere } from '../../../activities/vsphere/vsphere-adapter.ts';
import { assertClean, assertGap, assertMeasured, assertNeverLost, assertOnlyGood } from '../../support/guarantees.ts';
import { bigDisk, type BuiltOva } from '../../support/ova-builder.ts';
import { Rig, type Scenario } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

const old = '416.94.1';
const wanted = '417.94.2';
/** Long enough for what has to happen meanwhile on cores that other tests share. */
const cloneMs = 6_000;
const diskBytes = 2 * 1024 * 1024;

let rig: Rig;
let ova: BuiltOva;
let vsphere: VSphere;
let session: VSphereSession;
before(async () => {
  rig = await Rig.start();
  ova = await (await rig.scenario()).ova(wanted, { disks: [bigDisk(diskBytes, 'pattern')] });
  vsphere = createVSphere({ allowInsecureTls: false });
  session = await vsphere.open(rig.direct);
});
after(async () => {
  await session.close();
  await vsphere.close();
  await rig.stop();
});

const asVm = (value: string): { type: string; value: string } => ({ type: 'VirtualMachine', value });

/** Clones what has the production name now, as a consumer does. Answers the source. */
async function cloneByName(scenario: Scenario, name: string): Promise<string> {
  const { control } = rig.vcsim;
  const found = await control.find(`${scenario.folder}/${scenario.names.prod}`);
  assert.ok(found !== undefined, 'the name does not resolve');
  const clone = await control.cloneVm(found.ref, name, scenario.folder);
  await control.destroyVm(clone);
  return found.ref;
}

async function hasRunningTask(ref: string): Promise<boolean> {
  const [vm] = await session.retrieve([asVm(ref)], ['recentTask']);
  const tasks = (vm?.props.get('recentTask') ?? []) as { type: string; value: string }[];
  const states = await session.retrieve(tasks, ['info.state']);
  return states.some(({ props }) => props.get('info.state') === 'running');
}

/** The simulator keeps a VM to its task: whoever wants to read it waits. */
async function isLocked(ref: string): Promise<boolean> {
  return await session.retrieve([asVm(ref)], ['name'], { timeoutMs: 500 }).then(
    () => false,
    () => true,
  );
}

function renames(): readonly { readonly object?: { readonly value: string }; readonly startedMs: number }[] {
  return rig.proxy.requests().filter(({ method }) => method === 'Rename_Task');
}

test('template/21 a clone is in progress: the swap waits for it with the name in place, both succeed', async (t) => {
  const scenario = await rig.scenario();
  const previous = await scenario.template(scenario.names.prod, old);
  const poller = await scenario.poller();
  const beforeSwap = rig.proxy.hold('MarkAsTemplate');
  const swap = await scenario.start({ ova });
  await beforeSwap.arrived;
  await rig.vcsim.control.setDelays({ LockHandoff: 0, CloneVm: cloneMs });
  const clonedFrom = performance.now();
  const cloning = rig.vcsim.control.cloneVm(previous, 'consumer', scenario.folder);
  await waitFor('the clone to be in progress', () => hasRunningTask(previous), { intervalMs: 5 });
  beforeSwap.release();
  const clone = await cloning;
  const result = await swap.result();
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  const [first, ...others] = renames();
  assert.equal(first?.object?.value, previous);
  assert.ok(first.startedMs - clonedFrom >= cloneMs, 'the first rename did not wait for the clone');
  assert.equal(others.length, 1);
  assert.equal((await scenario.inventory()).find(({ name }) => name === 'consumer')?.ref, clone);
  await rig.vcsim.control.destroyVm(clone);
  assert.deepEqual(poller.owners(), [previous, await assertClean(scenario)]);
  assertGap(t, poller);
  assertMeasured(poller, result.gapMs);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
});

test('template/21 a clone begins just before the first rename: that one waits, the name stays in place', async (t) => {
  const scenario = await rig.scenario();
  const previous = await scenario.template(scenario.names.prod, old);
  const poller = await scenario.poller();
  const isFinished = (): boolean => rig.proxy.requests().some(({ method }) => method === 'MarkAsTemplate');
  const lastCall = rig.proxy.hold({ method: 'CurrentTime', match: isFinished });
  const swap = await scenario.start({ ova });
  await lastCall.arrived;
  await rig.vcsim.control.setDelays({ CloneVm: cloneMs });
  const clonedFrom = performance.now();
  const cloning = rig.vcsim.control.cloneVm(previous, 'consumer', scenario.folder);
  await waitFor('the clone to be in progress', () => isLocked(previous));
  lastCall.release();
  const clone = await cloning;
  const result = await swap.result();
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  const [first, second, ...others] = renames();
  assert.ok((first?.startedMs ?? Infinity) - clonedFrom < cloneMs, 'the clone was over before the first rename');
  assert.ok((second?.startedMs ?? 0) - clonedFrom >= cloneMs, 'the second rename came before the first had an effect');
  assert.equal(others.length, 0);
  await rig.vcsim.control.destroyVm(clone);
  assert.deepEqual(poller.owners(), [previous, await assertClean(scenario)]);
  assertGap(t, poller);
  assertMeasured(poller, result.gapMs);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
});

for (const percent of [10, 50, 99]) {
  test(`case/41 the upload breaks at ${percent} %: the old template can be cloned the whole time`, async (t) => {
    const scenario = await rig.scenario();
    const previous = await scenario.template(scenario.names.prod, old);
    const poller = await scenario.poller();
    const afterBytes = Math.floor((diskBytes * percent) / 100);
    let goOn: () => void = () => undefined;
    const until = new Promise<void>((resolve) => (goOn = resolve));
    const stalled = rig.proxy.addNfcRule({ afterBytes, action: 'stall', until });
    rig.proxy.addNfcRule({ afterBytes, action: 'reset' });
    const swap = await scenario.start({ ova });
    await waitFor('the upload', () => stalled.fired() === 1);
    assert.equal(await cloneByName(scenario, 'during'), previous);
    goOn();
    await waitFor('the end of the broken import', async () => {
      const { pendingActivities } = (await swap.handle.describe()).raw;
      return pendingActivities?.[0]?.lastFailure?.message;
    });
    assert.deepEqual(
      (await scenario.inventory()).map(({ ref }) => ref),
      [previous],
    );
    assert.equal(await cloneByName(scenario, 'afterwards'), previous);
    const result = await swap.result();
    await poller.stop();

    assert.equal(result.outcome, 'swapped');
    assert.equal(result.uploadAttempts, 2);
    const ref = await assertClean(scenario);
    assert.equal(await cloneByName(scenario, 'later'), ref);
    assert.deepEqual(poller.owners(), [previous, ref]);
    assertGap(t, poller);
    assertOnlyGood(poller, old, wanted);
    assertNeverLost(poller);
  });
}
