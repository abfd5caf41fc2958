import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { historySize } from '../../support/history-size.ts';
import { BatchRig } from '../../support/batch-rig.ts';

describe('a batch without windows', () => {
  let rig: BatchRig;
  before(async () => (rig = await BatchRig.start()));
  after(() => rig.stop());

  test('batch/S17: from Waiting to Finished in one go; the bytes at the target are the source’s, source off, target on', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('web');
    assert.equal((await batch.apply()).members, 1);
    const started = await batch.start();
    assert.equal(started.queued, 1);
    await vm.becomes('Finished');
    await vm.assertSameDisks();
    assert.equal(await vm.power(), 'poweredOff');
    assert.equal(rig.incus.instance('default', vm.name)?.status, 'Running');
    const statuses = (await vm.timeline()).map(({ status }) => status);
    assert.deepEqual(statuses, [
      'Waiting',
      'Creating new VM',
      'Idle',
      'Performing background import tasks',
      'Idle',
      'Performing final import tasks',
      'Idle',
      'Performing post-import tasks',
      'Worker tasks complete',
      'Finished',
    ]);
    await batch.becomes('Finished');
    const { events, largestPayload } = await historySize(await vm.handle());
    assert.ok(events <= 200, `a plain migration is short: ${events} events`);
    assert.ok(largestPayload <= 16_384, `and says little: ${largestPayload} bytes at once`);
  });

  test('thousands of migrations stand behind what people wait for: their priority is 4, that of the batch the usual', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('patient');
    await batch.apply();
    await batch.start();
    const [migration, whole] = await Promise.all([(await vm.handle()).describe(), batch.handle.describe()]);
    assert.equal(migration.raw.workflowExecutionInfo?.priority?.priorityKey, 4);
    assert.ok((whole.raw.workflowExecutionInfo?.priority?.priorityKey ?? 0) < 4);
    await vm.becomes('Finished');
  });
});
