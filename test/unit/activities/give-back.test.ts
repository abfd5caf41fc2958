import assert from 'node:assert/strict';
import { test } from 'node:test';
import { giveBack } from '../../../activities/give-back.ts';

const page = 4_096;

test('the memory of a chunk that has it for itself is free at once', () => {
  const chunk = Buffer.allocUnsafeSlow(page);
  const { buffer } = chunk;
  giveBack(chunk);
  assert.deepEqual([chunk.length, buffer.byteLength], [0, 0]);
});

for (const [what, part] of [
  ['the beginning', (whole: Buffer) => whole.subarray(0, page)],
  ['the end', (whole: Buffer) => whole.subarray(page)],
] as const)
  test(`${what} of something larger stays what it is`, () => {
    const whole = Buffer.alloc(2 * page, 7);
    giveBack(part(whole));
    assert.ok(whole.equals(Buffer.alloc(2 * page, 7)));
  });
