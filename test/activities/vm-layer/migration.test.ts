import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import type { VmPhase } from '../../../workflows/contracts/vmop.ts';
import { migrationPhases } from '../../sim/vm-layer/switches.ts';
import type { VmView } from '../../sim/vm-layer/types.ts';
import { waitFor } from '../../support/wait-for.ts';
import { layerUnderTest } from './layer-under-test.ts';

const rig = layerUnderTest();

const until = (name: string, predicate: (vm: VmView) => boolean): Promise<VmView> =>
  rig.layer.waitForVm(rig.namespace, name, predicate);
const phaseIn = (object: KubeObject | undefined): unknown => object?.status?.['phase'];
const stateIn = (object: KubeObject | undefined): Record<string, unknown> =>
  (object?.status?.['migrationState'] ?? {}) as Record<string, unknown>;
const untilMigration = (name: string, phase: string): Promise<VmView> =>
  until(name, ({ migrations }) => phaseIn(migrations[0]) === phase);
const untilGone = (name: string): Promise<VmView> => until(name, ({ migrations }) => migrations.length === 0);

function conditionOf({ object }: VmView, type: string): { status: string; reason: string } {
  const all = (object.status?.['conditions'] ?? []) as { type: string; status: string; reason: string }[];
  const { status, reason } = all.find((condition) => condition.type === type) ?? assert.fail(`no condition ${type}`);
  return { status, reason };
}

/** Everything that a watch tells of the phases of the VM and its migration. */
async function follow(name: string): Promise<{ readonly vm: VmPhase[]; readonly migration: unknown[] }> {
  const phases = { vm: [] as VmPhase[], migration: [] as unknown[] };
  const note = <T>(list: T[], phase: T): void => {
    if (list.at(-1) !== phase) list.push(phase);
  };
  const watches = [rig.other.watch(resources.vm), rig.other.watch(resources.migration)] as const;
  await Promise.all(watches.map(({ ready }) => ready));
  watches[0].subscribe(({ object }) => {
    if (object.metadata.name === name) note(phases.vm, phaseIn(object) as VmPhase);
  });
  watches[1].subscribe(({ object }) => {
    if (object.spec?.['vmiName'] === name && phaseIn(object) !== undefined) note(phases.migration, phaseIn(object));
  });
  return phases;
}

describe('a migration', () => {
  test('goes through all its phases; the VM is Migrating only while memory is copied', async () => {
    const before = await rig.layer.createVm(rig.namespace, 'move', { annotations: { 'test/migration-delay': '50ms' } });
    const phases = await follow('move');
    await rig.migrate(rig.namespace, 'move');
    const after = await until('move', (vm) => phaseIn(vm.migrations[0]) === 'Succeeded' && vm.phase === 'Running');
    await waitFor('the last change', () => phases.vm.at(-1) === 'Running' && phases.migration.at(-1) === 'Succeeded');
    assert.deepEqual(phases.migration, migrationPhases);
    assert.deepEqual(phases.vm, ['Running', 'Migrating', 'Running']);
    const { source, target, result, startTimestamp, endTimestamp } = stateIn(after.object);
    assert.deepEqual([source, result], [{ node: before.nodeName }, 'Succeeded']);
    assert.deepEqual((target as { node: string }).node, after.nodeName);
    assert.notEqual(after.nodeName, before.nodeName);
    assert.ok(Date.parse(String(startTimestamp)) < Date.parse(String(endTimestamp)));
    assert.equal(after.instance?.metadata.uid, before.instance?.metadata.uid);
    await until('move', (vm) => conditionOf(vm, 'Migrating').reason === 'ReadyToMigrate');
  });

  test('that is queued leaves the VM Running, not ready for another', async () => {
    await rig.layer.createVm(rig.namespace, 'queued', { annotations: { 'test/migration-stuck-at': 'Pending' } });
    await rig.migrate(rig.namespace, 'queued');
    const vm = await until('queued', (now) => phaseIn(now.migrations[0]) === 'Pending' && isPending(now));
    assert.equal(vm.phase, 'Running');
    assert.equal(vm.object.status?.['migrationState'], undefined);
  });
  const isPending = (vm: VmView): boolean => conditionOf(vm, 'Migrating').reason === 'Pending';

  test('that copies shows how far it is', async () => {
    const annotations = { 'test/migration-stuck-at': 'Running', 'test/migration-progress': '40' };
    await rig.layer.createVm(rig.namespace, 'copies', { annotations });
    await rig.migrate(rig.namespace, 'copies');
    const vm = await until(
      'copies',
      ({ phase, migrations }) => phase === 'Migrating' && stateIn(migrations[0])['progress'] === 40,
    );
    assert.deepEqual(conditionOf(vm, 'Migrating'), { status: 'True', reason: 'InProgress' });
    assert.equal(stateIn(vm.object)['result'], '');
    await rig.layer.annotate(rig.namespace, 'copies', { 'test/migration-stuck-at': undefined });
    await untilMigration('copies', 'Succeeded');
  });

  test('without a fixed progress copies in steps, up to the end', async () => {
    await rig.layer.createVm(rig.namespace, 'steps', { annotations: { 'test/migration-delay': 'Running=1s' } });
    await rig.migrate(rig.namespace, 'steps');
    const half = await until('steps', ({ migrations }) => Number(stateIn(migrations[0])['progress']) > 0);
    assert.ok(Number(stateIn(half.migrations[0])['progress']) <= 90);
    const end = await untilMigration('steps', 'Succeeded');
    assert.equal(stateIn(end.migrations[0])['progress'], 100);
  });

  for (const phase of migrationPhases.slice(0, -1)) {
    test(`that fails in phase ${phase} leaves the VM Running where it was`, async () => {
      const name = `fails-${phase.toLowerCase()}`;
      const before = await rig.layer.createVm(rig.namespace, name, {
        annotations: { 'test/migration-fails-at': phase },
      });
      await rig.migrate(rig.namespace, name);
      const result = phase === 'Running' ? 'Failed' : undefined;
      const vm = await until(
        name,
        (now) => phaseIn(now.migrations[0]) === 'Failed' && stateIn(now.object)['result'] === result,
      );
      assert.equal(vm.nodeName, before.nodeName);
      assert.match(
        String(stateIn(vm.migrations[0])['failureReason']),
        phase === 'Running' ? /transfer failed/ : new RegExp(phase),
      );
      assert.equal(vm.phase, 'Running');
    });
  }

  test('goes to a node that its selector takes', async () => {
    const { nodeName } = await rig.layer.createVm(rig.namespace, 'selected');
    const target = ['node-a', 'node-b', 'node-c'].filter((node) => node !== nodeName).at(-1);
    await rig.migrate(rig.namespace, 'selected', 'vmop-selected', { 'kubernetes.io/hostname': target });
    await until('selected', (vm) => vm.nodeName === target);
  });

  test('whose selector takes no node stays in Scheduling and says so', async () => {
    await rig.layer.createVm(rig.namespace, 'nowhere');
    await rig.migrate(rig.namespace, 'nowhere', 'vmop-nowhere', { zone: 'none' });
    const vm = await until('nowhere', ({ migrations }) => troubles(migrations[0]).length > 0);
    assert.deepEqual(troubles(vm.migrations[0]), ['TargetScheduled False']);
    assert.deepEqual([vm.phase, phaseIn(vm.migrations[0])], ['Running', 'Scheduling']);
  });

  test('shows a trouble that does not end it, for as long as there is one', async () => {
    const annotations = { 'test/migration-stuck-at': 'PreparingTarget', 'test/migration-trouble': 'TargetReady' };
    await rig.layer.createVm(rig.namespace, 'trouble', { annotations });
    await rig.migrate(rig.namespace, 'trouble');
    await untilMigration('trouble', 'PreparingTarget');
    await until('trouble', ({ migrations }) => troubles(migrations[0])[0] === 'TargetReady False');
    await rig.layer.annotate(rig.namespace, 'trouble', { 'test/migration-trouble': undefined });
    await until('trouble', ({ migrations }) => troubles(migrations[0]).length === 0);
  });
  const troubles = (object: KubeObject | undefined): string[] =>
    ((object?.status?.['conditions'] ?? []) as { type: string; status: string }[]).map((c) => `${c.type} ${c.status}`);

  test('waits for the one before it', async () => {
    await rig.layer.createVm(rig.namespace, 'two', { annotations: { 'test/migration-stuck-at': 'TargetReady' } });
    await rig.migrate(rig.namespace, 'two', 'vmop-two-1');
    await untilMigration('two', 'TargetReady');
    await rig.migrate(rig.namespace, 'two', 'vmop-two-2');
    const waiting = await until('two', ({ migrations }) => phaseIn(migrations[1]) === 'Pending');
    assert.equal(phaseIn(waiting.migrations[0]), 'TargetReady');
    await rig.layer.annotate(rig.namespace, 'two', { 'test/migration-stuck-at': undefined });
    await until('two', ({ migrations }) => migrations.every((migration) => phaseIn(migration) === 'Succeeded'));
  });

  test('of a VM that does not run fails; so does one whose instance is deleted', async () => {
    await rig.layer.createVm(rig.namespace, 'off', { runPolicy: 'Manual' });
    await rig.migrate(rig.namespace, 'off');
    await untilMigration('off', 'Failed');
    await rig.layer.createVm(rig.namespace, 'cut', { annotations: { 'test/migration-stuck-at': 'Running' } });
    await rig.migrate(rig.namespace, 'cut');
    await until('cut', ({ phase }) => phase === 'Migrating');
    await rig.remove('instance', rig.namespace, 'cut');
    await until('cut', (vm) => vm.phase === 'Stopped' && phaseIn(vm.migrations[0]) === 'Failed');
  });

  test('that nobody owns any more stays: only its VM operation is responsible for it', async () => {
    await rig.layer.createVm(rig.namespace, 'orphan', { annotations: { 'test/migration-stuck-at': 'Pending' } });
    await rig.migrate(rig.namespace, 'orphan');
    await untilMigration('orphan', 'Pending');
    await rig.remove('vm', rig.namespace, 'orphan');
    await rig.layer.waitForNoVm(rig.namespace, 'orphan');
    const migration = await waitFor('its failure', async () => {
      const object = await rig.other.get(resources.migration, rig.namespace, 'vmop-orphan');
      return phaseIn(object) === 'Failed' && object;
    });
    assert.equal(migration.metadata.deletionTimestamp, undefined);
  });
});

describe('a migration that is deleted', () => {
  for (const phase of ['Pending', 'Scheduling'] as const) {
    test(`in phase ${phase} is gone at once, whatever an abort takes`, async () => {
      const name = `early-${phase.toLowerCase()}`;
      const annotations = { 'test/migration-stuck-at': phase, 'test/abort-delay': '10m' };
      await rig.layer.createVm(rig.namespace, name, { annotations });
      const phases = await follow(name);
      await rig.migrate(rig.namespace, name);
      await untilMigration(name, phase);
      await rig.remove('migration', rig.namespace, `vmop-${name}`);
      const vm = await untilGone(name);
      assert.equal(vm.phase, 'Running');
      await waitFor('its end', () => phases.migration.at(-1) === 'Failed');
      assert.ok(!phases.vm.includes('Migrating'));
    });
  }

  test('while memory is copied is kept until the abort is done; the VM stays where it was', async () => {
    const annotations = { 'test/migration-stuck-at': 'Running', 'test/abort-delay': '10m' };
    const before = await rig.layer.createVm(rig.namespace, 'abort', { annotations });
    await rig.migrate(rig.namespace, 'abort');
    await until('abort', ({ phase }) => phase === 'Migrating');
    await rig.remove('migration', rig.namespace, 'vmop-abort');
    const aborting = await until('abort', ({ migrations }) => stateIn(migrations[0])['abortRequested'] === true);
    assert.deepEqual([aborting.phase, phaseIn(aborting.migrations[0])], ['Migrating', 'Running']);
    const phases = await follow('abort');
    await rig.layer.annotate(rig.namespace, 'abort', { 'test/abort-delay': undefined });
    const vm = await until('abort', ({ phase, migrations }) => phase === 'Running' && migrations.length === 0);
    assert.equal(vm.nodeName, before.nodeName);
    assert.equal(stateIn(vm.object)['result'], 'Failed');
    await waitFor('its end', () => phases.migration.at(-1) === 'Failed');
  });

  test('and whose abort is stuck stays for ever, in any phase', async () => {
    for (const phase of ['Pending', 'Running'] as const) {
      const name = `stuck-${phase.toLowerCase()}`;
      const annotations = { 'test/migration-stuck-at': phase, 'test/stuck-abort': 'true' };
      await rig.layer.createVm(rig.namespace, name, { annotations });
      await rig.migrate(rig.namespace, name);
      await untilMigration(name, phase);
      await rig.remove('migration', rig.namespace, `vmop-${name}`);
      const vm = await until(name, ({ migrations }) => stateIn(migrations[0])['abortRequested'] === true);
      assert.equal(phaseIn(vm.migrations[0]), phase);
      await rig.layer.annotate(rig.namespace, name, { 'test/stuck-abort': undefined });
      await untilGone(name);
    }
  });

  test('after its end is gone at once', async () => {
    await rig.layer.createVm(rig.namespace, 'over');
    await rig.migrate(rig.namespace, 'over');
    await until(
      'over',
      ({ migrations }) => phaseIn(migrations[0]) === 'Succeeded' && migrations[0]?.metadata.finalizers === undefined,
    );
    await rig.remove('migration', rig.namespace, 'vmop-over');
    await untilGone('over');
  });
});

describe('what a VM says about migration', () => {
  test('is that it is ready, unless a switch says otherwise', async () => {
    const ready = await rig.layer.createVm(rig.namespace, 'ready');
    const notReady = await rig.layer.createVm(rig.namespace, 'not-ready', {
      annotations: { 'test/not-ready-to-migrate': 'true' },
    });
    const never = await rig.layer.createVm(rig.namespace, 'never', { annotations: { 'test/not-migratable': 'true' } });
    const said = [ready, notReady, never].map((vm) => [
      conditionOf(vm, 'Migrating').reason,
      conditionOf(vm, 'Migratable').status,
    ]);
    assert.deepEqual(said, [
      ['ReadyToMigrate', 'True'],
      ['Pending', 'True'],
      ['Pending', 'False'],
    ]);
    await rig.layer.annotate(rig.namespace, 'not-ready', { 'test/not-ready-to-migrate': undefined });
    await until('not-ready', (vm) => conditionOf(vm, 'Migrating').reason === 'ReadyToMigrate');
  });

  test('leaves the conditions of others alone', async () => {
    const vm = await rig.layer.createVm(rig.namespace, 'others');
    const lastTransitionTime = new Date().toISOString();
    const maintenance = {
      type: 'Maintenance',
      status: 'True',
      reason: 'RestoreInProgress',
      message: '',
      lastTransitionTime,
    };
    const conditions = [...(vm.object.status?.['conditions'] as object[]), maintenance];
    const operations = [{ op: 'add', path: '/status/conditions', value: conditions }] as const;
    await rig.other.patch(resources.vm, rig.namespace, 'others', operations, { status: true });
    await rig.remove('instance', rig.namespace, 'others');
    const stopped = await until('others', ({ phase }) => phase === 'Stopped');
    assert.deepEqual(conditionOf(stopped, 'Maintenance'), { status: 'True', reason: 'RestoreInProgress' });
    assert.deepEqual(conditionOf(stopped, 'Running'), { status: 'False', reason: 'NotRunning' });
  });
});

test('nothing that the layer wrote was refused', () => assert.deepEqual(rig.failures, []));
