import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkBatchExpressions } from '../../../activities/placement/check-batch-expressions.ts';
import {
  determinePlacement,
  PlacementError,
  type DeterminedPlacement,
} from '../../../activities/placement/determine-placement.ts';
import type { InstanceOverrides, PlacementRule } from '../../../workflows/domain/batch/records.ts';
import { batch, instance, networks, now } from '../../unit/activities/placement/builders.ts';

const rule: PlacementRule = {
  when: 'true',
  set: { target: 'by-rule', project: 'by-rule', pool: { default: 'by-rule' } },
};

function determine(body: string, overrides: InstanceOverrides = {}): Promise<DeterminedPlacement> {
  const placement_scriptlet = `function placement(instance, batch, networks) {\n${body}\n}`;
  const network_overrides = { '/DC0/network/DMZ': { network: 'mapped' } };
  const spec = batch({ placement_rules: [rule], network_overrides }, { placement_scriptlet });
  return determinePlacement({ spec, instance: instance(), overrides, networks, running: true, now });
}

test('the program has the last word, rules and defaults say the rest', async () => {
  const { placement, reasons, log } = await determine(`
    set_target('by-program');
    set_pool('[ds1] web/web.vmdk', 'fast');
    set_network('00:50:56:00:00:01', 'br0', 'bridged', '10');
    log_info('done');
  `);
  assert.equal(placement.target_name, 'by-program');
  assert.equal(placement.target_project, 'by-rule');
  assert.deepEqual(placement.storage_pools, { '[ds1] web/web.vmdk': 'fast', '[ds2] web/mydisk.vmdk': 'by-rule' });
  assert.deepEqual(placement.networks['00:50:56:00:00:01'], { network: 'br0', nictype: 'bridged', vlan_id: '10' });
  assert.equal(placement.networks['00:50:56:00:00:02']?.network, 'mapped');
  assert.deepEqual(reasons[0], { field: 'target', value: 'by-program', why: 'placement program' });
  assert.deepEqual(log, [{ level: 'info', text: 'done' }]);
});

test('it sees the record as it is with the overrides beside it, the batch without its program, and the networks as they are mapped', async () => {
  const { log } = await determine(
    `
    log_info(instance.cpus, instance.overrides.cpus, instance.config['tag.tier'], instance.disks.length);
    log_info(batch.name, batch.defaults.placement.target, batch.config.create_retries, typeof batch.config.placement_scriptlet);
    log_info(networks.map((network) => network.location + '=' + network.placement.network));
  `,
    { cpus: 16 },
  );
  assert.deepEqual(
    log.map(({ text }) => text),
    ['2 16 production 2', 'b1 tgt 10 undefined', '["/DC0/network/VM Network=VM-Network","/DC0/network/DMZ=mapped"]'],
  );
});

test('batch/S10: a program that throws is the failure of that VM alone, with its line', async () => {
  await assert.rejects(determine("if (instance.cpus === 2)\n  throw new Error('two are too few')"), (err: unknown) => {
    assert.ok(err instanceof PlacementError);
    assert.equal(err.code, 'PLACEMENT_FAILED');
    assert.match(err.message, /program of batch b1 failed for ubuntu2404: two are too few \(line 3, column/);
    return true;
  });
  const { placement } = await determine("set_target('fine')");
  assert.equal(placement.target_name, 'fine');
});

test('no program is no program', async () => {
  const spec = batch({}, { placement_scriptlet: ' \n' });
  const { placement } = await determinePlacement({ spec, instance: instance(), networks, running: true, now });
  assert.equal(placement.target_name, 'tgt');
  assert.deepEqual(await checkBatchExpressions(spec), []);
});

test('batch/S03, batch/S04: everything in a batch that can never be evaluated is told at once, with its place', async () => {
  const spec = batch(
    {
      include_expression: "uuid.String() == 'x'",
      constraints: [
        {
          name: 'a',
          description: '',
          include_expression: 'true',
          max_concurrent_instances: 0,
          min_instance_boot_time: 0,
        },
        {
          name: 'b',
          description: '',
          include_expression: 'cpus >\n ',
          max_concurrent_instances: 0,
          min_instance_boot_time: 0,
        },
      ],
      placement_rules: [
        rule,
        {
          when: 'web',
          set: {
            pool: {
              by_disk: [
                { when_disk: 'true', pool: 'p' },
                { when_disk: 'cpus > 1', pool: 'p' },
              ],
            },
            network: [{ when_nic: 'location', network: 'n' }],
          },
        },
      ],
    },
    { placement_scriptlet: 'function placement() {\n  set_target(;\n}' },
  );
  const problems = await checkBatchExpressions(spec);
  assert.deepEqual(
    problems.map(({ path, line, column }) => [path, line, column]),
    [
      ['include_expression', 1, 5],
      ['constraints[1].include_expression', 2, 2],
      ['placement_rules[1].when', 1, 1],
      ['placement_rules[1].set.pool.by_disk[1].when_disk', 1, 1],
      ['placement_rules[1].set.network[0].when_nic', 1, 1],
      ['config.placement_scriptlet', 2, 14],
    ],
  );
  assert.match(problems[0]!.message, /^values have no methods/);
  assert.match(problems[5]!.message, /^SyntaxError/);
});

test('batch/S03: only the VM with the uuid matches', async () => {
  const uuid = "uuid == '5298cc11-96ea-4f50-b018-6d80bfdaa7d9'";
  const spec = batch({ placement_rules: [{ when: uuid, set: { target: 'that' } }] });
  const targetOf = async (vm: ReturnType<typeof instance>): Promise<string> =>
    (await determinePlacement({ spec, instance: vm, networks, running: true, now })).placement.target_name;
  assert.equal(await targetOf(instance()), 'that');
  assert.equal(await targetOf(instance({ uuid: '52cfcb6b-20ee-add3-adc9-68c63ca9adfd' })), 'tgt');
});
