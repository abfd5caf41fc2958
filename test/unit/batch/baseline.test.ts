import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { baselineOf, propertiesHash } from '../../../workflows/domain/batch/baseline.ts';
import { isOwnSnapshot, snapshotName, snapshotPrefix } from '../../../workflows/domain/batch/snapshot-names.ts';
import type { InstanceOverrides, InstanceRecord } from '../../../workflows/domain/batch/records.ts';
import { aDisk, aNic, aVm, gib, uuid } from './record-builders.ts';

test('a baseline has uuid, effective name and disks without what was found out about them', () => {
  const baseline = baselineOf(aVm({ disks: [aDisk()] }), { name: 'www' });
  assert.deepEqual(baseline, {
    uuid,
    name: 'www',
    disks: [{ name: aDisk().name, capacity: gib, shared: false, supported: true }],
    properties: propertiesHash(aVm(), { name: 'www' }),
  });
});

const changes: readonly Partial<InstanceRecord>[] = [
  { location: '/dc1/vm/other/web-03' },
  { name: 'web-04' },
  { description: 'x' },
  { os_template: 'x' },
  { os: 'Debian 12' },
  { os_description: 'x' },
  { cpus: 3 },
  { memory: 8 * gib },
  { architecture: 'aarch64' },
  { config: { 'tag.env': 'test' } },
  { config: {} },
  { secure_boot: true },
  { legacy_boot: false },
  { tpm: true },
  { nics: [] },
  { nics: [aNic({ ipv4_address: '10.1.0.11' })] },
  { nics: [aNic({ location: '/dc1/network/dmz' })] },
  { nics: [aNic(), aNic({ hardware_address: '00:50:56:00:00:02' })] },
  { snapshots: [{ name: 'before upgrade' }] },
];

for (const change of changes) {
  test(`${JSON.stringify(change)} is a change of properties`, () => {
    assert.notEqual(propertiesHash(aVm(change)), propertiesHash(aVm()));
  });
}

const ourDoing: readonly Partial<InstanceRecord>[] = [
  { running: false },
  { host: 'HostSystem:host-99' },
  { last_update_from_source: '2026-04-01T00:00:00.000Z' },
  { background_import: false },
  { disks: [aDisk({ background_import_verified: false })] },
  { snapshots: [{ name: snapshotName(uuid, 7) }] },
];

for (const change of ourDoing) {
  test(`batch/S42 ${JSON.stringify(change)} is no change of properties`, () => {
    assert.equal(propertiesHash(aVm(change)), propertiesHash(aVm()));
  });
}

const said: readonly (readonly [InstanceOverrides, isChange: boolean])[] = [
  [{ cpus: 8 }, true],
  [{ memory: gib }, true],
  [{ name: 'www' }, true],
  [{ architecture: 'aarch64' }, true],
  [{ os_type: 'bsd' }, true],
  [{ distribution: 'debian' }, true],
  [{ distribution_version: '24.04' }, true],
  [{ config: { 'tag.env': 'test' } }, true],
  [{ cpus: 0, name: '', config: {} }, false],
  [{ comment: 'x', ignore_restrictions: true, disable_migration: true }, false],
  [{ started_after_migration: true }, false],
  [{ stopped_after_migration: true }, false],
];

for (const [overrides, isChange] of said) {
  test(`overrides ${JSON.stringify(overrides)} are ${isChange ? 'a' : 'no'} change of properties`, () => {
    assert.equal(propertiesHash(aVm(), overrides) !== propertiesHash(aVm()), isChange);
  });
}

test('the order of keys plays no part, the order of NICs does', () => {
  const key = fc.string();
  fc.assert(
    fc.property(fc.array(fc.tuple(key, fc.string())), (pairs) => {
      const unique = [...new Map(pairs)];
      const config = Object.fromEntries(unique);
      const reversed = Object.fromEntries([...unique].reverse());
      assert.equal(propertiesHash(aVm({ config })), propertiesHash(aVm({ config: reversed })));
    }),
  );
  const [a, b] = [aNic(), aNic({ hardware_address: '00:50:56:00:00:02' })];
  assert.notEqual(propertiesHash(aVm({ nics: [a, b] })), propertiesHash(aVm({ nics: [b, a] })));
});

test('a text can not move from one field to the next', () => {
  assert.notEqual(
    propertiesHash(aVm({ os: 'ab', os_description: '' })),
    propertiesHash(aVm({ os: 'a', os_description: 'b' })),
  );
});

test('our own snapshots are known by prefix, uuid and number', () => {
  assert.equal(snapshotName(uuid, 3), 'mm-5298cc11-3');
  assert.ok(isOwnSnapshot('mm-5298cc11-12', uuid));
  for (const name of [
    'mm-5298cc11-',
    'mm-5298cc11-x',
    'mm-5298cc12-1',
    'nightly',
    'mm-5298cc11-1 (copy)',
    snapshotPrefix(''),
  ])
    assert.ok(!isOwnSnapshot(name, uuid), name);
});
