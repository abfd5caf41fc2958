import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchDetails } from '../../../workflows/batch/batch-details.ts';
import type { BatchView } from '../../../workflows/contracts/batch.ts';

function aView(over: Partial<BatchView> = {}): BatchView {
  const facts = { batch: 'shop', status: 'Running', members: 3, message: '2 finished, 1 need attention' };
  return { ...facts, counts: { finished: 2, conflict: 1 }, windows: [], next: [], ...over } as unknown as BatchView;
}

test('a batch that waits for a person says by which filter of the list the VMs are found', () => {
  const filter = '`OpKind = "migration" AND OpBatch = "shop" AND OpWaitingFor = "person"`';
  assert.ok(batchDetails(aView({ waitingFor: 'person' })).includes(filter));
  assert.doesNotMatch(batchDetails(aView()), /OpWaitingFor/);
});
