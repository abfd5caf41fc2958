import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { overridesProblems, specProblems } from '../../../workflows/domain/batch/spec-problems.ts';
import type {
  BatchSpec,
  Constraint,
  InstanceOverrides,
  MigrationNetwork,
  NetworkPlacement,
} from '../../../workflows/domain/batch/records.ts';
import { aBatch, uuid } from './record-builders.ts';

const { config, defaults } = aBatch();
const placement = (change: Partial<BatchSpec['defaults']['placement']>): Partial<BatchSpec> => ({
  defaults: { ...defaults, placement: { ...defaults.placement, ...change } },
});
const constraints = (...changes: Partial<Constraint>[]): Partial<BatchSpec> => ({
  constraints: changes.map((change, i) => ({
    name: `c${i}`,
    description: '',
    include_expression: `cpus == ${i}`,
    max_concurrent_instances: 0,
    min_instance_boot_time: 0,
    ...change,
  })),
});
const migrationNetworks = (...changes: Partial<MigrationNetwork>[]): Partial<BatchSpec> => ({
  defaults: {
    ...defaults,
    migration_network: changes.map((change) => ({
      target: 'tgt',
      target_project: 'p1',
      network: 'lan',
      nictype: 'managed',
      vlan_id: '',
      ...change,
    })),
  },
});
const numbers = (change: Partial<BatchSpec['config']>): Partial<BatchSpec> => ({ config: { ...config, ...change } });
const rule = (set: BatchSpec['placement_rules'][number]['set']): Partial<BatchSpec> => ({
  placement_rules: [{ when: 'true', set }],
});
const network = (change: Partial<NetworkPlacement>): Partial<BatchSpec> => ({
  network_overrides: { '/dc1/lan': change },
});
const overrides = (change: InstanceOverrides): Partial<BatchSpec> => ({ overrides: { [uuid]: change } });

const ofVm = `overrides["${uuid}"]`;
const ofNetwork = 'network_overrides["/dc1/lan"]';
const ofRule = 'placement_rules[0].set';
const duringMigration = 'defaults.migration_network';

const rows: readonly (readonly [change: Partial<BatchSpec>, ...paths: string[]])[] = [
  [{}],
  [{ name: 'a b' }, 'name'],
  [{ name: '' }, 'name'],
  [placement({ target: '' }), 'defaults.placement.target'],
  [placement({ target_project: 'a/b' }), 'defaults.placement.target_project'],
  [placement({ storage_pool: '*' }), 'defaults.placement.storage_pool'],
  [constraints({}, {})],
  [constraints({ name: 'a b' }), 'constraints[0].name'],
  [constraints({}, { name: 'c0' }), 'constraints[1].name'],
  [constraints({}, { include_expression: ' cpus == 0 ' }), 'constraints[1].include_expression'],
  [constraints({}, { name: 'c0' }, { name: 'c0' }), 'constraints[1].name', 'constraints[2].name'],
  [constraints({ max_concurrent_instances: -1 }), 'constraints[0].max_concurrent_instances'],
  [constraints({ max_concurrent_instances: 1.5 }), 'constraints[0].max_concurrent_instances'],
  [constraints({ min_instance_boot_time: -1 }), 'constraints[0].min_instance_boot_time'],
  [migrationNetworks({}, { target_project: 'p2' }, { target: 't2' })],
  [migrationNetworks({}, { network: 'other' }), `${duringMigration}[1]`],
  [migrationNetworks({ target: '' }), `${duringMigration}[0].target`],
  [migrationNetworks({ target_project: '' }), `${duringMigration}[0].target_project`],
  [migrationNetworks({ network: '' }), `${duringMigration}[0].network`],
  [migrationNetworks({ vlan_id: '10' }), `${duringMigration}[0].vlan_id`],
  [migrationNetworks({ nictype: 'bridged', vlan_id: '10' })],
  [migrationNetworks({ nictype: 'physical', vlan_id: '0' }), `${duringMigration}[0].vlan_id`],
  [numbers({ post_migration_retries: -1 }), 'config.post_migration_retries'],
  [numbers({ create_retries: 0.5 }), 'config.create_retries'],
  [numbers({ sync_limit: Number.NaN }), 'config.sync_limit'],
  [numbers({ background_sync_interval: 1, final_background_sync_limit: 1 })],
  [numbers({ background_sync_interval: 1, final_background_sync_limit: 2 }), 'config.final_background_sync_limit'],
  [numbers({ final_background_sync_limit: 0 }), 'config.final_background_sync_limit'],
  [numbers({ background_sync_interval: 0 }), 'config.background_sync_interval', 'config.final_background_sync_limit'],
  [rule({ target: 't', project: 'p', pool: { default: 'd', by_disk: [{ when_disk: 'true', pool: 'x' }] } })],
  [rule({ target: '' }), `${ofRule}.target`],
  [rule({ project: '' }), `${ofRule}.project`],
  [rule({ pool: { default: '' } }), `${ofRule}.pool.default`],
  [rule({ pool: { by_disk: [{ when_disk: 'true', pool: '' }] } }), `${ofRule}.pool.by_disk[0].pool`],
  [rule({ network: [{ when_nic: 'true', network: '' }] }), `${ofRule}.network[0].network`],
  [rule({ network: [{ when_nic: 'true', network: 'n', vlan_id: '1' }] }), `${ofRule}.network[0].vlan_id`],
  [rule({ network: [{ when_nic: 'true', network: 'n', nictype: 'bridged', vlan_id: '1' }] })],
  [network({ vlan_id: '10' })],
  [network({ network: '' }), `${ofNetwork}.network`],
  [network({ nictype: 'managed', vlan_id: '10' }), `${ofNetwork}.vlan_id`],
  [network({ nictype: 'managed', vlan_id: '' })],
  [network({ vlan_id: 'x' }), `${ofNetwork}.vlan_id`],
  [{ overrides: { [uuid.toUpperCase()]: {} } }, `overrides["${uuid.toUpperCase()}"]`],
  [{ overrides: { 'web-03': {} } }, 'overrides["web-03"]'],
  [overrides({ name: 'www', cpus: 4, memory: 1, comment: 'x' })],
  [overrides({ name: '', cpus: 0, memory: 0, distribution: '', distribution_version: '' })],
  [overrides({ name: 'a_b' }), `${ofVm}.name`],
  [overrides({ cpus: -1 }), `${ofVm}.cpus`],
  [overrides({ cpus: 1.5 }), `${ofVm}.cpus`],
  [overrides({ memory: 2 ** 60 }), `${ofVm}.memory`],
  [overrides({ started_after_migration: true })],
  [overrides({ started_after_migration: true, stopped_after_migration: false })],
  [overrides({ started_after_migration: true, stopped_after_migration: true }), `${ofVm}.stopped_after_migration`],
  [overrides({ os_type: 'windows', distribution: 'other', distribution_version: 'Server 2022' })],
  [overrides({ os_type: 'windows', distribution: 'debian' }), `${ofVm}.distribution`],
  [overrides({ os_type: 'windows', distribution_version: '2022' }), `${ofVm}.distribution_version`],
  [overrides({ os_type: 'linux', distribution: 'freebsd' }), `${ofVm}.distribution`],
  [overrides({ distribution: 'freebsd', distribution_version: '14' })],
  [overrides({ distribution: 'ubuntu', distribution_version: '22' }), `${ofVm}.distribution_version`],
  [overrides({ distribution_version: '22.04' })],
];

for (const [change, ...paths] of rows) {
  test(`${JSON.stringify(change)}: ${paths.length === 0 ? 'right' : `wrong at ${paths.join(', ')}`}`, () => {
    const problems = specProblems(aBatch(change));
    assert.deepEqual(
      problems.map(({ path }) => path),
      paths,
    );
    assert.ok(problems.every(({ message }) => message !== ''));
  });
}

const vlans: readonly (readonly [vlan_id: string, isRight: boolean])[] = [
  ['1', true],
  ['4094', true],
  ['10,20', true],
  ['100-200', true],
  ['1,100-200,4094', true],
  ['7-7', true],
  ['0', false],
  ['4095', false],
  ['200-100', false],
  ['0-5', false],
  ['10,', false],
  [',', false],
  ['10, 20', false],
  ['-1', false],
  ['1-2-3', false],
  ['1.5', false],
  ['ten', false],
];

for (const [vlan_id, isRight] of vlans) {
  test(`VLAN "${vlan_id}" is ${isRight ? 'one' : 'none'}`, () => {
    assert.equal(specProblems(aBatch(network({ nictype: 'bridged', vlan_id }))).length, isRight ? 0 : 1);
  });
}

test('all mistakes are told at once', () => {
  const spec = aBatch({
    name: '',
    ...constraints({}, { name: 'c0' }),
    ...network({ vlan_id: 'x' }),
    ...overrides({ cpus: -1 }),
  });
  assert.equal(specProblems(spec).length, 4);
});

test('the overrides of one VM are judged wherever they are', () => {
  const anyOverrides: fc.Arbitrary<InstanceOverrides> = fc.record(
    {
      name: fc.constantFrom('a', '-'),
      cpus: fc.constantFrom(1, -1),
      distribution: fc.constantFrom('debian', 'freebsd'),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(anyOverrides, (one) => {
      assert.deepEqual(overridesProblems(one, ofVm), specProblems(aBatch(overrides(one))));
    }),
  );
});
