import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  changedOverrides,
  editProblems,
  overrideProblems,
  type EditSituation,
} from '../../../workflows/domain/batch/edit-rules.ts';
import type {
  BatchSpec,
  BatchStatus,
  Constraint,
  EntryStatus,
  InstanceOverrides,
} from '../../../workflows/domain/batch/records.ts';
import { aBatch, nothingAllowed, uuid } from './record-builders.ts';

const aConstraint = (name: string, over: Partial<Constraint> = {}): Constraint => ({
  name,
  description: '',
  include_expression: `name startsWith '${name}'`,
  max_concurrent_instances: 1,
  min_instance_boot_time: 0,
  ...over,
});

const [c1, c2] = [aConstraint('c1'), aConstraint('c2')];
const before = aBatch({ constraints: [c1, c2], overrides: { [uuid]: { cpus: 2 } } });
const { config, defaults } = before;

const quiet: EditSituation = { status: 'Running', hasEarlyEntries: false, committedConstraints: [], statuses: {} };
const early: EditSituation = { ...quiet, hasEarlyEntries: true };
const committed: EditSituation = { ...quiet, committedConstraints: ['c1'] };
const live: EditSituation = { ...quiet, statuses: { [uuid]: 'Idle' } };

const rows: readonly (readonly [
  title: string,
  change: Partial<BatchSpec>,
  situation: EditSituation,
  paths: string[],
])[] = [
  ['nothing', {}, { ...early, committedConstraints: ['c1', 'c2'], statuses: { [uuid]: 'Idle' } }, []],
  ['the expression', { include_expression: 'true' }, quiet, ['include_expression']],
  [
    'the default placement',
    { defaults: { ...defaults, placement: { ...defaults.placement, storage_pool: 'x' } } },
    quiet,
    ['defaults.placement'],
  ],
  [
    'the migration network',
    {
      defaults: {
        ...defaults,
        migration_network: [{ target: 't', target_project: 'p', network: 'n', nictype: 'managed', vlan_id: '' }],
      },
    },
    quiet,
    ['defaults.migration_network'],
  ],
  [
    'who waits for whom',
    { overrides: { [uuid]: { cpus: 2, group: 2, depends_on: ['x'] } } },
    quiet,
    [`overrides["${uuid}"].group`, `overrides["${uuid}"].depends_on`],
  ],
  ['the force flag', { defaults: { ...defaults, force_conflict_resolution: true } }, early, []],
  [
    'retries, intervals, restrictions, the rerun flag and our own limits',
    {
      config: {
        ...config,
        rerun_scriptlets: true,
        post_migration_retries: 9,
        instance_restriction_overrides: { ...nothingAllowed, allow_no_ipv4: true },
        background_sync_interval: 1,
        final_background_sync_limit: 1,
        sync_limit: 1,
        window_end_in_conflict: 'hold',
        create_retries: 1,
        stale_source: 'accept',
        without_change_tracking: 'compare',
        no_guest_tools: 'skip',
      },
    },
    early,
    [],
  ],
  ['windows, which have rules of their own', { migration_windows: [{ name: 'w', capacity: 0 }] }, early, []],
  ['networks', { network_overrides: { '/dc1/network/dmz': { network: 'br0' } } }, early, []],
  ['batch/S46 the program', { config: { ...config, placement_scriptlet: 'function placement() {}' } }, quiet, []],
  [
    'batch/S46 the program while VMs wait',
    { config: { ...config, placement_scriptlet: 'function placement() {}' } },
    early,
    ['config.placement_scriptlet'],
  ],
  ['the rules', { placement_rules: [{ when: 'true', set: { project: 'p2' } }] }, quiet, []],
  [
    'the rules while VMs wait',
    { placement_rules: [{ when: 'true', set: { project: 'p2' } }] },
    early,
    ['placement_rules'],
  ],
  ['constraints nobody counts for', { constraints: [] }, quiet, []],
  [
    'a constraint somebody counts for',
    { constraints: [{ ...c1, max_concurrent_instances: 9 }, c2] },
    committed,
    ['constraints[0]'],
  ],
  ['another constraint', { constraints: [c1, { ...c2, max_concurrent_instances: 9 }] }, committed, []],
  ['a constraint more', { constraints: [c1, c2, aConstraint('c3')] }, committed, []],
  [
    'a constraint more that somebody in downtime matches',
    { constraints: [c1, c2, aConstraint('c3')] },
    { ...quiet, committedConstraints: ['c3'] },
    ['constraints[2]'],
  ],
  ['a constraint less', { constraints: [c1] }, { ...quiet, committedConstraints: ['c2'] }, ['constraints[1]']],
  ['the order of constraints', { constraints: [c2, c1] }, committed, ['constraints[0]', 'constraints[1]']],
  ['overrides of a VM without entry', { overrides: { [uuid]: { name: 'www' } } }, quiet, []],
  [
    'the name of a VM that migrates',
    { overrides: { [uuid]: { cpus: 2, name: 'www' } } },
    live,
    [`overrides["${uuid}"].name`],
  ],
  ['what overrides leave out now', { overrides: {} }, live, []],
  [
    'several at once',
    { include_expression: 'true', placement_rules: [{ when: 'true', set: { target: 'x' } }], constraints: [] },
    { ...early, committedConstraints: ['c1', 'c2'] },
    ['include_expression', 'placement_rules', 'constraints[0]', 'constraints[1]'],
  ],
];

for (const [title, change, situation, paths] of rows) {
  test(`an edit of ${title}: ${paths.length === 0 ? 'accepted' : `refused at ${paths.join(', ')}`}`, () => {
    const problems = editProblems(before, { ...before, ...change }, situation);
    assert.deepEqual(
      problems.map(({ path }) => path),
      paths,
    );
  });
  test(`an edit of ${title} while Defined: accepted`, () => {
    assert.deepEqual(editProblems(before, { ...before, ...change }, { ...situation, status: 'Defined' }), []);
  });
}

test('what was started can not be edited freely any more, whatever the status is now', () => {
  for (const status of ['Running', 'Stopped', 'Error', 'Finished'] satisfies BatchStatus[])
    assert.equal(
      editProblems(before, { ...before, include_expression: 'true' }, { ...quiet, status }).length,
      1,
      status,
    );
});

test('a batch never changes its name: it is found by it', () => {
  for (const status of ['Defined', 'Running'] satisfies BatchStatus[])
    assert.deepEqual(
      editProblems(before, { ...before, name: 'night-2' }, { ...quiet, status }).map(({ path }) => path),
      ['name'],
    );
});

test('the order of keys is no change', () => {
  const reversed = (value: object): object => Object.fromEntries(Object.entries(value).reverse());
  const next = {
    ...before,
    config: reversed(before.config),
    constraints: before.constraints.map(reversed),
  } as BatchSpec;
  assert.deepEqual(editProblems(before, next, { ...early, committedConstraints: ['c1', 'c2'] }), []);
});

const overrideRows: readonly (readonly [before: InstanceOverrides, after: InstanceOverrides, fields: string[]])[] = [
  [{}, { name: 'www' }, ['name']],
  [{ name: 'www' }, {}, ['name']],
  [{}, { name: '' }, []],
  [{}, { os_type: 'bsd' }, ['os_type']],
  [{}, { distribution: 'debian', distribution_version: '12' }, ['distribution', 'distribution_version']],
  [{}, { architecture: 'aarch64' }, ['architecture']],
  [{}, { disable_migration: true }, ['disable_migration']],
  [{ disable_migration: true }, { disable_migration: false }, []],
  [{ disable_migration: true }, { disable_migration: true }, []],
  [
    {},
    {
      cpus: 4,
      memory: 1,
      config: { a: 'b' },
      comment: 'x',
      ignore_restrictions: true,
      started_after_migration: true,
    },
    [],
  ],
  [{ started_after_migration: true }, { stopped_after_migration: true }, []],
];

for (const [previous, next, fields] of overrideRows) {
  test(`overrides ${JSON.stringify(previous)} to ${JSON.stringify(next)} while it migrates: ${fields.join(', ') || 'accepted'}`, () => {
    for (const status of ['Blocked', 'Idle', 'Worker tasks complete', 'Conflict'] satisfies EntryStatus[])
      assert.deepEqual(
        overrideProblems(previous, next, status, 'o').map(({ path }) => path),
        fields.map((field) => `o.${field}`),
        status,
      );
    for (const status of [undefined, 'Canceled', 'Error', 'Finished'] as const)
      assert.deepEqual(overrideProblems(previous, next, status), [], status);
  });
}

test('exactly the VMs about which something else is said are asked for', () => {
  const said = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.record({ cpus: fc.constantFrom(1, 2) }), {
    maxKeys: 3,
  });
  fc.assert(
    fc.property(said, said, (previous, next) => {
      const changed = changedOverrides(aBatch({ overrides: previous }), aBatch({ overrides: next }));
      const expected = ['a', 'b', 'c'].filter((key) => previous[key]?.cpus !== next[key]?.cpus);
      assert.deepEqual(changed.sort(), expected);
    }),
  );
  assert.deepEqual(changedOverrides(aBatch(), aBatch({ overrides: { a: {} } })), []);
});
