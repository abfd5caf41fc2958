import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { assertClean, assertGap, assertMeasured, assertNeverLost, assertOnlyGood } from '../../support/guarantees.ts';
import { Rig, type Scenario } from '../../support/rig.ts';

const old = '416.94.1';
const wanted = '417.94.2';

let rig: Rig;
let ova: BuiltOva;
before(async () => {
  rig = await Rig.start();
  ova = await (await rig.scenario()).ova(wanted);
});
after(() => rig.stop());

/** Method and object of what could have changed something, in order. */
function changes(): string[] {
  return rig.proxy.mutating().map(({ method, object }) => `${method} ${object?.value ?? ''}`);
}

/** What a clone of this template carries; the simulator's own clones lose it. */
function copiedMarker(scenario: Scenario, of: string): Record<string, string> {
  return scenario.marker(wanted, ova.sha256, 'ready', { 'templateSwap.vm': of });
}

function uploads(): number {
  return rig.proxy.requests().filter(({ kind }) => kind === 'nfc').length;
}

async function refs(scenario: Scenario): Promise<Record<string, string>> {
  return Object.fromEntries((await scenario.inventory()).map(({ name, ref }) => [name, ref]));
}

test('template/2 a template that is current already is left alone, without a single changing call', async () => {
  for (const marker of [undefined, 'ours'] as const) {
    const scenario = await rig.scenario();
    const { prod } = scenario.names;
    const ref = await scenario.template(prod, wanted, marker && scenario.marker(wanted, ova.sha256, 'ready'));
    const result = await scenario.swap({ ova });

    assert.equal(result.outcome, 'noop');
    assert.deepEqual(result.prod, { moRef: ref, version: wanted });
    assert.equal(result.gapMs, undefined);
    assert.deepEqual(changes(), []);
    assert.equal(await assertClean(scenario), ref);
  }
});

test('template/4 a missing template is created when that was asked for', async () => {
  const scenario = await rig.scenario();
  const poller = await scenario.poller();
  const result = await scenario.swap({ ova, options: { createIfMissing: true } });
  await poller.stop();

  assert.equal(result.outcome, 'created');
  assert.equal(result.previous, undefined);
  const ref = await assertClean(scenario);
  assert.deepEqual(result.prod, { moRef: ref, version: wanted });
  assertOnlyGood(poller, wanted);
  assert.deepEqual(poller.owners(), [ref]);
});

test('template/4 a missing template is an error otherwise, which names prod and rollback', async () => {
  const scenario = await rig.scenario();
  const { prod, rollback } = scenario.names;
  const { type, message, details } = await (await scenario.start({ ova })).failure();

  assert.equal(type, 'NotFound');
  assert.equal(details?.code, 'PROD_MISSING');
  for (const name of [prod, rollback]) assert.ok(message.includes(`"${name}"`), message);
  assert.deepEqual(changes(), []);
  assert.deepEqual(await scenario.inventory(), []);
});

test('template/5 no template and a failing look for the previous one: both are told, nothing is created', async () => {
  const scenario = await rig.scenario();
  const { prod, rollback } = scenario.names;
  rig.proxy.addRule({
    method: 'FindChild',
    match: ({ body }) => body.includes(`>${rollback}<`),
    times: Infinity,
    action: 'fault',
    fault: 'NoPermission',
    fields: '<object type="Folder">group-v1</object><privilegeId>System.View</privilegeId>',
  });
  const swap = await scenario.start({ ova, options: { createIfMissing: true } });
  const { type, message, details } = await swap.failure();

  assert.equal(type, 'Forbidden');
  assert.match(details?.primary?.message ?? '', /prod not found/);
  assert.equal(details?.secondary?.faultType, 'NoPermission');
  for (const word of [prod, rollback, 'NoPermission']) assert.ok(message.includes(word), message);
  assert.deepEqual(changes(), []);
  assert.deepEqual(await scenario.inventory(), []);
});

test('template/6 only the previous template is left: it gets its name back at once, then it is swapped', async (t) => {
  const scenario = await rig.scenario();
  const previous = await scenario.template(scenario.names.rollback, old);
  const poller = await scenario.poller();
  const startedAt = performance.now();
  const result = await scenario.swap({ ova });
  await poller.stop();

  assert.equal(result.outcome, 'restored-then-swapped');
  assert.equal(result.previous?.moRef, previous);
  assert.equal(result.previous.version, old);
  const ref = await assertClean(scenario);
  assert.deepEqual(poller.owners(), [previous, ref]);
  const backAfterMs = (poller.samples.find((sample) => sample.ref !== undefined)?.at ?? Infinity) - startedAt;
  t.diagnostic(`back under its name after ${backAfterMs.toFixed(0)} ms`);
  assert.ok(backAfterMs <= 30_000, `back after ${backAfterMs} ms`); // 1 s on an idle machine
  assert.equal(changes()[0], `Rename_Task ${previous}`); // before anything of the new version
  assertGap(t, poller);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
  assertMeasured(poller, result.gapMs);
});

test('template/7 crashed between the renames: the finished new template goes forward without an upload', async () => {
  const scenario = await rig.scenario();
  const { temp, rollback } = scenario.names;
  const previous = await scenario.template(rollback, old);
  const ready = await scenario.template(temp, wanted, scenario.marker(wanted, ova.sha256, 'ready'));
  const poller = await scenario.poller();
  const result = await scenario.swap({ ova });
  await poller.stop();

  assert.equal(result.outcome, 'promoted');
  assert.deepEqual(result.prod, { moRef: ready, version: wanted });
  assert.equal(result.rollbackDestroyed, true);
  assert.equal(result.uploadedBytes, 0);
  assert.equal(uploads(), 0);
  assert.deepEqual(changes(), [`Rename_Task ${ready}`, `Destroy_Task ${previous}`]);
  assert.equal(await assertClean(scenario), ready);
  assert.deepEqual(poller.owners(), [ready]);
  assertNeverLost(poller);
});

test('template/8 crashed with half an import: first the name comes back, then the rest is cleaned up', async (t) => {
  const scenario = await rig.scenario();
  const { temp, rollback } = scenario.names;
  const previous = await scenario.template(rollback, old);
  const half = await rig.vcsim.control.createVm({
    name: temp,
    folder: scenario.folder,
    extraConfig: scenario.marker(wanted, '', 'importing'),
  });
  const poller = await scenario.poller();
  const result = await scenario.swap({ ova });
  await poller.stop();

  assert.equal(result.outcome, 'restored-then-swapped');
  const ref = await assertClean(scenario);
  const [first, second, third] = changes();
  assert.equal(first, `Rename_Task ${previous}`);
  assert.equal(second, `Destroy_Task ${half}`);
  assert.match(third ?? '', /^ImportVApp /);
  assert.deepEqual(poller.owners(), [previous, ref]);
  assertGap(t, poller);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
});

test('template/9 a current template with a previous one beside it: that is destroyed, nothing is imported', async () => {
  const scenario = await rig.scenario();
  const { prod, rollback } = scenario.names;
  const current = await scenario.template(prod, wanted, scenario.marker(wanted, ova.sha256, 'ready'));
  const previous = await scenario.template(rollback, old, scenario.marker(old, '', 'ready'));
  const result = await scenario.swap({ ova });

  assert.equal(result.prod?.moRef, current);
  assert.equal(result.rollbackDestroyed, true);
  assert.deepEqual(changes(), [`Destroy_Task ${previous}`]);
  assert.equal(await assertClean(scenario), current);
});

test('template/10 a current template with a left-over temp beside it: that is destroyed, nothing is imported', async () => {
  for (const state of ['ready', 'importing'] as const) {
    const scenario = await rig.scenario();
    const { prod, temp } = scenario.names;
    const current = await scenario.template(prod, wanted);
    const leftOver = await rig.vcsim.control.createVm({
      name: temp,
      folder: scenario.folder,
      template: state === 'ready',
      extraConfig: scenario.marker(wanted, ova.sha256, state),
    });
    const result = await scenario.swap({ ova });

    assert.equal(result.prod?.moRef, current);
    assert.deepEqual(changes(), [`Destroy_Task ${leftOver}`]);
    assert.equal(await assertClean(scenario), current);
  }
});

test('template/11 all three with a finished temp: swapped without an upload', async (t) => {
  const scenario = await rig.scenario();
  const { prod, temp, rollback } = scenario.names;
  const previous = await scenario.template(prod, old);
  const ready = await scenario.template(temp, wanted, scenario.marker(wanted, ova.sha256, 'ready'));
  const stale = await scenario.template(rollback, '415.92.0', scenario.marker('415.92.0', '', 'ready'));
  const poller = await scenario.poller();
  const result = await scenario.swap({ ova });
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  assert.equal(result.previous?.moRef, previous);
  assert.equal(result.uploadedBytes, 0);
  assert.equal(uploads(), 0);
  assert.deepEqual(changes(), [
    `Destroy_Task ${stale}`,
    `Rename_Task ${previous}`,
    `Rename_Task ${ready}`,
    `Destroy_Task ${previous}`,
  ]);
  assert.equal(await assertClean(scenario), ready);
  assertGap(t, poller);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
  assertMeasured(poller, result.gapMs);
});

test('template/12 all three, and the version of the template is unknown: an error, and all three stay', async () => {
  const scenario = await rig.scenario();
  const { prod, temp, rollback } = scenario.names;
  await scenario.template(prod, undefined);
  await scenario.template(temp, wanted, scenario.marker(wanted, ova.sha256, 'ready'));
  await scenario.template(rollback, old);
  const before = await refs(scenario);
  const { type, message, details } = await (await scenario.start({ ova })).failure();

  assert.equal(type, 'Refused');
  assert.equal(details?.code, 'UNKNOWN_PROD_VERSION');
  assert.ok(message.includes(prod), message);
  assert.deepEqual(changes(), []);
  assert.deepEqual(await refs(scenario), before);
  assert.deepEqual(Object.keys(before).sort(), [prod, temp, rollback].sort());
});

test('template/9 an unmarked template that the current one names as its predecessor is destroyed', async () => {
  const scenario = await rig.scenario();
  const { prod, rollback } = scenario.names;
  const previous = await scenario.template(rollback, old);
  const replacing = scenario.marker(wanted, ova.sha256, 'ready', { 'templateSwap.replaces': previous });
  const current = await scenario.template(prod, wanted, replacing);
  const result = await scenario.swap({ ova });

  assert.equal(result.rollbackDestroyed, true);
  assert.equal(await assertClean(scenario), current);
});

for (const [how, marked] of [
  ['without a marker', false],
  ['with the copy of a marker, as a clone has it', true],
] as const) {
  test(`a template under the rollback name ${how} is nobody's to destroy while the production template exists`, async () => {
    const scenario = await rig.scenario();
    const { prod, rollback } = scenario.names;
    const current = await scenario.template(prod, wanted, scenario.marker(wanted, ova.sha256, 'ready'));
    const foreign = await scenario.template(rollback, old, marked ? copiedMarker(scenario, current) : undefined);
    const result = await scenario.swap({ ova });
    assert.equal(result.outcome, 'noop');
    assert.equal(result.rollbackDestroyed, false);
    assert.ok(
      result.warnings.some((warning) => warning.includes('rollback')),
      result.warnings.join(),
    );
    assert.deepEqual(changes(), []);

    const next = await scenario.ova('418.0.0');
    const swap = await scenario.start({ ova: next, version: '418.0.0' });
    const { conflict } = await swap.reaches('Conflict');
    assert.equal(conflict?.id, `FOREIGN_OBJECT/${foreign}`);
    assert.deepEqual(changes(), []);
    await swap.update('resolve', { conflictId: conflict.id, decision: 'destroy-foreign', by: 'a test' });
    assert.equal((await swap.result()).outcome, 'swapped');
    await assertClean(scenario, '418.0.0');
  });
}

test('a clone of the production template under the temp name is foreign, though it carries a copy of its marker', async () => {
  const scenario = await rig.scenario();
  const { prod, temp } = scenario.names;
  const current = await scenario.template(prod, wanted, scenario.marker(wanted, ova.sha256, 'ready'));
  const clone = await rig.vcsim.control.createVm({
    name: temp,
    folder: scenario.folder,
    extraConfig: copiedMarker(scenario, current),
  });
  const result = await scenario.swap({ ova });

  assert.equal(result.outcome, 'noop');
  assert.deepEqual(changes(), []);
  assert.ok((await scenario.vms()).some(({ ref }) => ref === clone));
});

test('a finished temp of an earlier run that is on another network than wanted is imported anew', async () => {
  const scenario = await rig.scenario();
  const { prod, temp } = scenario.names;
  await scenario.template(prod, old);
  const marker = scenario.marker(wanted, ova.sha256, 'ready');
  const other = await scenario.template(temp, wanted, marker, '/DC0/network/DC0_DVPG0');
  const result = await scenario.swap({ ova });

  assert.equal(result.outcome, 'swapped');
  assert.equal(uploads(), 1);
  assert.ok(result.warnings.some((warning) => warning.includes('no network card is on the wanted network')));
  assert.ok(changes().includes(`Destroy_Task ${other}`));
  assert.notEqual(await assertClean(scenario), other);
});
