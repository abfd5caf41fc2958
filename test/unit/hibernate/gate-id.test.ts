import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrationGateId } from '../../../workflows/contracts/ids.ts';

test('workers of another queue have a gate of their own', () => {
  assert.equal(migrationGateId('vmflow'), 'slots/migration/gate');
  assert.equal(migrationGateId('blue/1'), 'slots/migration/gate/blue%2f1');
});
