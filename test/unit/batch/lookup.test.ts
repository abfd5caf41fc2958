import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TargetError } from '../../../activities/incus/target-error.ts';
import type { OwnedInstance } from '../../../activities/incus/port.ts';
import { VSphereError } from '../../../activities/vsphere/faults.ts';
import type { BatchPlan } from '../../../workflows/contracts/batch-lookup.ts';
import type { BatchSpec } from '../../../workflows/domain/batch/records.ts';
import { LookupWorld } from './lookup-builders.ts';
import { aBatch, aDisk, aNic, gib, nothingAllowed, uuid } from './record-builders.ts';

async function planned(world: LookupWorld, spec: BatchSpec = aBatch()): Promise<BatchPlan> {
  const { plan, problems } = await world.ask({ what: 'batch-plan', spec });
  return plan ?? assert.fail(JSON.stringify(problems));
}

/** `name state why` of every VM. */
async function lines(world: LookupWorld, spec: BatchSpec = aBatch()): Promise<string[]> {
  const { items } = await planned(world, spec);
  return items.map(({ name, state, why = '' }) => `${name} ${state} ${why}`.trimEnd());
}

describe('the plan of a batch', () => {
  test('has every VM that matches, where it goes, and nothing else', async () => {
    const world = new LookupWorld();
    world.add('web-10');
    world.add('web-9');
    world.add('big', { cpus: 8 });
    const plan = await planned(world, aBatch({ include_expression: 'cpus <= 4' }));
    assert.deepEqual(
      plan.items.map(({ name, state, target, project }) => [name, state, target, project]),
      [
        ['web-9', 'planned', 'tgt', 'p1'],
        ['web-10', 'planned', 'tgt', 'p1'],
      ],
    );
    assert.deepEqual([plan.members, plan.counts.planned, plan.truncated], [2, 2, false]);
  });

  test('reads a place once, however many VMs go there', async () => {
    const world = new LookupWorld();
    for (let i = 0; i < 20; i++) world.add(`web-${i}`);
    await planned(world);
    assert.equal(world.factReads, 1);
  });

  test('a VM that may not migrate is blocked with the first reason', async () => {
    const world = new LookupWorld();
    world.add('a', { nics: [aNic({ ipv4_address: '' })] });
    world.add('b', { disks: [aDisk({ supported: false }), aDisk({ name: '[ds] b/2.vmdk' })] });
    world.add('c');
    const found = await lines(
      world,
      aBatch({ overrides: { [world.vms.get('vc1')?.[2]?.uuid ?? '']: { disable_migration: true } } }),
    );
    assert.match(found[0] ?? '', /^a blocked no NIC has an IPv4 address/);
    assert.match(found[1] ?? '', /^b blocked these disks can't be copied/);
    assert.match(found[2] ?? '', /^c blocked manually disabled/);
  });

  test('change tracking that nobody has looked at is looked at', async () => {
    const world = new LookupWorld();
    world.add('a', { disks: [aDisk({ background_import_verified: false })] });
    assert.deepEqual(await lines(world), ['a planned']);
    world.isTracked = false;
    assert.match((await lines(world))[0] ?? '', /^a blocked background import is not supported/);
    const allowed = { ...nothingAllowed, allow_no_background_import: true };
    const { config } = aBatch();
    const spec = aBatch({ config: { ...config, instance_restriction_overrides: allowed } });
    assert.deepEqual(await lines(world, spec), ['a planned']);
  });

  test("a VM that can't be placed is blocked alone", async () => {
    const world = new LookupWorld();
    world.add('a');
    world.add('b', { nics: [aNic({ uuid: 'net-unknown' })] });
    const rules = [{ when: "name == 'a'", set: { pool: { default: 'nosuch' } } }];
    const found = await lines(world, aBatch({ placement_rules: rules }));
    assert.match(found[0] ?? '', /^a blocked .*no storage pool "nosuch"/);
    assert.match(found[1] ?? '', /^b blocked /);
  });

  test('a name that is taken at the target blocks, unless what is there is ours', async () => {
    const world = new LookupWorld();
    const a = world.add('a');
    world.facts = { ...world.facts, instances: ['a'] };
    world.owned.push(owned('a', { uuid }));
    assert.match((await lines(world))[0] ?? '', /^a blocked .*has an instance "a" already/);
    world.owned.splice(0, 1, owned('a', { uuid: a.uuid }));
    assert.deepEqual(await lines(world), ['a planned']);
  });

  test("a target that can't be reached blocks what goes there", async () => {
    const world = new LookupWorld();
    world.add('a');
    world.targetFailure = new TargetError('UNREACHABLE', 'target tgt does not answer');
    assert.deepEqual(await lines(world), ['a blocked target tgt does not answer']);
  });

  test('a VM that another batch has would be left out; one of this batch is planned on', async () => {
    const world = new LookupWorld();
    world.entries.set(world.add('a').uuid, { batch: 'b2', status: 'Idle' });
    world.entries.set(world.add('b').uuid, { batch: 'night-1', status: 'Waiting' });
    assert.deepEqual(await lines(world), ['a taken batch b2 has it already (Idle): it would be left out', 'b planned']);
  });

  test('of two that would have one name at one place only the first is planned', async () => {
    const world = new LookupWorld();
    world.vms.set('vc2', []);
    world.add('web');
    world.add('web', { source: 'vc2', location: '/dc2/vm/web' });
    const both = aBatch({ include_expression: 'true' });
    const found = await lines(world, both);
    assert.equal(found.length, 2);
    assert.match(found[0] ?? '', /^web blocked it would have the name of \/dc1\/vm\/web/);
    const other = world.vms.get('vc2')?.[0]?.uuid ?? '';
    const renamed = { ...both, overrides: { [other]: { name: 'web-b' } } };
    assert.deepEqual(await lines(world, renamed), ['web planned', 'web-b planned']);
  });

  test('one VM that two sources have is in it once', async () => {
    const world = new LookupWorld();
    world.vms.set('vc2', []);
    const { uuid: same } = world.add('web');
    world.add('web', { source: 'vc2', uuid: same });
    const plan = await planned(world, aBatch({ include_expression: 'true' }));
    assert.deepEqual(
      plan.items.map(({ source }) => source),
      ['vc1'],
    );
  });

  test('the constraint of a VM is the last that matches, and says how long it needs', async () => {
    const world = new LookupWorld();
    world.add('a');
    const one = { description: '', max_concurrent_instances: 1, include_expression: 'true' };
    const constraints = [
      { ...one, name: 'all', min_instance_boot_time: 1 },
      { ...one, name: 'last', include_expression: "name == 'a'", min_instance_boot_time: 60_000 },
      { ...one, name: 'none', include_expression: "name == 'b'", min_instance_boot_time: 2 },
    ];
    const [vm] = (await planned(world, aBatch({ constraints }))).items;
    assert.deepEqual([vm?.constraint, vm?.neededMs], ['last', 60_000]);
  });

  test("VMs that couldn't be read are told, not treated as gone", async () => {
    const world = new LookupWorld();
    world.add('a');
    world.unread.set('vc1', ['VirtualMachine:vm-7']);
    assert.match((await planned(world)).warnings[0] ?? '', /1 VMs of source vc1 could not be read/);
  });

  test('templates and such are left out without a word: no batch has them', async () => {
    const world = new LookupWorld();
    world.add('a');
    world.noVms.set('vc1', ['VirtualMachine:vm-7', 'VirtualMachine:vm-8']);
    world.unread.set('vc1', ['VirtualMachine:vm-7', 'VirtualMachine:vm-8']);
    assert.deepEqual((await planned(world)).warnings, []);
    world.unread.set('vc1', ['VirtualMachine:vm-7', 'VirtualMachine:vm-8', 'VirtualMachine:vm-9']);
    assert.match((await planned(world)).warnings[0] ?? '', /^1 VMs of source vc1 could not be read/);
  });

  test("a source that can't be read fails the whole: half a plan would be a wrong one", async () => {
    const world = new LookupWorld();
    world.sourceFailure = new Error('no route to host');
    await assert.rejects(world.ask({ what: 'batch-plan', spec: aBatch() }), /no route to host/);
  });

  test('is at most a page, trouble first', async () => {
    const world = new LookupWorld();
    for (let i = 0; i < 1_500; i++) world.add(`web-${i}`, i === 700 ? { architecture: '' } : {});
    const plan = await planned(world);
    assert.equal(plan.members, 1_500);
    assert.equal(plan.truncated, true);
    assert.ok(JSON.stringify(plan).length < 110_000);
    assert.deepEqual([plan.items[0]?.name, plan.items[0]?.state], ['web-700', 'blocked']);
  });
});

describe("a batch that can't be planned", () => {
  const problems = async (world: LookupWorld, spec: unknown): Promise<string[]> => {
    const { plan, problems: found } = await world.ask({ what: 'batch-plan', spec: spec as BatchSpec });
    assert.equal(plan, undefined);
    return found.map(({ path, message, line, column }) => `${path} ${line ?? '-'}:${column ?? '-'} ${message}`);
  };

  test('tells all its mistakes, those in expressions with their place', async () => {
    const constraint = { description: '', max_concurrent_instances: 1, min_instance_boot_time: 0 };
    const found = await problems(
      new LookupWorld(),
      aBatch({
        include_expression: 'nosuch == 1',
        constraints: [{ ...constraint, name: 'a b', include_expression: 'len(disks)' }],
        defaults: { ...aBatch().defaults, placement: { target: 'other', target_project: 'p1', storage_pool: 'fast' } },
      }),
    );
    assert.equal(found.length, 4);
    assert.ok(found.some((line) => /^include_expression 1:1 .*nosuch/.test(line)));
    assert.ok(found.some((line) => /^constraints\[0\]\.include_expression 1:\d+ /.test(line)));
    assert.ok(found.some((line) => /^constraints\[0\]\.name -:- is no name/.test(line)));
    assert.ok(found.some((line) => /^defaults\.placement\.target -:- there is no target "other"/.test(line)));
  });

  test('selects nobody', async () => {
    const world = new LookupWorld();
    world.add('a');
    for (const include_expression of ['false', "name == 'nobody'"])
      assert.match(
        (await problems(world, aBatch({ include_expression }))).join(),
        /^include_expression .*would be empty$/,
      );
  });

  test('has an expression that fails for one of the VMs', async () => {
    const world = new LookupWorld();
    world.add('a', { disks: [aDisk()] });
    const found = await problems(world, aBatch({ include_expression: 'disks[1].capacity > 5' }));
    assert.match(found.join(), /^include_expression 1:\d+ /);
  });

  test("isn't one", async () => {
    for (const wrong of [{ name: 'a' }, { ...aBatch(), extra: 1 }, { ...aBatch(), constraints: 'none' }])
      assert.notEqual((await problems(new LookupWorld(), wrong)).length, 0);
  });

  test("changes what can't change any more", async () => {
    const world = new LookupWorld();
    world.add('a');
    const over = { name: 'w', end: '2020-01-01T00:00:00.000Z', capacity: 0 };
    world.batches.set('night-1', aBatch({ migration_windows: [over] }));
    assert.match((await problems(world, aBatch({ migration_windows: [{ ...over, name: 'x' }] }))).join(), /ended at/);
    const { plan } = await world.ask({ what: 'batch-plan', spec: aBatch({ migration_windows: [over] }) });
    assert.equal(plan?.counts['does-not-fit'], 1, 'the window may stay, nobody fits into it any more');
  });
});

describe('VMs of a source', () => {
  test('come in the order of their location, all of them over the pages', async () => {
    const world = new LookupWorld();
    for (let i = 0; i < 600; i++) world.add(`vm-${String(i).padStart(3, '0')}`);
    const names: string[] = [];
    let after: string | undefined;
    let pages = 0;
    do {
      const page = await world.ask({ what: 'source-vms', source: 'vc1', ...(after === undefined ? {} : { after }) });
      assert.ok(JSON.stringify(page).length < 110_000);
      names.push(...page.items.map(({ name }) => name));
      after = page.next;
      pages++;
    } while (after !== undefined);
    assert.ok(pages > 1);
    assert.deepEqual(names, [...names].sort());
    assert.equal(new Set(names).size, 600);
  });

  test('a filter is an expression, or a text in the location', async () => {
    const world = new LookupWorld();
    world.add('web', { cpus: 8 });
    world.add('db');
    const named = async (filter: string): Promise<string[]> => {
      const { items } = await world.ask({ what: 'source-vms', source: 'vc1', filter });
      return items.map(({ name }) => name);
    };
    assert.deepEqual(await named('cpus > 4'), ['web']);
    assert.deepEqual(await named('/dc1/vm/d'), ['db']);
    assert.deepEqual(await named('web'), ['web']);
    await assert.rejects(named('nosuch == 1'), /the filter can't be used: .*nosuch/);
    await assert.rejects(world.ask({ what: 'source-vms', source: 'vc9' }), /no vCenter "vc9"/);
  });

  test('tell their size and what would leave them out', async () => {
    const world = new LookupWorld();
    world.add('a', { nics: [aNic({ ipv4_address: '' })] });
    world.add('b', { disks: [aDisk({ background_import_verified: false })] });
    const { items } = await world.ask({ what: 'source-vms', source: 'vc1' });
    assert.deepEqual([items[0]?.disks, items[0]?.size], [2, 3 * gib]);
    assert.match(items[0]?.restriction ?? '', /no NIC has an IPv4/);
    assert.equal(items[1]?.restriction, undefined);
  });
});

function owned(name: string, marks: Partial<OwnedInstance['marks']> = {}): OwnedInstance {
  return {
    ...{ project: 'p1', name, fence: 1, status: 'stopped' },
    marks: { uuid, batch: 'night-1', attempt: 1, running: true, source: 'vc1', ...marks },
  };
}

describe('what was left behind', () => {
  test('is what no entry of its batch stands behind', async () => {
    const world = new LookupWorld();
    const a = world.add('a', { running: false });
    const b = world.add('b');
    const c = world.add('c');
    const moved = world.add('d');
    world.owned.push(
      owned('a', { uuid: a.uuid }),
      owned('b', { uuid: b.uuid }),
      owned('c', { uuid: c.uuid }),
      owned('d', { uuid: moved.uuid }),
      owned('gone', { uuid: '5298cc11-96ea-4f50-b018-999999999999' }),
      owned('far', { source: 'vc9' }),
    );
    world.entries.set(c.uuid, { batch: 'night-1', status: 'Canceled' });
    world.entries.set(moved.uuid, { batch: 'b2', status: 'Idle' });
    const { orphans, unread } = await world.ask({ what: 'orphans' });
    assert.deepEqual(
      orphans.map(({ name, sourcePower, why }) => [name, sourcePower, why]),
      [
        ['a', 'off', 'no entry stands behind it, and its source is off that was on: adopt it, or switch the source on'],
        ['b', 'on', 'no entry stands behind it'],
        ['d', 'on', 'its VM is in batch b2 now, not in night-1'],
        ['far', undefined, 'no entry stands behind it; its source has no such VM any more'],
        ['gone', undefined, 'no entry stands behind it; its source has no such VM any more'],
      ],
    );
    assert.deepEqual(unread, []);
  });

  test("a VM that may be among those that couldn't be read isn't called gone", async () => {
    const world = new LookupWorld();
    world.unread.set('vc1', ['VirtualMachine:vm-7']);
    world.owned.push(owned('a'));
    const [one] = (await world.ask({ what: 'orphans' })).orphans;
    assert.deepEqual([one?.sourcePower, one?.why], [undefined, 'no entry stands behind it']);
    world.sourceFailure = new Error('down');
    assert.equal((await world.ask({ what: 'orphans' })).orphans.length, 1);
  });

  test('a VM that could be read is told though others could not; a template hides nobody', async () => {
    const world = new LookupWorld();
    const a = world.add('a', { running: false });
    world.owned.push(owned('a', { uuid: a.uuid }), owned('b', { uuid: '5298cc11-96ea-4f50-b018-999999999999' }));
    world.unread.set('vc1', ['VirtualMachine:vm-7']);
    const told = async (): Promise<unknown> =>
      (await world.ask({ what: 'orphans' })).orphans.map(({ name, sourcePower, why }) => [name, sourcePower, why]);
    const off = [
      'a',
      'off',
      'no entry stands behind it, and its source is off that was on: adopt it, or switch the source on',
    ];
    assert.deepEqual(await told(), [off, ['b', undefined, 'no entry stands behind it']]);
    world.noVms.set('vc1', ['VirtualMachine:vm-7']);
    const gone = 'no entry stands behind it; its source has no such VM any more';
    assert.deepEqual(await told(), [off, ['b', undefined, gone]]);
  });

  test("a target that can't be asked is named", async () => {
    const world = new LookupWorld();
    world.targetFailure = new TargetError('UNREACHABLE', 'no answer');
    assert.deepEqual((await world.ask({ what: 'orphans' })).unread, ['target tgt: no answer']);
  });
});

describe('sources', () => {
  const failures = [
    ['TRANSPORT', 'Cannot connect'],
    ['TIMEOUT', 'Cannot connect'],
    ['TLS_CA', 'TLS error'],
    ['AUTH', 'Authentication error'],
    ['NOT_VCENTER', 'Unknown'],
  ] as const;
  for (const [code, connectivity] of failures)
    test(`one that fails with ${code} is "${connectivity}"`, async () => {
      const world = new LookupWorld();
      world.sourceFailure = new VSphereError(code, 'because', { kind: 'transport' });
      const [source] = (await world.ask({ what: 'sources' })).sources;
      assert.deepEqual([source?.name, source?.connectivity], ['vc1', connectivity]);
      assert.match(source?.detail ?? '', /because/);
    });

  test('one that is proven by a fingerprint and shows another waits for a person', async () => {
    const world = new LookupWorld();
    world.tls = { mode: 'thumbprint', sha256: 'AB:CD' };
    world.sourceFailure = new VSphereError('TLS_THUMBPRINT', 'another one', { kind: 'transport' });
    const [source] = (await world.ask({ what: 'sources' })).sources;
    assert.deepEqual([source?.connectivity, source?.tls], ['Confirm TLS fingerprint', 'thumbprint AB:CD']);
  });

  test('one that answers is OK, without secrets', async () => {
    const [source] = (await new LookupWorld().ask({ what: 'sources' })).sources;
    const expected = {
      name: 'vc1',
      type: 'vmware',
      url: 'https://127.0.0.1:9/sdk',
      user: 'u',
      tls: 'ca',
      importLimit: 0,
    };
    assert.deepEqual(source, { ...expected, connectivity: 'OK' });
  });
});

describe('targets', () => {
  const failures = [
    ['UNREACHABLE', 'Cannot connect'],
    ['TIMEOUT', 'Cannot connect'],
    ['CERTIFICATE', 'TLS error'],
    ['UNTRUSTED', 'Authentication error'],
    ['FORBIDDEN', 'Authentication error'],
    ['INVALID', 'Unknown'],
  ] as const;
  for (const [code, connectivity] of failures)
    test(`one that fails with ${code} is "${connectivity}"`, async () => {
      const world = new LookupWorld();
      world.targetFailure = new TargetError(code, 'because');
      const [target] = (await world.ask({ what: 'targets' })).targets;
      assert.deepEqual([target?.connectivity, target?.detail], [connectivity, 'because']);
    });

  test('one that answers tells its version', async () => {
    const [target] = (await new LookupWorld().ask({ what: 'targets' })).targets;
    assert.deepEqual([target?.connectivity, target?.version, target?.auth], ['OK', '6.0', 'none']);
  });
});

describe('why a VM goes where it goes', () => {
  test('is told per field, with everything in the way', async () => {
    const world = new LookupWorld();
    const vm = world.add('a', { nics: [aNic({ ipv4_address: '' })] });
    world.batches.set('night-1', aBatch({ placement_rules: [{ when: 'true', set: { pool: { default: 'slow' } } }] }));
    const { found } = await world.ask({ what: 'placement', batch: 'night-1', uuid: vm.uuid });
    const reasons = found?.reasons.map(({ field, value, why }) => `${field}=${value}: ${why}`) ?? [];
    assert.ok(reasons.includes('target=tgt: default of the batch'));
    assert.ok(reasons.some((line) => /^pool:.*=slow: .*rule/.test(line)));
    assert.match(found?.obstacles[0] ?? '', /no NIC has an IPv4/);
    assert.match(found?.obstacles[1] ?? '', /no storage pool "slow"/);
  });

  test("one that its source doesn't have any more has none; a batch that isn't there is refused", async () => {
    const world = new LookupWorld();
    world.batches.set('night-1', aBatch());
    assert.deepEqual(await world.ask({ what: 'placement', batch: 'night-1', uuid }), { what: 'placement' });
    await assert.rejects(world.ask({ what: 'placement', batch: 'b9', uuid }), /there is no batch b9/);
  });

  test('one with an entry is looked for where the entry says', async () => {
    const world = new LookupWorld();
    const vm = world.add('a');
    world.batches.set('night-1', aBatch());
    world.entries.set(vm.uuid, { batch: 'night-1', status: 'Idle' });
    world.sourceFailure = new Error('the inventory is not to be read for it');
    const { found } = await world.ask({ what: 'placement', batch: 'night-1', uuid: vm.uuid });
    assert.deepEqual(found?.obstacles, []);
  });
});
