import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { searchKeys } from '../../../workflows/contracts/attributes.ts';
import type { FailureDetails } from '../../../workflows/contracts/failures.ts';
import type { RecordedRequest } from '../../sim/request-log.ts';
import {
  assertClean,
  assertGap,
  assertMeasured,
  assertNeverLost,
  assertOnlyGood,
  idleGapMs,
  loadSlackMs,
} from '../../support/guarantees.ts';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { Rig, type Scenario, type Swap } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

const old = '416.94.1';
const wanted = '417.94.2';
/** What a try itself may take on cores that other tests share; the measure is printed. */
const busyMs = 15_000;

let rig: Rig;
let ova: BuiltOva;
before(async () => {
  rig = await Rig.start();
  ova = await (await rig.scenario()).ova(wanted);
});
after(() => rig.stop());

/** Renames to one of the names. */
const to =
  (name: string) =>
  ({ method, body }: RecordedRequest): boolean =>
    method === 'Rename_Task' && body.includes(`<newName>${name}<`);

function calls(matches: (request: RecordedRequest) => boolean): number {
  return rig.proxy.requests().filter(matches).length;
}

function destroyed(ref: string | undefined): number {
  return calls(({ method, object }) => method === 'Destroy_Task' && object?.value === ref);
}

/** Details of every failure in the history, oldest first; an activity that is retried shows its last one when it ends. */
async function failureDetails(swap: Swap): Promise<FailureDetails[]> {
  const { events } = await swap.handle.fetchHistory();
  const converter = rig.client.options.loadedDataConverter.payloadConverter;
  return (events ?? []).flatMap((event) => {
    const failure =
      event.activityTaskStartedEventAttributes?.lastFailure ?? event.activityTaskFailedEventAttributes?.failure;
    const [payload] = failure?.applicationFailureInfo?.details?.payloads ?? [];
    return payload === undefined ? [] : [converter.fromPayload<FailureDetails>(payload)];
  });
}

async function isAtRisk(swap: Swap): Promise<boolean | undefined> {
  return (await swap.handle.describe()).typedSearchAttributes.get(searchKeys.atRisk);
}

/** Nobody but this one gets the name. */
function refuse(name: string, but: string, fault: string): ReturnType<typeof rig.proxy.addRule> {
  return rig.proxy.addRule({
    method: 'Rename_Task',
    match: (request) => to(name)(request) && request.object?.value !== but,
    times: Infinity,
    action: 'fault',
    fault,
    ...(fault === 'SystemError' ? { fields: '<reason>injected</reason>' } : {}),
  });
}

/** A template at the old version, watched. */
async function watched(): Promise<{
  scenario: Scenario;
  previous: string;
  poller: Awaited<ReturnType<Scenario['poller']>>;
}> {
  const scenario = await rig.scenario();
  const previous = await scenario.template(scenario.names.prod, old);
  return { scenario, previous, poller: await scenario.poller() };
}

test('template/15 the reply to the first rename is lost: it is not sent again, the swap completes', async (t) => {
  const { scenario, previous, poller } = await watched();
  const { prod, rollback } = scenario.names;
  const lost = rig.proxy.addRule({ method: 'Rename_Task', match: to(rollback), action: 'drop-after' });
  const result = await scenario.swap({ ova });
  await poller.stop();

  assert.equal(lost.fired(), 1);
  assert.equal(result.outcome, 'swapped');
  assert.equal(calls(to(rollback)), 1);
  assert.equal(calls(to(prod)), 1);
  const ref = await assertClean(scenario);
  assert.deepEqual(poller.owners(), [previous, ref]);
  assertGap(t, poller);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
  assertMeasured(poller, result.gapMs);
});

test('template/16 the reply to the second rename is lost: the swap completes, rollback is destroyed once', async (t) => {
  const { scenario, previous, poller } = await watched();
  const { prod, rollback } = scenario.names;
  const lost = rig.proxy.addRule({ method: 'Rename_Task', match: to(prod), action: 'drop-after' });
  const result = await scenario.swap({ ova });
  await poller.stop();

  assert.equal(lost.fired(), 1);
  assert.equal(result.outcome, 'swapped');
  assert.equal(calls(to(rollback)), 1);
  assert.equal(calls(to(prod)), 1);
  assert.equal(destroyed(previous), 1);
  const ref = await assertClean(scenario);
  assert.deepEqual(poller.owners(), [previous, ref]);
  assertGap(t, poller);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
  assertMeasured(poller, result.gapMs);
});

for (const asTaskError of [false, true]) {
  const how = asTaskError ? 'its task ends in error' : 'the call is refused';
  test(`template/17 the second rename fails (${how}): the name is given back at once, then it works`, async (t) => {
    const { scenario, previous, poller } = await watched();
    const { temp } = scenario.names;
    await rig.vcsim.control.addFault({
      method: 'Rename_Task',
      objectName: temp,
      fault: 'SystemError',
      fields: { reason: 'injected' },
      count: 1,
      asTaskError,
    });
    const swap = await scenario.start({ ova });
    const result = await swap.result();
    await poller.stop();

    assert.equal(result.outcome, 'swapped');
    const rolledBack = (await failureDetails(swap)).filter(({ code }) => code === 'SWAP_ROLLED_BACK');
    assert.equal(rolledBack.length, 1);
    assert.equal(rolledBack[0]?.primary?.faultType, 'SystemError');
    assert.equal(rolledBack[0].primary.kind, asTaskError ? 'task-error' : 'vim-fault');
    const ref = await assertClean(scenario);
    // Gone, back, gone, new: the name was given back before the next try.
    const renamed = rig.proxy.mutating().filter(({ method }) => method === 'Rename_Task');
    assert.deepEqual(
      renamed.map(({ object }) => object?.value),
      [previous, ref, previous, previous, ref],
    );
    assert.deepEqual(poller.owners(), [previous, ref]);
    assertGap(t, poller);
    assertOnlyGood(poller, old, wanted);
    assertNeverLost(poller);
    assertMeasured(poller, result.gapMs);
  });
}

for (const fault of ['NoPermission', 'SystemError']) {
  const isFinal = fault === 'NoPermission';
  const title = isFinal
    ? 'is refused for good: the name is given back once, and the swap fails with the reason'
    : 'is refused again and again: the reason is shown, and a cancellation is heard between two tries';
  test(`template/17 the second rename ${title}`, async () => {
    const { scenario, previous, poller } = await watched();
    const { prod } = scenario.names;
    refuse(prod, previous, fault);
    const swap = await scenario.start({ ova });
    if (!isFinal) {
      await waitFor('the reason', async () => /swap rolled back: .*; try 2 of/.test((await swap.status()).message));
      await swap.handle.cancel();
    }
    const failure = await swap.failure();
    await poller.stop();

    assert.equal(failure.type, isFinal ? 'Forbidden' : 'Cancelled');
    if (isFinal) {
      assert.equal(failure.details?.code, 'SWAP_ROLLED_BACK');
      assert.equal(failure.details.primary?.faultType, fault);
      assert.match(failure.message, /swap rolled back.*NoPermission/);
      assert.equal(calls(to(prod)), 2, 'the new one, and the old one back');
    }
    assert.deepEqual(poller.owners(), [previous]);
    assert.equal((await swap.status()).prodAbsentSince, undefined);
    assert.deepEqual(
      (await scenario.inventory()).map(({ name, ref }) => ({ name, ref })),
      [{ name: prod, ref: previous }],
    );
    assertNeverLost(poller);
  });
}

test('template/44 an undo that is refused goes back to keeping, with the reason, and works once it is allowed', async () => {
  const { scenario, previous, poller } = await watched();
  const { prod } = scenario.names;
  const swap = await scenario.start({ ova, options: { keepRollbackMinutes: 10 } });
  const kept = await swap.reaches('Keeping');
  const fresh = kept.result?.prod?.moRef ?? '';
  const refused = refuse(prod, fresh, 'NoPermission');
  await swap.update('undo', { by: 'a test' });
  const again = await waitFor('keeping again', async () => {
    const status = await swap.status();
    return status.status === 'Keeping' && status.message.includes('NoPermission') ? status : undefined;
  });
  assert.equal(again.keptUntil, kept.keptUntil);
  assert.match(again.message, /not gone back/);
  assert.equal(again.previous?.moRef, previous);
  refused.remove();
  await swap.update('undo', { by: 'a test' });
  const result = await swap.result();
  await poller.stop();

  assert.equal(result.outcome, 'undone');
  assert.equal(result.prod?.moRef, previous);
  const over = await swap.status();
  assert.equal(over.keptUntil, undefined);
  assert.equal(over.result?.outcome, 'undone');
  assert.equal(await assertClean(scenario, old), previous);
  assert.deepEqual(poller.owners(), [previous, fresh, previous]);
});

test('template/18, 44 an undo that fails on both ways while the name is gone gives it back before anything else', async () => {
  const { scenario, previous, poller } = await watched();
  const { prod } = scenario.names;
  const swap = await scenario.start({ ova, options: { keepRollbackMinutes: 10 } });
  const fresh = (await swap.reaches('Keeping')).result?.prod?.moRef ?? '';
  const failing = rig.proxy.addRule({
    method: 'Rename_Task',
    match: to(prod),
    times: Infinity,
    action: 'fault',
    fault: 'SystemError',
    fields: '<reason>injected</reason>',
  });
  await swap.update('undo', { by: 'a test' });
  await waitFor('the outage in the status', async () => (await swap.status()).prodAbsentSince);
  failing.remove();
  const kept = await swap.reaches('Keeping');
  await poller.stop();

  assert.match(kept.message, /not gone back/);
  assert.equal(kept.prodAbsentSince, undefined);
  assert.equal(kept.result?.outcome, 'swapped');
  assert.deepEqual(poller.owners(), [previous, fresh]);
  await swap.update('endKeep', { by: 'a test' });
  await swap.result();
  assert.equal(await assertClean(scenario), fresh);
});

test('template/17 a gap that was closed by giving the name back is not counted into the next one', async () => {
  const { scenario, poller } = await watched();
  const { prod, rollback } = scenario.names;
  const held = rig.proxy.hold({ method: 'Rename_Task', match: to(prod) });
  rig.proxy.addRule({ method: 'Rename_Task', match: to(prod), action: 'fault', fault: 'SystemError' });
  rig.proxy.addRule({ method: 'Rename_Task', match: to(rollback), nth: 2, action: 'drop-after' });
  const swap = await scenario.start({ ova });
  await held.arrived;
  await waitFor('a heartbeat that tells of the gap', async () => {
    const { pendingActivities } = (await swap.handle.describe()).raw;
    const [payload] = pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
    return payload?.data != null && Buffer.from(payload.data).includes('absentSince');
  });
  held.release();
  const result = await swap.result();
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  assert.equal(calls(to(rollback)), 2, (await swap.failures()).join());
  await assertClean(scenario);
  assertMeasured(poller, result.gapMs);
  assertNeverLost(poller);
});

test('template/18 the second rename and the way back both fail for a while: shown, told in full, healed', async (t) => {
  const { scenario, previous, poller } = await watched();
  const { prod } = scenario.names;
  const failing = rig.proxy.addRule({
    method: 'Rename_Task',
    match: to(prod),
    times: Infinity,
    action: 'fault',
    fault: 'SystemError',
    fields: '<reason>injected</reason>',
  });
  const swap = await scenario.start({ ova });
  const { prodAbsentSince } = await waitFor('the outage in the status', async () => {
    const status = await swap.status();
    return status.prodAbsentSince === undefined ? undefined : status;
  });
  const since = Date.parse(prodAbsentSince ?? '');
  assert.equal(await waitFor('the attribute', () => isAtRisk(swap)), true);
  const told = (await failureDetails(swap)).find(({ code }) => code === 'PROD_ABSENT');
  assert.equal(told?.primary?.faultType, 'SystemError');
  assert.equal(told.secondary?.faultType, 'SystemError');
  assert.match((await swap.failures()).join('\n'), /no object has the name.*SystemError.*SystemError/);
  await waitFor('five seconds of failing', () => Date.now() - since >= 5_000);
  assert.equal((await swap.status()).prodAbsentSince, prodAbsentSince);
  failing.remove();
  const healedAt = performance.now();
  const result = await swap.result();
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  assert.equal(result.previous?.moRef, previous);
  const ref = await assertClean(scenario);
  assert.deepEqual(poller.owners(), [previous, ref]);
  const backAt = poller.samples.find((sample) => sample.ref === ref)?.at ?? Infinity;
  t.diagnostic(`back ${(backAt - healedAt).toFixed(0)} ms after the server healed`);
  // The first try that the server lets through is the last one; the longest time between two tries is 5 s.
  const tries = rig.proxy.requests().filter((call) => to(prod)(call) && call.startedMs > healedAt);
  assert.equal(tries.length, 1);
  assert.ok(backAt - healedAt <= 5_000 + busyMs, `back after ${backAt - healedAt} ms`);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
  assertMeasured(poller, result.gapMs, loadSlackMs);
  assert.equal(await isAtRisk(swap), undefined);
});

test('template/19 somebody creates the template in the window: conflict, nothing lost, retry completes', async () => {
  const { scenario, previous, poller } = await watched();
  const { prod, temp, rollback } = scenario.names;
  const held = rig.proxy.hold({ method: 'Rename_Task', match: to(prod) });
  const swap = await scenario.start({ ova });
  await held.arrived;
  const intruder = await rig.vcsim.control.createVm({ name: prod, folder: scenario.folder, template: true });
  held.release();

  const { conflict } = await swap.reaches('Conflict');
  assert.equal(conflict?.id, `PROD_RECREATED/${intruder}`);
  assert.ok(conflict.what.includes(intruder), conflict.what);
  const between = await scenario.inventory();
  const names = Object.fromEntries(between.map(({ name, ref }) => [name, ref]));
  assert.deepEqual(Object.keys(names).sort(), [prod, temp, rollback].sort());
  assert.equal(names[prod], intruder);
  assert.equal(names[rollback], previous);
  assert.equal(between.find(({ name }) => name === temp)?.template, true);

  await rig.vcsim.control.destroyVm(intruder);
  await swap.update('resolve', { conflictId: conflict.id, decision: 'retry', by: 'a test' });
  const result = await swap.result();
  await poller.stop();
  assert.equal(result.outcome, 'swapped');
  assert.equal(result.prod?.moRef, names[temp]);
  assert.equal(result.previous?.moRef, previous);
  assert.equal(await assertClean(scenario), names[temp]);
  assert.equal(destroyed(intruder), 0);
  assert.deepEqual(poller.owners(), [previous, intruder, names[temp]]);
  assertNeverLost(poller);
});

test('template/22 a slow rename is measured as consumers see it', async (t) => {
  const { scenario, previous, poller } = await watched();
  const renameMs = 400;
  await rig.vcsim.control.setDelays({ LockHandoff: 0, Rename: renameMs });
  const result = await scenario.swap({ ova });
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  const ref = await assertClean(scenario);
  assert.deepEqual(poller.owners(), [previous, ref]);
  assert.ok(poller.longestGapMs() >= renameMs - idleGapMs, `only ${poller.longestGapMs()} ms: was it delayed at all?`);
  assertGap(t, poller, renameMs + 150);
  assertMeasured(poller, result.gapMs);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
});
