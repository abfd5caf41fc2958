import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { Resolution } from '../../../workflows/contracts/conflict.ts';
import type { Retarget } from '../../../workflows/contracts/template.ts';
import { assertGap } from '../../support/guarantees.ts';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { Rig, type Scenario, type Swap } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

let rig: Rig;
let ova: BuiltOva;
before(async () => {
  rig = await Rig.start();
  ova = await (await rig.scenario()).ova();
});
after(() => rig.stop());

/** What a refused update says. */
async function refusal(update: Promise<unknown>): Promise<string> {
  const err = await update.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(err instanceof WorkflowUpdateFailedError, `the update was not refused: ${String(err)}`);
  return err.cause?.message ?? '';
}

const decide = (conflictId: string, decision: string): Resolution => ({ conflictId, decision, by: 'a test' });

/** Starts a swap whose upload stands still after its first bytes. */
async function uploading(scenario: Scenario, version?: string): Promise<{ swap: Swap; release: () => void }> {
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => (release = resolve));
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: 1024, until });
  const swap = await scenario.start({ ova, ...(version === undefined ? {} : { version }) });
  await uploadBegan();
  return { swap, release };
}

async function uploadBegan(): Promise<void> {
  await waitFor('the upload', () => rig.proxy.requests().some(({ kind, bytes }) => kind === 'nfc' && bytes > 0));
}

const mutations = (): string[] => rig.proxy.mutating().map(({ method }) => method);

test('template/34 a powered-on VM under the temp name is a conflict; abort fails the swap and changes nothing', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const foreign = await rig.vcsim.control.createVm({
    name: scenario.names.temp,
    folder: scenario.folder,
    poweredOn: true,
  });
  const bystander = await rig.vcsim.control.createVm({ name: 'bystander', folder: scenario.folder });
  const before = await scenario.inventory();

  const swap = await scenario.start({ ova });
  const { conflict, next } = await swap.reaches('Conflict');
  assert.equal(conflict?.code, 'FOREIGN_OBJECT');
  assert.equal(conflict.id, `FOREIGN_OBJECT/${foreign}`);
  assert.deepEqual(
    conflict.options.map(({ decision }) => decision),
    ['retry', 'abort'],
  );
  assert.ok(next.some((command) => command.endsWith('--decision abort')));

  const wrongObject = decide(`FOREIGN_OBJECT/${bystander}`, 'destroy-foreign');
  assert.match(await refusal(swap.update(messages.resolve, wrongObject)), /FOREIGN_OBJECT/);
  assert.match(await refusal(swap.update(messages.resolve, decide(conflict.id, 'destroy-foreign'))), /destroy-foreign/);
  await swap.handle.signal(messages.resolve, wrongObject); // a stale signal is ignored
  // Looking again finds the same object.
  await swap.update(messages.resolve, decide(conflict.id, 'retry'));
  await waitFor('the conflict again', async () => {
    const { conflict: again } = await swap.status();
    return again !== undefined && again.since !== conflict.since;
  });

  await swap.update(messages.resolve, decide(conflict.id, 'abort'));
  const failure = await swap.failure();
  assert.equal(failure.type, 'Foreign');
  assert.equal(failure.details?.code, 'FOREIGN_OBJECT');
  assert.equal((await swap.status()).status, 'Failed');
  assert.deepEqual(mutations(), []);
  assert.deepEqual(await scenario.inventory(), before);
});

test('template/34 an unmarked powered-off VM under the temp name is destroyed only by the decision that names it', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const foreign = await scenario.template(scenario.names.temp, '410.0.0');
  const swap = await scenario.start({ ova });
  const { conflict } = await swap.reaches('Conflict');
  assert.deepEqual(mutations(), []);
  await swap.update(messages.resolve, decide(`FOREIGN_OBJECT/${foreign}`, 'destroy-foreign'));
  assert.equal(conflict?.id, `FOREIGN_OBJECT/${foreign}`);
  assert.equal((await swap.result()).outcome, 'swapped');
  const destroyed = rig.proxy.requests().filter(({ method }) => method === 'Destroy_Task');
  assert.equal(destroyed[0]?.object?.value, foreign);
  const left = await scenario.inventory();
  assert.deepEqual(
    left.map(({ name, version }) => ({ name, version })),
    [{ name: scenario.names.prod, version: '417.94.2' }],
  );
});

test('template/35 two starts for the same target are one run, and both callers get its result', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const [one, two] = await Promise.all([scenario.start({ ova }), scenario.start({ ova })]);
  const late = await scenario.start({ ova });
  assert.deepEqual([one.answer.how, two.answer.how].sort(), ['joined', 'started']);
  assert.equal(late.answer.how, 'joined');
  const results = await Promise.all([one, two, late].map((swap) => swap.result()));
  assert.equal(results[0]?.outcome, 'swapped');
  assert.deepEqual(results[1], results[0]);
  assert.deepEqual(results[2], results[0]);
  assert.equal(mutations().filter((method) => method === 'ImportVApp').length, 1);
});

test('template/35 another target is refused while a swap runs; superseding it removes its temp VM', async () => {
  const scenario = await rig.scenario();
  const old = await scenario.template(scenario.names.prod, '416.94.1');
  const poller = await scenario.poller();
  const { swap } = await uploading(scenario);
  const first = (await scenario.inventory()).find(({ name }) => name === scenario.names.temp);
  assert.ok(first);
  const second = await scenario.ova('418.0.0');

  const refused = await refusal(scenario.start({ ova: second, version: '418.0.0' }));
  assert.match(refused, /SWAP_RUNNING.*417\.94\.2/);
  const wanted: Retarget = {
    source: { kind: 'file', path: second.path, sha256: second.sha256 },
    target: { version: '418.0.0' },
    by: 'a test',
  };
  await swap.update(messages.retarget, wanted);
  const result = await swap.result();
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  assert.equal(result.prod?.version, '418.0.0');
  assert.equal(result.previous?.moRef, old);
  const left = await scenario.inventory();
  assert.deepEqual(
    left.map(({ name, version }) => ({ name, version })),
    [{ name: scenario.names.prod, version: '418.0.0' }],
  );
  assert.notEqual(left[0]?.ref, first.ref);
  assert.deepEqual(poller.owners(), [old, left[0]?.ref]);
  assert.ok(mutations().includes('HttpNfcLeaseAbort'));
  assert.deepEqual(await rig.vcsim.control.leases(), []);
});

test('template/35 a new target ends the keeping of the previous template', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const swap = await scenario.start({ ova, options: { keepRollbackMinutes: 10 } });
  await swap.reaches('Keeping');
  assert.equal((await scenario.start({ ova })).answer.how, 'joined');
  const second = await scenario.ova('418.0.0');
  const source = { kind: 'file', path: second.path, sha256: second.sha256 } as const;
  await swap.update(messages.retarget, { source, target: { version: '418.0.0' }, by: 'a test' } satisfies Retarget);
  const kept = await waitFor('keeping the second', async () => {
    const status = await swap.status();
    return status.status === 'Keeping' && status.target.version === '418.0.0' ? status : undefined;
  });
  assert.equal(kept.previous?.version, '417.94.2');
  await swap.update(messages.endKeep, { by: 'a test' });
  const result = await swap.result();
  assert.equal(result.prod?.version, '418.0.0');
  assert.equal(result.rollbackDestroyed, true);
  assert.equal((await scenario.inventory()).length, 1);
});

test('template/36, case/50 cancelled during the upload: lease aborted, temp gone, the old template untouched', async (t) => {
  const scenario = await rig.scenario();
  const old = await scenario.template(scenario.names.prod, '416.94.1');
  const poller = await scenario.poller();
  const { swap } = await uploading(scenario);
  const asked = performance.now();
  await swap.handle.cancel();
  assert.equal((await swap.failure()).type, 'Cancelled');
  const tookMs = performance.now() - asked;
  await poller.stop();

  t.diagnostic(`cancelled within ${tookMs.toFixed(0)} ms`);
  assert.ok(tookMs < 60_000, `it took ${tookMs} ms`); // idle: a heartbeat or two; the stalled upload is given up after minutes
  assert.equal((await swap.handle.describe()).status.name, 'CANCELLED');
  assert.equal((await swap.status()).status, 'Cancelled');
  assert.ok(mutations().includes('HttpNfcLeaseAbort'));
  assert.deepEqual(await rig.vcsim.control.leases(), []);
  assert.deepEqual(
    (await scenario.inventory()).map(({ name, ref }) => ({ name, ref })),
    [{ name: scenario.names.prod, ref: old }],
  );
  assert.deepEqual(poller.owners(), [old]);
  assert.equal(poller.longestGapMs(), 0);
});

for (const nth of [1, 2]) {
  test(`template/36 cancelled while rename ${'AB'[nth - 1] ?? ''} is under way: the swap completes first`, async () => {
    const scenario = await rig.scenario();
    const old = await scenario.template(scenario.names.prod, '416.94.1');
    const hold = rig.proxy.hold({ method: 'Rename_Task', nth });
    const swap = await scenario.start({ ova });
    await hold.arrived;
    await swap.handle.cancel();
    await waitFor('the cancellation in the history', async () =>
      ((await swap.handle.fetchHistory()).events ?? []).some(
        (event) => event.workflowExecutionCancelRequestedEventAttributes != null,
      ),
    );
    hold.release();

    const result = await swap.result();
    assert.equal(result.outcome, 'swapped');
    assert.equal(result.previous?.moRef, old);
    assert.equal(result.rollbackDestroyed, false);
    assert.ok(result.warnings.some((warning) => warning.includes(scenario.names.rollback)));
    const vms = await scenario.inventory();
    assert.equal(vms.find(({ name }) => name === scenario.names.prod)?.version, '417.94.2');
    assert.equal(vms.find(({ name }) => name === scenario.names.rollback)?.ref, old);
    assert.equal(vms.length, 2);

    // The next run takes away what this one left.
    assert.equal((await scenario.swap({ ova })).outcome, 'noop');
    assert.deepEqual(
      (await scenario.inventory()).map(({ name }) => name),
      [scenario.names.prod],
    );
  });
}

test('template/44 undo gives the name back to the kept template and leaves nothing else', async (t) => {
  const scenario = await rig.scenario();
  const old = await scenario.template(scenario.names.prod, '416.94.1');
  const swap = await scenario.start({ ova, options: { keepRollbackMinutes: 10 } });
  const kept = await swap.reaches('Keeping');
  assert.ok(Date.parse(kept.keptUntil ?? '') > Date.now() + 9 * 60_000);
  assert.equal(kept.result?.outcome, 'swapped');
  const fresh = kept.result.prod?.moRef;
  assert.equal((await scenario.inventory()).length, 2);

  const poller = await scenario.poller();
  await swap.update(messages.undo, { by: 'a test' });
  const result = await swap.result();
  await poller.stop();

  assert.equal(result.outcome, 'undone');
  assert.deepEqual(result.prod, { moRef: old, version: '416.94.1' });
  assert.equal((await swap.status()).status, 'Undone');
  assert.deepEqual(
    (await scenario.inventory()).map(({ name, ref, template }) => ({ name, ref, template })),
    [{ name: scenario.names.prod, ref: old, template: true }],
  );
  assert.deepEqual(poller.owners(), [fresh, old]);
  assertGap(t, poller);
});
