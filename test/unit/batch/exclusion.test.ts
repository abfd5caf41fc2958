import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exclusionReason, type ExclusionReason } from '../../../workflows/domain/batch/exclusion.ts';
import type {
  InstanceOverrides,
  InstanceRecord,
  RestrictionOverrides,
} from '../../../workflows/domain/batch/records.ts';
import { aDisk, aNic, aVm, nothingAllowed } from './record-builders.ts';

const unverified = aDisk({ background_import_verified: false });
const rawMapped = aDisk({ name: '[ds1] web-03/rdm.vmdk', supported: false, background_import_verified: false });
const unknownOs = { os: 'Alpine Linux v3.19', distribution: 'other' };

interface Row {
  readonly vm?: Partial<InstanceRecord>;
  readonly overrides?: InstanceOverrides;
  readonly allowed?: Partial<RestrictionOverrides>;
  readonly expected?: ExclusionReason;
}

const rows: readonly (readonly [title: string, row: Row])[] = [
  ['a VM with all that is needed', {}],
  ['disabled by a person', { overrides: { disable_migration: true }, expected: 'disabled' }],
  [
    'disabled by a person, and nothing lifts it',
    { overrides: { disable_migration: true, ignore_restrictions: true }, expected: 'disabled' },
  ],
  ['no host name', { vm: { name: '123' }, expected: 'name' }],
  ['no host name, and another one in the overrides', { vm: { name: '' }, overrides: { name: 'web' } }],
  ['a host name that the overrides spoil', { overrides: { name: 'a_b' }, expected: 'name' }],
  ['an unknown Linux', { vm: unknownOs, expected: 'unknown-os' }],
  ['an unknown Linux that is allowed', { vm: unknownOs, allowed: { allow_unknown_os: true } }],
  ['an unknown Linux whose distribution a person has said', { vm: unknownOs, overrides: { distribution: 'debian' } }],
  ['an unknown Linux that a person calls Linux', { vm: unknownOs, overrides: { os_type: 'linux' } }],
  ['an empty override says nothing', { vm: unknownOs, overrides: { distribution: '' }, expected: 'unknown-os' }],
  ['a Windows has no distribution', { vm: { os: 'Windows Server 2019' } }],
  ['no architecture', { vm: { architecture: '' }, expected: 'no-architecture' }],
  [
    'no address of two NICs',
    { vm: { nics: [aNic({ ipv4_address: '' }), aNic({ ipv4_address: '' })] }, expected: 'no-ipv4' },
  ],
  ['an address of one of two NICs', { vm: { nics: [aNic({ ipv4_address: '' }), aNic()] } }],
  ['no address, which is allowed', { vm: { nics: [aNic({ ipv4_address: '' })] }, allowed: { allow_no_ipv4: true } }],
  ['no NIC needs no address', { vm: { nics: [] } }],
  [
    'a disk that is not verified yet',
    { vm: { disks: [aDisk(), unverified] }, expected: 'background-import-unverified' },
  ],
  ['no change tracking', { vm: { background_import: false }, expected: 'background-import-unsupported' }],
  [
    'no change tracking, flags of earlier days do not count',
    { vm: { background_import: false, disks: [unverified] }, expected: 'background-import-unsupported' },
  ],
  [
    'no change tracking, which is allowed',
    { vm: { background_import: false }, allowed: { allow_no_background_import: true } },
  ],
  [
    'an unverified disk, which is allowed',
    { vm: { disks: [unverified] }, allowed: { allow_no_background_import: true } },
  ],
  ['a disk that can not be copied', { vm: { disks: [aDisk(), rawMapped] }, expected: 'unsupported-disk' }],
  [
    'a disk that can not be copied is lifted with all restrictions',
    { vm: { disks: [rawMapped] }, overrides: { ignore_restrictions: true } },
  ],
  [
    'no allowance is for disks that can not be copied',
    {
      vm: { disks: [rawMapped] },
      allowed: { allow_unknown_os: true, allow_no_ipv4: true, allow_no_background_import: true },
      expected: 'unsupported-disk',
    },
  ],
  [
    'all restrictions lifted',
    { vm: { name: '', ...unknownOs, background_import: false }, overrides: { ignore_restrictions: true } },
  ],
];

for (const [title, { vm = {}, overrides = {}, allowed = {}, expected }] of rows) {
  test(`${title}: ${expected ?? 'may migrate'}`, () => {
    assert.equal(exclusionReason(aVm(vm), overrides, { ...nothingAllowed, ...allowed })?.reason, expected);
  });
}

test('the first of all reasons is told, in the order of the specification', () => {
  const everything: InstanceRecord = aVm({
    name: '',
    ...unknownOs,
    architecture: '',
    nics: [aNic({ ipv4_address: '' })],
    background_import: true,
    disks: [unverified, rawMapped],
  });
  const lifted: InstanceRecord[] = [
    everything,
    { ...everything, name: 'web' },
    { ...everything, name: 'web', os: 'Debian 12' },
    { ...everything, name: 'web', os: 'Debian 12', architecture: 'x86_64' },
    { ...everything, name: 'web', os: 'Debian 12', architecture: 'x86_64', nics: [aNic()] },
    {
      ...everything,
      name: 'web',
      os: 'Debian 12',
      architecture: 'x86_64',
      nics: [aNic()],
      disks: [aDisk(), rawMapped],
    },
  ];
  assert.deepEqual(
    lifted.map((vm) => exclusionReason(vm, {}, nothingAllowed)?.reason),
    ['name', 'unknown-os', 'no-architecture', 'no-ipv4', 'background-import-unverified', 'unsupported-disk'],
  );
});

test('a reason says what it is about and what to do', () => {
  const text = (vm: Partial<InstanceRecord>): string => exclusionReason(aVm(vm), {}, nothingAllowed)?.text ?? '';
  assert.match(text({ name: '123' }), /"123".*overrides/);
  assert.match(text(unknownOs), /"Alpine Linux v3\.19".*allow_unknown_os/);
  assert.match(text({ disks: [aDisk(), unverified] }), /being verified/);
  assert.match(text({ background_import: false }), /not supported.*allow_no_background_import/);
  assert.match(text({ disks: [rawMapped] }), /\[ds1\] web-03\/rdm\.vmdk.*ignore_restrictions/);
});
