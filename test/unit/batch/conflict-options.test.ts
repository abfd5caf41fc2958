import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conflictOptions } from '../../../workflows/domain/batch/conflict-options.ts';
import type { Conflict } from '../../../workflows/contracts/conflict.ts';

const vm = { name: 'web-03', batch: 'night-1', isCommitted: true };

test('every conflict can be looked at again or cancelled, in the shape that all operations have', () => {
  const options: Conflict['options'] = conflictOptions('PLACEMENT_CHANGED', vm);
  assert.deepEqual(
    options.map(({ decision }) => decision),
    ['recheck', 'cancel'],
  );
});

test('batch/S07 consent to a VM that does not match its batch is for good', () => {
  assert.match(conflictOptions('EXPRESSION_MISMATCH', vm)[0]!.effect, /never/);
});

test('what a cancel does to the source depends on whether it is off', () => {
  assert.match(conflictOptions('POOL_GONE', vm)[1]!.effect, /web-03 out of night-1.*switched on again/);
  assert.match(conflictOptions('POOL_GONE', { ...vm, isCommitted: false })[1]!.effect, /not touched/);
});
