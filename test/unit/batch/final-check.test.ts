import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { baselineOf } from '../../../workflows/domain/batch/baseline.ts';
import { finalCheck, type FinalLook, type FinalVerdict } from '../../../workflows/domain/batch/final-check.ts';
import type { InstanceRecord, Placement } from '../../../workflows/domain/batch/records.ts';
import { aDisk, aNic, aPlacement, aVm, dataDisk, gib, mac, rootDisk, someFacts } from './record-builders.ts';

/** As it is once we have switched it off: the guest says nothing any more. */
function off(over: Partial<InstanceRecord> = {}): NonNullable<FinalLook['found']> {
  const nics = [aNic({ ipv4_address: '' })];
  return {
    instance: aVm({ running: false, os: '', os_description: '', architecture: '', nics, ...over }),
    power: 'off',
  };
}

/** Nothing has happened since it was placed. */
function aLook(over: Partial<FinalLook> = {}): FinalLook {
  return {
    found: off(),
    record: aVm(),
    overrides: {},
    baseline: baselineOf(aVm()),
    placement: aPlacement(),
    isResolve: false,
    force: false,
    staleSource: 'recopy',
    facts: someFacts(),
    present: 'ours',
    ...over,
  };
}

const secondMac = '00:50:56:00:00:02';
const secondNic = aNic({ hardware_address: secondMac, location: '/dc1/network/dmz', uuid: 'net-2', ipv4_address: '' });
const twoNics = { nics: [aNic({ ipv4_address: '' }), secondNic] };
const withSecond = (network: string): Placement =>
  aPlacement({
    networks: { ...aPlacement().networks, [secondMac]: { network, nictype: 'bridged', vlan_id: '' } },
  });
const elsewhere = { placement: aPlacement({ target_project: 'p2' }) };
const changed = off({ cpus: 8 });
const cpusAfter = aVm({ running: false, cpus: 8 });

/** What comes out, without texts: verdict, code, and whether record and placement are those of before. */
function summary(verdict: FinalVerdict): readonly unknown[] {
  if (verdict.verdict === 'powered-on') return [verdict.verdict];
  const code = 'finding' in verdict ? verdict.finding.code : undefined;
  const record = verdict.record;
  return [
    verdict.verdict,
    ...(code === undefined ? [] : [code]),
    record.cpus,
    ...('placement' in verdict ? [placementOf(verdict.placement)] : []),
  ];
}

function placementOf(placement: Placement): string {
  return JSON.stringify(placement) === JSON.stringify(aPlacement()) ? 'kept' : 'new';
}

interface Row {
  readonly look: Partial<FinalLook>;
  readonly without: readonly unknown[];
  readonly forced: readonly unknown[];
}

const same = (outcome: readonly unknown[]): Pick<Row, 'without' | 'forced'> => ({ without: outcome, forced: outcome });

const rows: readonly (readonly [title: string, row: Row])[] = [
  ['nothing has changed', { look: {}, ...same(['clean', 2, 'kept']) }],
  [
    '1 batch/S41 the source has no such VM',
    { look: { found: undefined }, without: ['conflict', 'SOURCE_VM_GONE', 2, 'kept'], forced: ['clean', 2, 'kept'] },
  ],
  ['2 batch/S28 it is on', { look: { found: { ...off(), power: 'on' } }, ...same(['powered-on']) }],
  ['2 it is suspended', { look: { found: { ...off(), power: 'suspended' } }, ...same(['powered-on']) }],
  [
    '2 it is on and has another uuid: off first',
    { look: { found: { ...off({ uuid: 'other' }), power: 'on' } }, ...same(['powered-on']) },
  ],
  ['2 it was on and wrote nothing', { look: { changedSinceFinal: 'none' }, ...same(['clean', 2, 'kept']) }],
  ['2 it was on and wrote something', { look: { changedSinceFinal: 'some' }, ...same(['stale', 2, 'kept']) }],
  [
    '2 it was on, nobody can tell what it wrote',
    { look: { changedSinceFinal: 'unknown' }, ...same(['stale', 2, 'kept']) },
  ],
  [
    '2 it wrote something, which the batch accepts',
    { look: { changedSinceFinal: 'some', staleSource: 'accept' }, ...same(['clean', 2, 'kept']) },
  ],
  [
    '3 batch/S29 another uuid',
    { look: { found: off({ uuid: 'other' }) }, ...same(['error', 'IDENTITY_UUID', 2, 'kept']) },
  ],
  [
    '4 batch/S30 another name',
    { look: { found: off({ name: 'web-04' }) }, ...same(['error', 'IDENTITY_NAME', 2, 'kept']) },
  ],
  [
    '4 another name at the source, the batch has its own',
    {
      look: {
        found: off({ name: 'web-04' }),
        overrides: { name: 'www' },
        baseline: baselineOf(aVm(), { name: 'www' }),
        recomputed: { placement: aPlacement() },
      },
      ...same(['clean', 2, 'kept']),
    },
  ],
  [
    '4 batch/S30 another folder',
    {
      look: { found: off({ location: '/dc1/vm/x/web-03' }), recomputed: { placement: aPlacement() } },
      ...same(['clean', 2, 'kept']),
    },
  ],
  [
    '5 batch/S31 a disk more',
    {
      look: { found: off({ disks: [...aVm().disks, aDisk({ name: 'new' })] }) },
      ...same(['error', 'IDENTITY_DISKS', 2, 'kept']),
    },
  ],
  [
    '5 batch/S31 a disk less',
    { look: { found: off({ disks: [aDisk()] }) }, ...same(['error', 'IDENTITY_DISKS', 2, 'kept']) },
  ],
  [
    '5 batch/S31 a disk grown',
    {
      look: { found: off({ disks: [aDisk(), aDisk({ name: dataDisk, capacity: 3 * gib })] }) },
      ...same(['error', 'IDENTITY_DISKS', 2, 'kept']),
    },
  ],
  [
    '5 verification flags are no identity',
    {
      look: { found: off({ disks: aVm().disks.map((disk) => ({ ...disk, background_import_verified: false })) }) },
      ...same(['clean', 2, 'kept']),
    },
  ],
  ['6 and 7 a property has changed', { look: { found: changed }, ...same(['recompute', 8]) }],
  ['7 a resolve', { look: { isResolve: true }, ...same(['recompute', 2]) }],
  [
    '6 a property has changed, it is placed as before',
    { look: { found: changed, recomputed: { placement: aPlacement() } }, ...same(['clean', 8, 'kept']) },
  ],
  [
    '7 batch/S53 only the program would place it elsewhere now',
    { look: { recomputed: elsewhere }, ...same(['clean', 2, 'kept']) },
  ],
  [
    '7 the program fails',
    {
      look: { found: changed, recomputed: { problem: 'no such NIC' } },
      without: ['conflict', 'PLACEMENT_FAILED', 8, 'kept'],
      forced: ['clean', 8, 'kept'],
    },
  ],
  [
    '8 batch/S32, batch/S35 another project',
    {
      look: { found: changed, recomputed: elsewhere },
      without: ['conflict', 'PLACEMENT_CHANGED', 8, 'kept'],
      forced: ['clean', 8, 'kept'],
    },
  ],
  [
    '8 another target',
    {
      look: { found: changed, recomputed: { placement: aPlacement({ target_name: 't2' }) } },
      without: ['conflict', 'PLACEMENT_CHANGED', 8, 'kept'],
      forced: ['clean', 8, 'kept'],
    },
  ],
  [
    '8 another pool for a disk',
    {
      look: {
        found: changed,
        recomputed: { placement: aPlacement({ storage_pools: { [rootDisk]: 'fast', [dataDisk]: 'default' } }) },
      },
      without: ['conflict', 'PLACEMENT_CHANGED', 8, 'kept'],
      forced: ['clean', 8, 'kept'],
    },
  ],
  [
    '8 a resolve without a change at the source, by a program that places it elsewhere',
    {
      look: { isResolve: true, recomputed: elsewhere },
      without: ['conflict', 'PLACEMENT_CHANGED', 2, 'kept'],
      forced: ['clean', 2, 'kept'],
    },
  ],
  [
    '9 batch/S38 a NIC more on a network that is there',
    { look: { found: off(twoNics), recomputed: { placement: withSecond('br0') } }, ...same(['clean', 2, 'new']) },
  ],
  [
    '9 a NIC less',
    {
      look: { found: off({ nics: [] }), recomputed: { placement: aPlacement({ networks: {} }) } },
      ...same(['clean', 2, 'new']),
    },
  ],
  [
    '9 a NIC mapped to another network',
    {
      look: {
        isResolve: true,
        recomputed: {
          placement: aPlacement({ networks: { [mac]: { network: 'br0', nictype: 'bridged', vlan_id: '' } } }),
        },
      },
      ...same(['clean', 2, 'new']),
    },
  ],
  [
    '10 batch/S36, batch/S37 a NIC more on a network that is not there',
    {
      look: { found: off({ ...twoNics, cpus: 8 }), recomputed: { placement: withSecond('nope') } },
      without: ['conflict', 'NETWORK_GONE', 8, 'kept'],
      forced: ['clean', 2, 'kept'],
    },
  ],
  [
    '10 the target is not configured any more',
    { look: { facts: undefined }, without: ['conflict', 'TARGET_GONE', 2, 'kept'], forced: ['clean', 2, 'kept'] },
  ],
  [
    '10 the instance at the target is gone',
    {
      look: { present: 'absent' },
      without: ['conflict', 'TARGET_INSTANCE_GONE', 2, 'kept'],
      forced: ['clean', 2, 'kept'],
    },
  ],
  [
    '10 the instance at the target is not ours',
    {
      look: { present: 'foreign' },
      without: ['conflict', 'TARGET_INSTANCE_GONE', 2, 'kept'],
      forced: ['clean', 2, 'kept'],
    },
  ],
  [
    '10 a pool is gone',
    {
      look: { facts: someFacts({ pools: [] }) },
      without: ['conflict', 'POOL_GONE', 2, 'kept'],
      forced: ['clean', 2, 'kept'],
    },
  ],
  [
    '10 the migration network is gone',
    {
      look: {
        migrationNetwork: { target: 'tgt', target_project: 'p1', network: 'nope', nictype: 'managed', vlan_id: '' },
      },
      without: ['conflict', 'MIGRATION_NETWORK_INVALID', 2, 'kept'],
      forced: ['clean', 2, 'kept'],
    },
  ],
  [
    '1 and 10 the VM is gone and a pool too',
    {
      look: { found: undefined, facts: someFacts({ pools: [] }) },
      without: ['conflict', 'SOURCE_VM_GONE', 2, 'kept'],
      forced: ['clean', 2, 'kept'],
    },
  ],
];

for (const [title, { look, without, forced }] of rows) {
  test(`step ${title}: ${without.join(' ')}`, () => {
    assert.deepEqual(summary(finalCheck(aLook(look))), without);
  });
  test(`step ${title}, with force: ${forced.join(' ')}`, () => {
    assert.deepEqual(summary(finalCheck(aLook({ ...look, force: true }))), forced);
  });
}

test('the record that is kept has the truth of the source and what the guest said while it ran', () => {
  const verdict = finalCheck(aLook({ found: changed, recomputed: elsewhere }));
  assert.ok(verdict.verdict === 'conflict');
  assert.deepEqual(verdict.record, cpusAfter);
});

test('the record is placed anew as it will be kept', () => {
  assert.deepEqual(finalCheck(aLook({ found: changed })), { verdict: 'recompute', record: cpusAfter });
});

test('a changed placement names every field with what was and what would be', () => {
  const recomputed = {
    placement: aPlacement({
      target_name: 't2',
      target_project: 'p2',
      storage_pools: { [rootDisk]: 'slow', extra: 'fast' },
    }),
  };
  const verdict = finalCheck(aLook({ isResolve: true, recomputed }));
  assert.ok(verdict.verdict === 'conflict');
  const { expected, found } = verdict.finding;
  assert.equal(expected, `target tgt, project p1, pool:${rootDisk} fast, pool:${dataDisk} fast, pool:extra none`);
  assert.equal(found, `target t2, project p2, pool:${rootDisk} slow, pool:${dataDisk} none, pool:extra fast`);
});

test('batch/S33 a conflict that nobody has done anything about comes again, and goes when the source is set back', () => {
  const first = finalCheck(aLook({ found: changed, recomputed: elsewhere }));
  assert.ok(first.verdict === 'conflict');
  const { record, placement } = first;
  const resolved = aLook({ record, placement, isResolve: true, found: changed });
  assert.equal(finalCheck(resolved).verdict, 'recompute');
  const second = finalCheck({ ...resolved, recomputed: elsewhere });
  assert.ok(second.verdict === 'conflict');
  assert.deepEqual(second.finding, first.finding);
  const setBack = finalCheck({ ...resolved, found: off(), recomputed: { placement: aPlacement() } });
  assert.deepEqual(summary(setBack), ['clean', 2, 'kept']);
});

test('batch/S34 a program that places it as before is seen though the source has not changed once more', () => {
  const look = aLook({ record: cpusAfter, isResolve: true, found: changed, recomputed: { placement: aPlacement() } });
  assert.deepEqual(summary(finalCheck(look)), ['clean', 8, 'kept']);
});

test('batch/S36 once the network is there or mapped, the NIC is taken', () => {
  const first = finalCheck(aLook({ found: off(twoNics), recomputed: { placement: withSecond('nope') } }));
  assert.ok(first.verdict === 'conflict');
  const resolved = aLook({ record: first.record, placement: first.placement, isResolve: true, found: off(twoNics) });
  const network = { name: 'nope', managed: false, type: 'bridge', ipv4: '' };
  const made = finalCheck({
    ...resolved,
    recomputed: { placement: withSecond('nope') },
    facts: someFacts({ networks: [...someFacts().networks, network] }),
  });
  assert.ok(made.verdict === 'clean');
  assert.deepEqual(made.placement, withSecond('nope'));
  const mapped = finalCheck({ ...resolved, recomputed: { placement: withSecond('br0') } });
  assert.ok(mapped.verdict === 'clean');
  assert.deepEqual(mapped.placement, withSecond('br0'));
});

test('batch/S37 forced, also after it was a conflict first, the new NIC is left out and a warning says so', () => {
  const found = off(twoNics);
  const recomputed = { placement: withSecond('nope') };
  const first = finalCheck(aLook({ found, recomputed }));
  assert.ok(first.verdict === 'conflict');
  const later = { record: first.record, placement: first.placement, isResolve: true };
  for (const look of [aLook({ found, recomputed, force: true }), aLook({ found, recomputed, ...later, force: true })]) {
    const verdict = finalCheck(look);
    assert.ok(verdict.verdict === 'clean');
    assert.deepEqual(verdict.placement, aPlacement());
    assert.equal(verdict.warnings.length, 2);
    assert.match(verdict.warnings[0]!, /NETWORK_GONE.*"nope"/);
    assert.match(verdict.warnings[1]!, /NIC 00:50:56:00:00:02.*left out/);
  }
});

test('forced to another project with a new NIC: the old NICs, the new record, and a warning for each', () => {
  const recomputed = { placement: { ...withSecond('nope'), target_project: 'p2' } };
  const verdict = finalCheck(aLook({ found: off({ ...twoNics, cpus: 8 }), recomputed, force: true }));
  assert.ok(verdict.verdict === 'clean');
  assert.deepEqual(verdict.placement, aPlacement());
  assert.equal(verdict.record.cpus, 8);
  assert.match(verdict.warnings[0]!, /PLACEMENT_CHANGED/);
  assert.match(verdict.warnings[1]!, /NIC 00:50:56:00:00:02.*left out/);
  assert.equal(verdict.warnings.length, 2);
});

test('forced without the VM, every warning is told once', () => {
  const verdict = finalCheck(aLook({ found: undefined, facts: undefined, force: true }));
  assert.ok(verdict.verdict === 'clean');
  assert.equal(verdict.warnings.length, 2);
  assert.match(verdict.warnings[0]!, /SOURCE_VM_GONE/);
  assert.match(verdict.warnings[1]!, /TARGET_GONE/);
});

test('batch/S42 whether the target runs at the end does not change with the placement', () => {
  const recomputed = { placement: { ...withSecond('br0'), running: false } };
  const verdict = finalCheck(aLook({ found: off(twoNics), recomputed }));
  assert.ok(verdict.verdict === 'clean' && verdict.placement.running);
});

test('a copy that is stale says whether that is known', () => {
  const warning = (changedSinceFinal: 'some' | 'unknown'): string => {
    const verdict = finalCheck(aLook({ changedSinceFinal }));
    assert.ok(verdict.verdict === 'stale');
    return verdict.warnings.join();
  };
  assert.match(warning('some'), /has written data/);
  assert.match(warning('unknown'), /can't be told/);
});

test('a clean check without force has no warnings', () => {
  const verdict = finalCheck(aLook());
  assert.ok(verdict.verdict === 'clean');
  assert.deepEqual(verdict.warnings, []);
});

const anyLook: fc.Arbitrary<FinalLook> = fc
  .record({
    found: fc.constantFrom<FinalLook['found']>(
      undefined,
      off(),
      changed,
      off(twoNics),
      off({ uuid: 'other' }),
      off({ name: 'x' }),
      off({ disks: [] }),
      { ...off(), power: 'on' },
    ),
    isResolve: fc.boolean(),
    force: fc.boolean(),
    changedSinceFinal: fc.constantFrom<NonNullable<FinalLook['changedSinceFinal']>>('none', 'some', 'unknown'),
    staleSource: fc.constantFrom<FinalLook['staleSource']>('recopy', 'accept'),
    recomputed: fc.constantFrom<NonNullable<FinalLook['recomputed']>>(
      { placement: aPlacement() },
      { placement: withSecond('br0') },
      { placement: withSecond('nope') },
      elsewhere,
      { problem: 'broken' },
    ),
    facts: fc.constantFrom<FinalLook['facts']>(
      undefined,
      someFacts(),
      someFacts({ pools: [] }),
      someFacts({ project_exists: false }),
    ),
    present: fc.constantFrom<FinalLook['present']>('absent', 'ours', 'foreign'),
  })
  .map(aLook);

test('whatever is found: force never makes an error of anything, nor anything of an error, and leaves no conflict', () => {
  fc.assert(
    fc.property(anyLook, (look) => {
      const free = finalCheck({ ...look, force: false });
      const forced = finalCheck({ ...look, force: true });
      assert.notEqual(forced.verdict, 'conflict');
      assert.notEqual(forced.verdict, 'recompute');
      if (free.verdict === 'conflict') assert.equal(forced.verdict, 'clean');
      else assert.equal(forced.verdict, free.verdict);
      if (free.verdict === 'error') assert.deepEqual(forced, free);
    }),
  );
});

test('whatever is found: where the disks were copied to is where they stay', () => {
  fc.assert(
    fc.property(anyLook, (look) => {
      const verdict = finalCheck(look);
      if (!('placement' in verdict)) return;
      const { networks } = look.placement;
      assert.deepEqual({ ...verdict.placement, networks }, look.placement);
      if (verdict.verdict !== 'clean') assert.deepEqual(verdict.placement, look.placement);
    }),
  );
});

test('whatever is found: the same look gives the same verdict, and so does what was remembered of it', () => {
  fc.assert(
    fc.property(anyLook, (look) => {
      const first = finalCheck(look);
      assert.deepEqual(finalCheck(look), first);
      if (first.verdict !== 'conflict') return;
      const again = finalCheck({ ...look, record: first.record, placement: first.placement, isResolve: true });
      // A resolve also places anew what has not changed, so that another finding may come first; none is never the answer.
      assert.equal(again.verdict, 'conflict');
    }),
  );
});
