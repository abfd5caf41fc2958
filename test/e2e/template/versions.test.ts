import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { assertClean, assertGap, assertNeverLost, assertOnlyGood } from '../../support/guarantees.ts';
import { Rig } from '../../support/rig.ts';

let rig: Rig;
let first: BuiltOva;
let second: BuiltOva;
let third: BuiltOva;
before(async () => {
  rig = await Rig.start();
  const scenario = await rig.scenario();
  first = await scenario.ova('416.94.1');
  second = await scenario.ova('417.94.2');
  third = await scenario.ova('418.94.3');
});
after(() => rig.stop());

test('template/3 three versions one after the other', async (t) => {
  const scenario = await rig.scenario();
  const poller = await scenario.poller();
  const results = [
    await scenario.swap({ version: '416.94.1', ova: first, options: { createIfMissing: true } }),
    await scenario.swap({ version: '417.94.2', ova: second }),
    await scenario.swap({ version: '418.94.3', ova: third }),
  ];
  await poller.stop();

  assert.deepEqual(
    results.map(({ outcome, uploadAttempts }) => ({ outcome, uploadAttempts })),
    ['created', 'swapped', 'swapped'].map((outcome) => ({ outcome, uploadAttempts: 1 })),
  );
  assert.equal(results[1]?.previous?.moRef, results[0]?.prod?.moRef);
  assert.equal(results[2]?.previous?.moRef, results[1]?.prod?.moRef);
  await assertClean(scenario, '418.94.3');
  assertGap(t, poller);
  assertOnlyGood(poller, '416.94.1', '417.94.2', '418.94.3');
  assertNeverLost(poller);
  assert.deepEqual(
    poller.owners(),
    results.map(({ prod }) => prod?.moRef),
  );
});

test('case/57 a template that exists is replaced, in a folder', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '415.92.0');
  for (const [version, ova] of [
    ['416.94.1', first],
    ['417.94.2', second],
  ] as const) {
    const result = await scenario.swap({ version, ova });
    assert.equal(result.outcome, 'swapped');
    assert.equal(await assertClean(scenario, version), result.prod?.moRef);
  }
});

test('case/57 a template that exists is replaced, with no folder given', async () => {
  const scenario = await rig.scenario();
  const { prod } = scenario.names;
  const inRoot = async (): Promise<{ name: string; version: string | undefined }[]> => {
    const folder = await rig.vcsim.control.find('/DC0/vm');
    const vms = (await rig.vcsim.control.vms()).filter((vm) => vm.parent === folder?.ref);
    return vms.map(({ name, extraConfig }) => ({ name, version: extraConfig['templateSwap.version'] }));
  };
  await rig.vcsim.control.createVm({ name: prod, template: true, version: '415.92.0' });
  for (const [version, ova] of [
    ['416.94.1', first],
    ['417.94.2', second],
  ] as const) {
    const request = scenario.request({ version, ova });
    const { datacenter, cluster, datastore, network } = request.placement;
    const result = await scenario.swap({ ...request, placement: { datacenter, cluster, datastore, network } });
    assert.equal(result.outcome, 'swapped');
    assert.deepEqual(await inRoot(), [{ name: prod, version }]);
  }
});

test('case/43 a template of the same name in another folder is neither confused nor touched', async () => {
  const other = await rig.scenario();
  const { prod, temp, rollback } = other.names;
  for (const name of [prod, temp, rollback]) await other.template(name, '416.94.1');
  const before = await other.inventory();

  const scenario = await rig.scenario();
  const old = await scenario.template(prod, '416.94.1');
  const result = await scenario.swap({ ova: second });

  assert.equal(result.previous?.moRef, old);
  assert.equal(await assertClean(scenario), result.prod?.moRef);
  assert.deepEqual(await other.inventory(), before);
  const theirs = before.map(({ ref }) => ref);
  assert.deepEqual(
    rig.proxy.requests().filter(({ body }) => theirs.some((ref) => body.includes(`>${ref}<`))),
    [],
  );
});

for (const role of ['prod', 'temp', 'rollback'] as const) {
  test(`case/46 a powered-on VM that has the ${role} name survives, and the error says how to go on`, async () => {
    const scenario = await rig.scenario();
    const name = scenario.names[role];
    if (role !== 'prod') await scenario.template(scenario.names.prod, '416.94.1');
    // A copy of our marker proves nothing: clones have it.
    const marker = scenario.marker('417.94.2', second.sha256, 'ready');
    const vm = await rig.vcsim.control.createVm({
      name,
      folder: scenario.folder,
      poweredOn: true,
      extraConfig: marker,
    });
    const before = await scenario.inventory();
    const swap = await scenario.start({ ova: second });
    if (role !== 'prod') {
      const { conflict, next } = await swap.reaches('Conflict');
      assert.equal(conflict?.id, `FOREIGN_OBJECT/${vm}`);
      assert.ok(conflict.what.includes(name), conflict.what);
      // What is powered on is never offered for destruction.
      assert.deepEqual(
        conflict.options.map(({ decision }) => decision),
        ['retry', 'abort'],
      );
      assert.deepEqual(
        next,
        ['retry', 'abort'].map((decision) => `vmflow template resolve ${scenario.names.prod} --decision ${decision}`),
      );
      await swap.update('resolve', { conflictId: conflict.id, decision: 'abort', by: 'a test' });
    }
    const { type, message, details } = await swap.failure();

    assert.equal(type, role === 'prod' ? 'Refused' : 'Foreign');
    assert.equal(details?.code, role === 'prod' ? 'PROD_NOT_TEMPLATE' : 'FOREIGN_OBJECT');
    assert.ok(message.includes(name), message);
    if (role === 'prod') assert.match(details.next ?? '', /rename/);
    assert.deepEqual(rig.proxy.mutating(), []);
    assert.deepEqual(await scenario.inventory(), before);
  });
}

test('case/63 a template renamed by hand is the same template under its new name', async () => {
  const scenario = await rig.scenario();
  const made = await scenario.swap({ ova: second, options: { createIfMissing: true } });
  const ref = made.prod?.moRef ?? '';
  await rig.vcsim.control.renameVm(ref, 'renamed-by-hand');
  rig.proxy.clearRequests();
  const result = await scenario.swap({ ova: second, prodName: 'renamed-by-hand' });

  assert.equal(result.outcome, 'noop');
  assert.deepEqual(result.prod, { moRef: ref, version: '417.94.2' });
  assert.deepEqual(rig.proxy.mutating(), []);
});
