import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sizeOf, sizeText } from '../../../../activities/incus/sizes.ts';

test('a size is written as whole blocks, never less than asked for', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 50 }), (bytes) => {
      const written = sizeOf(sizeText(bytes));
      assert.ok(written !== undefined && written >= bytes && written < bytes + 8_192 && written % 8_192 === 0);
    }),
  );
});

test('sizes in units are read, and what is none is not guessed', () => {
  assert.equal(sizeOf('10GiB'), 10 * 2 ** 30);
  assert.equal(sizeOf('5GB'), 5e9);
  assert.equal(sizeOf('4096'), 4_096);
  for (const text of [undefined, '', 'GiB', '10 GiB', '50%', '-1B', '1.5GiB', '10Gib'])
    assert.equal(sizeOf(text), undefined);
});
