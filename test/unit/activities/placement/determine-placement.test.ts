import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  determinePlacement,
  PlacementError,
  type DeterminedPlacement,
  type PlacementQuestion,
} from '../../../../activities/placement/determine-placement.ts';
import type { BatchSpec, PlacementRule } from '../../../../workflows/domain/batch/records.ts';
import { batch, instance, networks, now } from './builders.ts';

const web = '[ds1] web/web.vmdk';
const data = '[ds2] web/mydisk.vmdk';
const lan = '00:50:56:00:00:01';
const dmz = '00:50:56:00:00:02';

function determine(spec: BatchSpec, changes: Partial<PlacementQuestion> = {}): Promise<DeterminedPlacement> {
  return determinePlacement({ spec, instance: instance(), networks, running: true, now, ...changes });
}

const byRules = (...placement_rules: PlacementRule[]): BatchSpec => batch({ placement_rules });

async function reason(spec: BatchSpec, field: string): Promise<readonly [string, string] | undefined> {
  const found = (await determine(spec)).reasons.find((each) => each.field === field);
  return found && [found.value, found.why];
}

async function failsWith(running: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(running, (err: unknown) => {
    assert.ok(err instanceof PlacementError, String(err));
    assert.equal(err.code, 'PLACEMENT_FAILED');
    assert.match(err.message, message);
    return true;
  });
}

suite('a placement', () => {
  test('is what the batch and the networks of the source say, and says so', async () => {
    assert.deepEqual(await determine(batch()), {
      placement: {
        target_name: 'tgt',
        target_project: 'default',
        storage_pools: { [web]: 'default', [data]: 'default' },
        networks: {
          [lan]: { network: 'VM-Network', nictype: 'managed', vlan_id: '' },
          [dmz]: { network: 'DMZ', nictype: 'physical', vlan_id: '0-4094' },
        },
        running: true,
      },
      reasons: [
        { field: 'target', value: 'tgt', why: 'default of the batch' },
        { field: 'project', value: 'default', why: 'default of the batch' },
        { field: `pool:${web}`, value: 'default', why: 'default of the batch' },
        { field: `pool:${data}`, value: 'default', why: 'default of the batch' },
        {
          field: `network:${lan}`,
          value: 'VM-Network (managed)',
          why: 'network /DC0/network/VM Network at the source',
        },
        {
          field: `network:${dmz}`,
          value: 'DMZ (physical, VLAN 0-4094)',
          why: 'network /DC0/network/DMZ at the source',
        },
        { field: 'running', value: 'true', why: 'power of the source' },
      ],
      log: [],
    });
  });

  test('has pools for the disks that are migrated only', async () => {
    const [disk] = instance().disks;
    const vm = instance({ disks: [disk!, { ...disk!, name: '[ds1] raw', supported: false }] });
    const spec = byRules({
      when: 'true',
      set: { pool: { default: 'p', by_disk: [{ when_disk: 'true', pool: 'q' }] } },
    });
    assert.deepEqual((await determine(spec, { instance: vm })).placement.storage_pools, { [web]: 'q' });
    const raw = instance({ disks: [{ ...disk!, supported: false }] });
    await failsWith(determine(batch(), { instance: raw }), /has no disk that can be migrated/);
    await failsWith(determine(batch(), { instance: instance({ disks: [] }) }), /no disk/);
  });

  test('may have no NICs, but not two with one address', async () => {
    const { placement } = await determine(batch(), { instance: instance({ nics: [] }) });
    assert.deepEqual(placement.networks, {});
    const [nic] = instance().nics;
    const twice = instance({ nics: [nic!, { ...nic!, hardware_address: nic!.hardware_address.toUpperCase() }] });
    await failsWith(
      determine(batch(), { instance: twice }),
      /two NICs of ubuntu2404 have the address 00:50:56:00:00:01/,
    );
  });

  test('fails for a NIC on a network that nobody knows, whatever rules say about it', async () => {
    const rule = { when: 'true', set: { network: [{ when_nic: 'true', network: 'br0' }] } };
    await failsWith(
      determine(byRules(rule), { networks: networks.slice(0, 1) }),
      /NIC 00:50:56:00:00:02 of ubuntu2404 is on network "\/DC0\/network\/DMZ"/,
    );
  });

  test('keeps whether the target is to run, and says why', async () => {
    const why = async (running: boolean, overrides = {}): Promise<unknown> => {
      const { placement, reasons } = await determine(batch(), { running, overrides });
      assert.equal(placement.running, running);
      return reasons.at(-1)?.why;
    };
    assert.equal(await why(false), 'power of the source');
    assert.equal(await why(true, { started_after_migration: true }), 'override started_after_migration');
    assert.equal(await why(false, { stopped_after_migration: true }), 'override stopped_after_migration');
  });
});

suite('overrides of networks', () => {
  const overridden = async (network_overrides: BatchSpec['network_overrides'], mac: string): Promise<unknown> =>
    (await determine(batch({ network_overrides }))).placement.networks[mac];

  test('are found by uuid, by id at the source, and by path', async () => {
    const [first] = networks;
    for (const key of [first!.uuid, 'vcenter01/Network:network-7', '/DC0/network/VM Network'])
      assert.deepEqual(await overridden({ [key]: { network: 'br0', nictype: 'bridged', vlan_id: '10' } }, lan), {
        network: 'br0',
        nictype: 'bridged',
        vlan_id: '10',
      });
    assert.deepEqual(await overridden({ 'vcenter02/Network:network-7': { network: 'br0' } }, lan), first!.placement);
  });

  test('the more exact name wins, field by field', async () => {
    const [, second] = networks;
    const overrides = {
      [second!.uuid]: { network: 'exact' },
      '/DC0/network/DMZ': { network: 'vague', nictype: 'bridged', vlan_id: '7' },
    } as const;
    assert.deepEqual(await overridden(overrides, dmz), { network: 'exact', nictype: 'bridged', vlan_id: '7' });
    assert.deepEqual(await reason(batch({ network_overrides: overrides }), `network:${dmz}`), [
      'exact (bridged, VLAN 7)',
      `network_overrides of "/DC0/network/DMZ" and "${second!.uuid}"`,
    ]);
  });

  test('what they leave out or empty stays, but a managed network has no VLAN of the source', async () => {
    const of = (override: object): Promise<unknown> => overridden({ '/DC0/network/DMZ': override }, dmz);
    assert.deepEqual(await of({ network: 'br0' }), { network: 'br0', nictype: 'physical', vlan_id: '0-4094' });
    assert.deepEqual(await of({ nictype: 'bridged', network: '' }), {
      network: 'DMZ',
      nictype: 'bridged',
      vlan_id: '0-4094',
    });
    assert.deepEqual(await of({ nictype: 'managed' }), { network: 'DMZ', nictype: 'managed', vlan_id: '' });
    assert.deepEqual(await of({}), { network: 'DMZ', nictype: 'physical', vlan_id: '0-4094' });
  });

  test('that can not be are told with their name', async () => {
    const of = (key: string, override: object): Promise<unknown> =>
      determine(batch({ network_overrides: { [key]: override } }));
    await failsWith(
      of('/DC0/network/VM Network', { vlan_id: '10' }),
      /network_overrides\["\/DC0\/network\/VM Network"\]: a managed/,
    );
    await failsWith(of('/DC0/network/DMZ', { vlan_id: '0' }), /"0" is no VLAN/);
    await failsWith(of('/DC0/network/DMZ', { network: 'a/b' }), /can't be the name of a network/);
  });
});

suite('placement rules', () => {
  test('those of the manual', async () => {
    const spec = byRules(
      { when: "name == 'my-vm'", set: { target: 'tgt1', project: 'project1' } },
      {
        when: "source == 'vc1'",
        set: {
          pool: { by_disk: [{ when_disk: 'capacity >= 100*1024*1024*1024', pool: 'slow' }] },
          network: [{ when_nic: "location endsWith '/DMZ'", network: 'br0', nictype: 'bridged', vlan_id: '10' }],
        },
      },
    );
    const at = networks.map((each) => ({ ...each, source: 'vc1' }));
    const vm = instance({ name: 'my-vm', source: 'vc1' });
    const { placement, reasons } = await determine(spec, { instance: vm, networks: at });
    assert.deepEqual(placement, {
      target_name: 'tgt1',
      target_project: 'project1',
      storage_pools: { [web]: 'default', [data]: 'slow' },
      networks: {
        [lan]: { network: 'VM-Network', nictype: 'managed', vlan_id: '' },
        [dmz]: { network: 'br0', nictype: 'bridged', vlan_id: '10' },
      },
      running: true,
    });
    assert.deepEqual(
      reasons.filter(({ why }) => why.startsWith('placement rule')),
      [
        { field: 'target', value: 'tgt1', why: 'placement rule 1' },
        { field: 'project', value: 'project1', why: 'placement rule 1' },
        { field: `pool:${data}`, value: 'slow', why: 'placement rule 2, where capacity >= 100*1024*1024*1024' },
        {
          field: `network:${dmz}`,
          value: 'br0 (bridged, VLAN 10)',
          why: "placement rule 2, where location endsWith '/DMZ'",
        },
      ],
    );
    const other = await determine(spec, { instance: instance({ name: 'other' }) });
    assert.deepEqual(other.placement, (await determine(batch())).placement);
  });

  test('a later one overrides an earlier one, and within a rule the later entry and the more special one', async () => {
    const spec = byRules(
      {
        when: 'true',
        set: { target: 'a', pool: { default: 'p1', by_disk: [{ when_disk: 'capacity > 0', pool: 'p2' }] } },
      },
      { when: 'true', set: { target: 'b', pool: { by_disk: [{ when_disk: "name contains 'mydisk'", pool: 'p3' }] } } },
      { when: 'false', set: { target: 'c', pool: { default: 'p4' } } },
      { when: 'true', set: { pool: { by_disk: [{ when_disk: 'shared', pool: 'p5' }] } } },
    );
    const { placement } = await determine(spec);
    assert.equal(placement.target_name, 'b');
    assert.deepEqual(placement.storage_pools, { [web]: 'p2', [data]: 'p3' });
    assert.deepEqual(await reason(byRules({ when: 'true', set: { pool: { default: 'p' } } }), `pool:${web}`), [
      'p',
      'placement rule 1, for all disks',
    ]);
  });

  test('a network that a rule sets is managed and without VLAN unless it says otherwise', async () => {
    const spec = byRules({ when: 'true', set: { network: [{ when_nic: "ipv4_address == ''", network: 'n' }] } });
    const { placement } = await determine(spec);
    assert.deepEqual(placement.networks[dmz], { network: 'n', nictype: 'managed', vlan_id: '' });
    assert.equal(placement.networks[lan]?.network, 'VM-Network');
  });

  test('see what the batch overrides', async () => {
    const spec = byRules({
      when: "cpus == 16 and config['tag.zone'] == 'x' and name == 'new'",
      set: { project: 'big' },
    });
    const overrides = { cpus: 16, name: 'new', config: { 'tag.zone': 'x' } };
    assert.equal((await determine(spec, { overrides })).placement.target_project, 'big');
    assert.equal((await determine(spec)).placement.target_project, 'default');
  });

  test('what goes wrong says in which of them', async () => {
    const rows: readonly (readonly [PlacementRule, RegExp])[] = [
      [{ when: 'disks[7].shared', set: {} }, /^placement_rules\[1\]\.when: there is no element 7.*line 1, column 6/],
      [{ when: 'cpus', set: {} }, /placement_rules\[1\]\.when: it must be true or false/],
      [
        { when: 'true', set: { pool: { by_disk: [{ when_disk: '1 / (capacity - capacity) > 0', pool: 'p' }] } } },
        /placement_rules\[1\]\.set\.pool\.by_disk\[0\]\.when_disk: the divisor/,
      ],
      [
        { when: 'true', set: { network: [{ when_nic: "location[0] == ''", network: 'n' }] } },
        /placement_rules\[1\]\.set\.network\[0\]\.when_nic: /,
      ],
      [
        { when: 'true', set: { network: [{ when_nic: 'true', network: 'n', vlan_id: '5' }] } },
        /placement_rules\[1\]\.set\.network\[0\]: a managed network/,
      ],
      [{ when: 'true', set: { target: '' } }, /placement_rules\[1\]\.set\.target: the name of the target is empty/],
    ];
    for (const [rule, message] of rows) await failsWith(determine(byRules({ when: 'true', set: {} }, rule)), message);
  });
});
