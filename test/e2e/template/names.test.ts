import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { swapNames } from '../../../workflows/domain/template/names.ts';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { Rig } from '../../support/rig.ts';

let rig: Rig;
let ova: BuiltOva;
before(async () => {
  rig = await Rig.start();
  ova = await (await rig.scenario()).ova();
});
after(() => rig.stop());

test('template/31 a name of 81 characters is refused before any call to vCenter', async () => {
  const scenario = await rig.scenario();
  // The second one is 80 characters long and gets too long when `/` is escaped on the wire.
  for (const prodName of ['x'.repeat(81), `${'x'.repeat(79)}/`]) {
    const swap = await scenario.start({ ova, prodName, options: { createIfMissing: true } });
    const { type, details } = await swap.failure();
    assert.equal(type, 'InvalidRequest');
    assert.equal(details?.code, 'NAME_TOO_LONG');
  }
  assert.deepEqual(rig.proxy.requests(), []);
});

test('template/31 a name of 80 characters works, with a temp name of 16', async () => {
  const scenario = await rig.scenario();
  const prodName = 'x'.repeat(80);
  const swap = await scenario.start({ ova, prodName, options: { createIfMissing: true } });
  const result = await swap.result();
  assert.equal(result.outcome, 'created');
  const { names } = await swap.status();
  assert.equal(names.temp, 'mco-tmp-d929cdee');
  assert.equal(names.temp.length, 16);
  const [importSpec] = rig.proxy.requests().filter(({ method }) => method === 'CreateImportSpec');
  assert.match(importSpec?.body ?? '', /<entityName>mco-tmp-d929cdee<\/entityName>/);
  assert.deepEqual(
    (await scenario.inventory()).map(({ name, template }) => ({ name, template })),
    [{ name: prodName, template: true }],
  );
});

test('template/32 a template named a/b is found as a%2fb, swapped, and stored as a%2fb', async () => {
  const scenario = await rig.scenario();
  const old = await scenario.template('slash', '416.94.1');
  await rig.vcsim.control.renameVm(old, 'a%2fb'); // the simulator can't create it: its directory would get that name
  const poller = await scenario.poller('a/b');
  const result = await scenario.swap({ ova, prodName: 'a/b' });
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  assert.equal(result.previous?.moRef, old);
  const [left, ...others] = await scenario.inventory();
  assert.deepEqual(others, []);
  assert.equal(left?.name, 'a%2fb');
  assert.equal(left.version, '417.94.2');
  assert.deepEqual(poller.owners(), [old, left.ref]);
  assert.equal(result.prod?.moRef, left.ref);
});

test('template/33 the same names in another folder are left untouched', async () => {
  const other = await rig.scenario();
  const { prod, temp, rollback } = other.names;
  await other.template(prod, '415.92.0');
  await other.template(temp, '417.94.2', other.marker('417.94.2', ova.sha256, 'ready'));
  await other.template(rollback, '414.0.0');
  const before = await other.inventory();
  const refs = new Set(before.map(({ ref }) => ref));

  const scenario = await rig.scenario();
  const old = await scenario.template(prod, '416.94.1');
  const poller = await other.poller();
  const result = await scenario.swap({ ova });
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  assert.equal(result.previous?.moRef, old);
  assert.deepEqual(
    (await scenario.inventory()).map(({ name, version }) => ({ name, version })),
    [{ name: prod, version: '417.94.2' }],
  );
  assert.deepEqual(await other.inventory(), before);
  assert.equal(poller.owners().length, 1);
  const touched = rig.proxy.mutating().filter(({ object }) => refs.has(object?.value ?? ''));
  assert.deepEqual(touched, []);
});

test('template/33 equal names in two folders are swapped side by side', async () => {
  const [one, two] = [await rig.scenario(), await rig.scenario()];
  const names = swapNames('demo-rhcos-fd0');
  const before = await Promise.all([one, two].map((scenario) => scenario.template(names.prod, '416.94.1')));
  const results = await Promise.all([one, two].map((scenario) => scenario.swap({ ova })));
  assert.deepEqual(
    results.map(({ outcome, previous }) => ({ outcome, previous: previous?.moRef })),
    before.map((previous) => ({ outcome: 'swapped', previous })),
  );
  for (const scenario of [one, two]) {
    const left = await scenario.inventory();
    assert.deepEqual(
      left.map(({ name, version }) => ({ name, version })),
      [{ name: names.prod, version: '417.94.2' }],
    );
  }
});
