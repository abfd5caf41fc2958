import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ShardRequests } from '../../../workflows/batch/shard-requests.ts';
import type { CommitRequest } from '../../../workflows/contracts/batch.ts';

function wish(index: number): CommitRequest {
  const readySince = new Date(index * 1_000).toISOString();
  return { uuid: `vm${index}`, name: `vm${index}`, token: 't', readySince, minBootMs: 0, cutover: false };
}

const isReleased = false;

test('the batch sees the first of those that wait, and the next when one of them is through', () => {
  const requests = new ShardRequests();
  for (let index = 0; index < 25; index += 1) requests.take(`vm${index}`, wish(index), { isReleased });
  assert.equal(requests.toSend().requests.length, 20);
  assert.equal(requests.isCut, true);
  assert.equal(requests.toSend().requests.length, 0);
  requests.take('vm3', undefined, { isReleased, isCommitted: true });
  assert.deepEqual(
    requests.toSend().requests.map(({ uuid }) => uuid),
    ['vm20'],
  );
});

test('those that wait for others, and these, are seen however many are before them', () => {
  const requests = new ShardRequests();
  for (let index = 0; index < 50; index += 1) requests.take(`vm${index}`, wish(index), { isReleased });
  const isOrdered = (uuid: string): boolean => uuid !== 'vm0' && Number(uuid.slice(2)) % 2 === 0;
  const sent = requests.toSend(isOrdered).requests.map(({ uuid }) => uuid);
  assert.equal(sent.filter(isOrdered).length, 24);
  assert.equal(sent.length, 24 + 20);
});
