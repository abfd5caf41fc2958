import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  fenceOf,
  instanceMarks,
  isOwner,
  isReleased,
  marksOf,
  ownerOf,
  released,
  volumeMarks,
  withFence,
} from '../../../../activities/incus/marks.ts';

const marks = fc.record({
  uuid: fc.uuid(),
  batch: fc.string(),
  attempt: fc.nat({ max: 10_000 }),
  running: fc.boolean(),
  source: fc.string(),
});

test('marks are read as they were written, whatever else is in the configuration', () => {
  fc.assert(
    fc.property(marks, fc.dictionary(fc.constantFrom('user.a', 'limits.cpu'), fc.string()), (wanted, other) => {
      const config = { ...other, ...instanceMarks(wanted) };
      assert.deepEqual(marksOf(config), { ...wanted });
      assert.ok(isOwner(config, wanted));
      assert.ok(isOwner(volumeMarks(wanted), wanted));
      assert.ok(!isOwner(config, { uuid: wanted.uuid, attempt: wanted.attempt + 1 }));
    }),
  );
});

test('what was handed over is of nobody any more, and keeps everything else', () => {
  fc.assert(
    fc.property(marks, fc.nat(), (wanted, fence) => {
      const config = { 'limits.cpu': '2', 'user.migration_source': 'vc1', ...withFence(instanceMarks(wanted), fence) };
      assert.equal(fenceOf(config), fence);
      const after = released(config, wanted.uuid, '2026-01-01T00:00:00Z');
      assert.equal(ownerOf(after), undefined);
      assert.ok(isReleased(after, wanted.uuid));
      assert.ok(!isReleased(config, wanted.uuid));
      assert.deepEqual(after, {
        'limits.cpu': '2',
        'user.migration_source': 'vc1',
        'user.migrated.uuid': wanted.uuid,
        'user.migrated.at': '2026-01-01T00:00:00Z',
      });
    }),
  );
});

test('marks that are not complete belong to nobody', () => {
  for (const config of [
    {},
    { 'user.migration.uuid': '' },
    { 'user.migration.uuid': 'a' },
    { 'user.migration.uuid': 'a', 'user.migration.attempt': 'one' },
    { 'user.migration.uuid': 'a', 'user.migration.attempt': '-1' },
    { 'user.migration.attempt': '1' },
    { 'user.migration_source': 'vc1' },
  ] as const) {
    assert.equal(marksOf(config), undefined);
    assert.ok(!isOwner(config, { uuid: 'a', attempt: 1 }));
    assert.ok(!isOwner(config, { uuid: '', attempt: 1 }));
  }
  assert.equal(fenceOf({ 'user.migration.fence': 'x' }), 0);
});
