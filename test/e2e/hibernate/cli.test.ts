import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { outputSchema, type OutputKind } from '../../../client/output/schemas.ts';
import { migrateMainId } from '../../../workflows/contracts/ids.ts';
import { SetRig } from '../../support/set-rig.ts';
import type { SetScenario } from '../../support/set-scenario.ts';
import { waitFor } from '../../support/wait-for.ts';
import { vmflow, type ProcessResult } from '../cli/run-process.ts';

interface MoveItem {
  readonly result: string;
  readonly from: string;
  readonly to: string;
  readonly handover?: {
    readonly vmIdBefore: string;
    readonly snapshotDigest: string;
    readonly vmIdAfter: string;
    readonly downtimeMs: number;
  };
}

describe('sets from the command line', () => {
  let rig: SetRig;
  before(async () => {
    rig = await SetRig.start();
  });
  after(async () => await rig.stop());

  /** The command line with the scenario's namespace as its default. */
  function run(scenario: SetScenario, ...argv: readonly string[]): Promise<ProcessResult> {
    const { address, namespace } = rig.temporal;
    return vmflow(
      {
        TEMPORAL_ADDRESS: address,
        TEMPORAL_NAMESPACE: namespace,
        VMFLOW_TASK_QUEUE: rig.taskQueue,
        VMFLOW_ACK_TIMEOUT: '60s',
        VMFLOW_KUBE_NAMESPACE: scenario.namespace,
      },
      ...argv,
    );
  }

  /** One document, valid by its published schema. */
  async function json(
    scenario: SetScenario,
    kind: OutputKind,
    ...argv: readonly string[]
  ): Promise<Record<string, unknown>> {
    const { exit, stdout, stderr } = await run(scenario, ...argv, '-o', 'json');
    assert.equal(exit, 0, stderr);
    const document = JSON.parse(stdout) as Record<string, unknown>;
    const checked = outputSchema(kind).safeParse(document);
    assert.ok(checked.success, checked.error?.message);
    return document;
  }

  test('move --wait moves a set and proves the hand-over; the reading commands tell the same', async () => {
    const scenario = await rig.scenario();
    await scenario.set();
    const [a, b] = [scenario.node('a'), scenario.node('b')];
    const dry = await run(scenario, 'move', 'set/web', '--to', b, '--dry-run');
    assert.equal(dry.exit, 0, dry.stderr);
    assert.match(dry.stdout, new RegExp(`would move from ${a} to ${b} \\(dry run, nothing was changed\\)`));
    const moved = await json(scenario, 'MigrationRequestList', 'move', 'web', '--to', b, '--wait', '--timeout', '2m');
    const [item] = moved['items'] as readonly MoveItem[];
    assert.deepEqual([item?.result, item?.from, item?.to], ['migrated', a, b]);
    const { vmIdBefore, snapshotDigest, vmIdAfter, downtimeMs } = item?.handover ?? assert.fail('no hand-over');
    assert.notEqual(vmIdBefore, vmIdAfter);
    assert.match(snapshotDigest, /^sha256:[0-9a-f]{64}$/);
    assert.ok(downtimeMs > 0);
    const set = await json(scenario, 'CocoonSet', 'set', 'get', 'web');
    assert.deepEqual([set['phase'], set['node'], set['target'], set['migration']], ['Running', b, b, undefined]);
    assert.equal((set['agents'] as { vmId: string }[])[0]?.vmId, vmIdAfter);
    const list = await json(scenario, 'CocoonSetList', 'set', 'list');
    assert.deepEqual(
      (list['items'] as { name: string; node: string }[]).map(({ name, node }) => [name, node]),
      [['web', b]],
    );
    const last = await json(scenario, 'SetMigration', 'migrate', 'get', 'web');
    assert.deepEqual([last['step'], (last['result'] as { vmIdAfter: string }).vmIdAfter], ['migrated', vmIdAfter]);
    const again = await run(scenario, 'move', 'web', '--to', b);
    assert.equal(again.exit, 0, again.stderr);
    assert.match(again.stdout, /already-there/);
    const link = await run(scenario, 'open', 'migration', 'web', '--print');
    assert.match(link.stdout, new RegExp(encodeURIComponent(migrateMainId(scenario.namespace, 'web'))));
    assert.equal((await run(scenario, 'set', 'watch', 'web')).exit, 0);
    scenario.check();
  });

  test('a node that doesn’t exist is exit 3; a cordoned one is waited for, retargeted away from, and the set stays unharmed', async () => {
    const scenario = await rig.scenario();
    await scenario.set();
    const missing = await run(scenario, 'move', 'web', '--to', 'nowhere');
    assert.equal(missing.exit, 3);
    assert.match(missing.stderr, /there is no node "nowhere"/);
    await scenario.cordon('b');
    const [b, c] = [scenario.node('b'), scenario.node('c')];
    assert.equal((await run(scenario, 'move', 'web', '--to', b)).exit, 0);
    await waitFor('the set to say why it waits', async () => {
      const set = await json(scenario, 'CocoonSet', 'set', 'get', 'web');
      return (set['migrating'] as { reason: string } | undefined)?.reason === 'TargetUnschedulable';
    });
    const listed = await run(scenario, 'migrate', 'list', '--active');
    assert.match(listed.stdout, /web +\S+ +\S+-a +\S+-b/);
    const away = await run(scenario, 'migrate', 'retarget', 'web', '--to', c, '--wait', '--timeout', '2m');
    assert.equal(away.exit, 0, away.stderr);
    assert.match(away.stdout, /new VM/);
    const over = await run(scenario, 'migrate', 'abort', 'web');
    assert.equal(over.exit, 5);
    assert.match(over.stderr, /no migration of set \S+\/web is open/);
    scenario.check();
  });

  test('abort --wait leaves the VM where it came from', async () => {
    const scenario = await rig.scenario();
    const web = await scenario.set();
    await scenario.cordon('b');
    assert.equal((await run(scenario, 'move', 'web', '--to', scenario.node('b'))).exit, 0);
    await waitFor('the migration to be open', async () => (await web.migration.describe()).status.name === 'RUNNING');
    const { exit, stderr } = await run(
      scenario,
      'migrate',
      'abort',
      'web',
      '--reason',
      'wrong node',
      '--wait',
      '--timeout',
      '2m',
    );
    assert.equal(exit, 0, stderr);
    const set = await json(scenario, 'CocoonSet', 'set', 'get', 'web');
    assert.deepEqual([set['node'], set['phase']], [scenario.node('a'), 'Running']);
    await waitFor('the set to say no more what it waited for', async () => {
      const { migrating } = await json(scenario, 'CocoonSet', 'set', 'get', 'web');
      return (migrating as { reason: string } | undefined)?.reason === 'NotRequested';
    });
    scenario.check();
  });

  test('hibernate and wake --wait end with the VM asleep and awake again; the first one makes the object', async () => {
    const scenario = await rig.scenario();
    await scenario.set();
    const uid = async (): Promise<string | undefined> =>
      (await rig.admin.get(resources.hibernation, scenario.namespace, 'web-0'))?.metadata.uid;
    assert.equal((await run(scenario, 'hibernate', 'web', '--dry-run')).exit, 0);
    assert.equal(await uid(), undefined);
    const asleep = await run(scenario, 'hibernate', 'web', '--wait', '--timeout', '2m');
    assert.equal(asleep.exit, 0, asleep.stderr);
    assert.match(asleep.stdout, /web-0: Hibernated: /);
    const made = await uid();
    assert.notEqual(made, undefined);
    assert.match((await run(scenario, 'hibernate', 'pod/web-0')).stdout, /already so, it is Hibernated/);
    const awake = await run(scenario, 'wake', 'web', '--wait', '--timeout', '2m');
    assert.equal(awake.exit, 0, awake.stderr);
    assert.match(awake.stdout, /web-0: Active: /);
    const again = await run(scenario, 'hibernate', 'pod/web-0', '--wait', '--timeout', '2m');
    assert.equal(again.exit, 0, again.stderr);
    assert.equal(await uid(), made, 'the same object was changed');
    scenario.check();
  });

  test('node drain --wait empties a node; its status and the cancel of one that hangs', async () => {
    const scenario = await rig.scenario();
    const [a, b] = [scenario.node('a'), scenario.node('b')];
    await Promise.all([scenario.set('one'), scenario.set('two')]);
    const drained = await run(scenario, 'node', 'drain', a, '--yes', '--wait', '--timeout', '3m');
    assert.equal(drained.exit, 0, drained.stderr);
    const status = await json(scenario, 'Node', 'node', 'status', a);
    assert.deepEqual([status['cordoned'], status['sets']], [true, []]);
    await scenario.cordon('c');
    const [only] = (await json(scenario, 'Node', 'node', 'status', b))['sets'] as readonly string[];
    const from = only === undefined ? scenario.node('c') : b;
    const hanging = await run(scenario, 'node', 'drain', from, '--to', a, '--yes');
    assert.equal(hanging.exit, 0, hanging.stderr);
    await waitFor('the drain to say what stays', async () => {
      const { drain } = (await json(scenario, 'Node', 'node', 'status', from)) as { drain?: { blocked?: unknown[] } };
      return (drain?.blocked ?? []).length > 0;
    });
    const cancelled = await run(scenario, 'node', 'cancel', from, '--uncordon');
    assert.equal(cancelled.exit, 0, cancelled.stderr);
    await waitFor('the drain to end', async () => {
      const { drain } = (await json(scenario, 'Node', 'node', 'status', from)) as { drain?: { execution: string } };
      return drain?.execution === 'completed';
    });
    assert.equal((await run(scenario, 'node', 'cancel', from)).exit, 5);
    scenario.check();
  });
});
