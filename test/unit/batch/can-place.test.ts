import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { canPlace, type PlaceQuestion } from '../../../workflows/domain/batch/can-place.ts';
import { isInSubnet, parseIpv4, parseSubnet } from '../../../workflows/domain/batch/ipv4.ts';
import type { MigrationNetwork, NetworkPlacement, TargetNetwork } from '../../../workflows/domain/batch/records.ts';
import { aNic, aPlacement, dataDisk, mac, rootDisk, someFacts } from './record-builders.ts';

function aQuestion(over: Partial<PlaceQuestion> = {}): PlaceQuestion {
  return {
    placement: aPlacement(),
    instanceName: 'web-03',
    nics: [aNic()],
    facts: someFacts(),
    present: 'absent',
    ...over,
  };
}

function codes(over: Partial<PlaceQuestion>, moment: 'creation' | 'finalisation' = 'creation'): string[] {
  const question = aQuestion(over);
  const findings = moment === 'creation' ? canPlace(question, moment) : canPlace(question, moment);
  return findings.map(({ code }) => code);
}

const onNetwork = (network: string, nictype: NetworkPlacement['nictype']): Partial<PlaceQuestion> => ({
  placement: aPlacement({ networks: { [mac]: { network, nictype, vlan_id: '' } } }),
});
const duringMigration = (network: string, nictype: NetworkPlacement['nictype']): Partial<PlaceQuestion> => ({
  migrationNetwork: { target: 'tgt', target_project: 'p1', network, nictype, vlan_id: '' } satisfies MigrationNetwork,
});

test('a placement that fits has nothing against it', () => {
  assert.deepEqual(codes({}), []);
  assert.deepEqual(codes({ present: 'ours' }, 'finalisation'), []);
});

const places: readonly (readonly [title: string, over: Partial<PlaceQuestion>, expected: string[]])[] = [
  ['a target that is not configured', { facts: undefined }, ['TARGET_GONE']],
  [
    'a project that is not there',
    { facts: someFacts({ project_exists: false, pools: [], networks: [] }) },
    ['PROJECT_GONE'],
  ],
  ['a pool that is not there', { facts: someFacts({ pools: [] }) }, ['POOL_GONE']],
  ['no pool at all', { placement: aPlacement({ storage_pools: {} }) }, ['POOL_GONE']],
  ['a migration network that is not there', duringMigration('nope', 'managed'), ['MIGRATION_NETWORK_INVALID']],
  ['a network that is not there', onNetwork('nope', 'managed'), ['NETWORK_GONE']],
  ['a NIC that is placed nowhere', { placement: aPlacement({ networks: {} }) }, ['NETWORK_GONE']],
  [
    'a NIC with the name of a thing that every object has',
    { nics: [aNic({ hardware_address: 'toString' })] },
    ['NETWORK_GONE'],
  ],
  ['a VM without NICs', { nics: [] }, []],
  ['a network of a NIC that the VM does not have any more', { ...onNetwork('nope', 'managed'), nics: [] }, []],
];

for (const [title, over, expected] of places) {
  test(`${title}: ${expected.join(', ') || 'fits'}, before creation and at the end`, () => {
    assert.deepEqual(codes(over), expected);
    assert.deepEqual(codes({ ...over, present: 'ours' }, 'finalisation'), expected);
  });
}

const names: readonly (readonly [PlaceQuestion['present'], creation: string[], finalisation: string[]])[] = [
  ['absent', [], ['TARGET_INSTANCE_GONE']],
  ['ours', [], []],
  ['foreign', ['TARGET_INSTANCE_EXISTS'], ['TARGET_INSTANCE_GONE']],
];

for (const [present, creation, finalisation] of names) {
  test(`batch/S47 an instance of that name that is ${present}: ${creation.join('') || 'fits'} before creation, ${finalisation.join('') || 'fits'} at the end`, () => {
    assert.deepEqual(codes({ present }), creation);
    assert.deepEqual(codes({ present }, 'finalisation'), finalisation);
  });
}

test('what has the name at the end instead of ours is told', () => {
  const found = (present: PlaceQuestion['present']) => canPlace(aQuestion({ present }), 'finalisation')[0]?.found;
  assert.equal(found('absent'), 'no such instance');
  assert.equal(found('foreign'), 'a foreign instance');
});

/** Network, then whether it fits as bridged, physical, managed: of a NIC, and of the migration network. */
const types: readonly (readonly [network: string, nic: string, migration: string])[] = [
  ['lan', 'yyy', 'yyy'],
  ['uplink', '-yy', '--y'],
  ['overlay', '--y', '--y'],
  ['mac0', '--y', '--y'],
  ['br0', 'yy-', 'yy-'],
  ['eth1', 'yy-', 'yy-'],
];

for (const [network, nic, migration] of types) {
  for (const [i, nictype] of (['bridged', 'physical', 'managed'] as const).entries()) {
    test(`${nictype} on ${network}: ${nic[i] === 'y' ? 'fits' : 'does not fit'} a NIC, ${migration[i] === 'y' ? 'fits' : 'does not fit'} the migration`, () => {
      const nics = [aNic({ ipv4_address: '' })];
      assert.deepEqual(codes({ ...onNetwork(network, nictype), nics }), nic[i] === 'y' ? [] : ['NETWORK_TYPE']);
      const expected = migration[i] === 'y' ? [] : ['MIGRATION_NETWORK_INVALID'];
      assert.deepEqual(codes(duringMigration(network, nictype)), expected);
    });
  }
}

const subnets: readonly (readonly [
  title: string,
  network: Partial<TargetNetwork>,
  nictype: NetworkPlacement['nictype'],
  ipv4_address: string,
  fits: boolean,
])[] = [
  ['an address in it', {}, 'managed', '10.1.0.255', true],
  ['an address beside it', {}, 'managed', '10.1.1.0', false],
  ['an address beside that of OVN', { type: 'ovn' }, 'managed', '10.1.1.0', false],
  ['no address', {}, 'managed', '', true],
  ['what is no address', {}, 'managed', '10.1.0', false],
  ['a network without subnet', { ipv4: '' }, 'managed', '10.9.9.9', true],
  ['a network whose subnet is none', { ipv4: 'none' }, 'managed', '10.9.9.9', true],
  ['a NIC that only uses the bridge', {}, 'bridged', '10.9.9.9', true],
  ['a managed network of another type', { type: 'macvlan' }, 'managed', '10.9.9.9', true],
  ['a subnet of all addresses', { ipv4: '10.1.0.1/0' }, 'managed', '200.9.9.9', true],
  ['a subnet of one address', { ipv4: '10.1.0.1/32' }, 'managed', '10.1.0.2', false],
];

for (const [title, network, nictype, ipv4_address, fits] of subnets) {
  test(`${title}: ${fits ? 'fits' : 'NETWORK_SUBNET'}`, () => {
    const facts = someFacts({
      networks: [{ name: 'lan', managed: true, type: 'bridge', ipv4: '10.1.0.1/24', ...network }],
    });
    const found = codes({ facts, nics: [aNic({ ipv4_address })], ...onNetwork('lan', nictype) });
    assert.deepEqual(found, fits ? [] : ['NETWORK_SUBNET']);
  });
}

test('case/93 every NIC and every pool is looked at, the order is that of the specification', () => {
  const [a, b, c] = ['00:50:56:00:00:0a', '00:50:56:00:00:0b', '00:50:56:00:00:0c'];
  const findings = canPlace(
    aQuestion({
      present: 'foreign',
      ...duringMigration('nope', 'managed'),
      nics: [
        aNic({ hardware_address: a }),
        aNic({ hardware_address: b, ipv4_address: '192.168.0.1' }),
        aNic({ hardware_address: c }),
        aNic(),
      ],
      placement: aPlacement({
        storage_pools: { [rootDisk]: 'gone1', [dataDisk]: 'gone2', extra: 'gone1' },
        networks: {
          [a]: { network: 'nope', nictype: 'bridged', vlan_id: '' },
          [b]: { network: 'lan', nictype: 'managed', vlan_id: '' },
          [c]: { network: 'br0', nictype: 'managed', vlan_id: '' },
          [mac]: { network: 'lan', nictype: 'managed', vlan_id: '' },
        },
      }),
    }),
    'creation',
  );
  assert.deepEqual(
    findings.map(({ code, found }) => [code, found]),
    [
      ['TARGET_INSTANCE_EXISTS', 'a foreign instance'],
      ['MIGRATION_NETWORK_INVALID', 'no such network'],
      ['NETWORK_GONE', 'no such network'],
      ['NETWORK_SUBNET', '192.168.0.1'],
      ['NETWORK_TYPE', 'an unmanaged bridge'],
      ['POOL_GONE', 'no such pool'],
      ['POOL_GONE', 'no such pool'],
    ],
  );
  assert.match(findings[5]?.message ?? '', /"gone1" \(for .*web-03\.vmdk, extra\)/);
});

test('a finding names what, where and what to do', () => {
  const [finding] = canPlace(aQuestion(onNetwork('nope', 'bridged')), 'creation');
  assert.match(
    finding?.message ?? '',
    /NIC 00:50:56:00:00:01.*"nope".*project "p1" of target "tgt".*network_overrides/,
  );
  assert.equal(finding?.expected, 'network nope');
});

test('addresses are read as the network does, nothing is guessed', () => {
  assert.equal(parseIpv4('0.0.0.0'), 0);
  assert.equal(parseIpv4('255.255.255.255'), 2 ** 32 - 1);
  for (const bad of [
    '',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '01.2.3.4',
    '1.2.3.a',
    ' 1.2.3.4',
    '1.2.3.-4',
    '1..3.4',
    '0x1.2.3.4',
  ])
    assert.equal(parseIpv4(bad), undefined, bad);
  for (const bad of ['', 'none', 'auto', '10.0.0.1', '10.0.0.1/33', '10.0.0/8', '10.0.0.1/', '::1/64'])
    assert.equal(parseSubnet(bad), undefined, bad);
});

test('an address is in a subnet exactly when their first bits are the same', () => {
  const word = fc.nat(2 ** 32 - 1);
  const text = (address: number): string => [24, 16, 8, 0].map((bits) => (address >>> bits) & 255).join('.');
  const bits = (address: number): string => address.toString(2).padStart(32, '0');
  fc.assert(
    fc.property(word, word, fc.nat(32), fc.nat(32), (base, other, prefix, shared) => {
      // Addresses that share a beginning are rare by chance.
      const address = Number.parseInt(bits(base).slice(0, shared) + bits(other).slice(shared), 2);
      const subnet = parseSubnet(`${text(base)}/${prefix}`)!;
      assert.equal(parseIpv4(text(address)), address);
      assert.equal(isInSubnet(address, subnet), bits(address).slice(0, prefix) === bits(base).slice(0, prefix));
    }),
  );
});
