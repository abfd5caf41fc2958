import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { vmopKeys, type RunPolicy, type VmPhase } from '../../../workflows/contracts/vmop.ts';
import { waitFor } from '../../support/wait-for.ts';
import { annotationKeys, layerUnderTest, requestsOf } from './layer-under-test.ts';

const rig = layerUnderTest();

const uids = (name: string): readonly string[] => rig.layer.instancesOf(rig.namespace, name).map(({ uid }) => uid);
const inPhase = (name: string, phase: VmPhase): ReturnType<typeof rig.layer.waitForVm> =>
  rig.layer.waitForVm(rig.namespace, name, (vm) => vm.phase === phase);
const writesOf = (name: string, on: string): readonly string[] =>
  rig.layer
    .writes(rig.namespace, name)
    .filter((write) => write.on === on)
    .map(({ why }) => why);

describe('a new VM', () => {
  const rows: readonly (readonly [policy: RunPolicy, running: boolean | undefined, phase: VmPhase])[] = [
    ['AlwaysOnUnlessStoppedManually', undefined, 'Running'],
    ['AlwaysOnUnlessStoppedManually', false, 'Stopped'],
    ['AlwaysOn', undefined, 'Running'],
    ['AlwaysOff', undefined, 'Stopped'],
    ['Manual', undefined, 'Stopped'],
    ['Manual', true, 'Running'],
  ];
  for (const [runPolicy, running, phase] of rows) {
    const order = running === undefined ? '' : running ? ', ordered to run' : ', ordered not to';
    test(`with the run policy ${runPolicy}${order} is ${phase}, with a machine of its name`, async () => {
      const name = `new-${runPolicy.toLowerCase()}-${String(running)}`;
      const vm = await rig.layer.createVm(rig.namespace, name, {
        runPolicy,
        ...(running === undefined ? {} : { running }),
      });
      assert.equal(vm.phase, phase);
      assert.equal(vm.machine?.metadata.name, name);
      assert.deepEqual(requestsOf(vm.machine), []);
      assert.equal(vm.machine.status?.['printableStatus'], phase);
      assert.equal(vm.instance?.status?.['phase'], phase === 'Running' ? 'Running' : undefined);
      assert.equal(vm.nodeName, vm.instance?.status?.['nodeName']);
    });
  }

  test('that is there before the layer sees it gets the same, and is protected while something is underneath', async () => {
    await rig.other.create(resources.vm, rig.namespace, {
      metadata: { name: 'by-hand' },
      spec: {},
    });
    const vm = await inPhase('by-hand', 'Running');
    assert.deepEqual(vm.object.metadata.finalizers, ['virtualization.deckhouse.io/vm-cleanup']);
  });

  test('that can never be as it is asked for is refused', async () => {
    await assert.rejects(
      rig.layer.createVm(rig.namespace, 'x', { runPolicy: 'AlwaysOff', running: true }),
      /AlwaysOff/,
    );
    await assert.rejects(
      rig.layer.createVm(rig.namespace, 'x', { annotations: { 'test/typo': 'true' } }),
      /no switch test\/typo/,
    );
  });
});

describe('a start request', () => {
  test('becomes an entry, loses its annotation, and makes one instance', async () => {
    await rig.layer.createVm(rig.namespace, 'start', { runPolicy: 'Manual' });
    await rig.request(rig.namespace, 'start', 'start');
    const vm = await inPhase('start', 'Running');
    assert.deepEqual(requestsOf(vm.machine), []);
    assert.ok(!annotationKeys(vm.machine).includes(vmopKeys.startRequested));
    assert.equal(uids('start').length, 1);
    assert.deepEqual(writesOf('start', 'machine').slice(-4), [
      'a start is requested',
      'the request has become an entry',
      'an instance answers the Start',
      'it is Running',
    ]);
  });

  test('stays an annotation for the annotation delay, and an entry for the start delay', async () => {
    await rig.layer.createVm(rig.namespace, 'slow-start', {
      runPolicy: 'Manual',
      annotations: { 'test/annotation-delay': '10m', 'test/start-delay': '10m', 'test/boot-delay': '10m' },
    });
    await rig.request(rig.namespace, 'slow-start', 'start');
    await rig.layer.annotate(rig.namespace, 'slow-start', { 'test/paused': 'false' }); // any change: the layer looks and still waits
    await rig.layer.waitForVm(rig.namespace, 'slow-start', ({ machine }) =>
      annotationKeys(machine).includes(vmopKeys.startRequested),
    );
    assert.deepEqual(requestsOf(rig.layer.vm(rig.namespace, 'slow-start')?.machine), []);
    await rig.layer.annotate(rig.namespace, 'slow-start', { 'test/annotation-delay': undefined });
    const asked = await inPhase('slow-start', 'Starting');
    assert.deepEqual([requestsOf(asked.machine), asked.instance], [[{ action: 'Start' }], undefined]);
    await rig.layer.annotate(rig.namespace, 'slow-start', { 'test/start-delay': undefined });
    const booting = await rig.layer.waitForVm(
      rig.namespace,
      'slow-start',
      ({ instance }) => instance?.status !== undefined,
    );
    assert.deepEqual([booting.phase, booting.instance?.status?.['phase']], ['Starting', 'Scheduled']);
    await rig.layer.annotate(rig.namespace, 'slow-start', { 'test/boot-delay': undefined });
    await inPhase('slow-start', 'Running');
  });

  test('that is an entry fires later, whatever happened in between, unless it is taken back', async () => {
    const annotations = { 'test/block-instance-creation': 'true' };
    for (const [name, isTakenBack] of [
      ['left', false],
      ['taken-back', true],
    ] as const) {
      await rig.layer.createVm(rig.namespace, name, { runPolicy: 'Manual', annotations });
      await rig.request(rig.namespace, name, 'start');
      await inPhase(name, 'Pending');
      if (isTakenBack) {
        const operations = [{ op: 'add', path: '/status/stateChangeRequests', value: [] }] as const;
        await rig.other.patch(resources.machine, rig.namespace, name, operations, { status: true });
        await inPhase(name, 'Stopped');
      }
      await rig.layer.annotate(rig.namespace, name, { 'test/block-instance-creation': undefined });
    }
    await inPhase('left', 'Running');
    assert.equal(rig.layer.vm(rig.namespace, 'taken-back')?.phase, 'Stopped');
    assert.deepEqual(uids('taken-back'), []);
  });

  test('made while the old instance shuts down starts a new one after it', async () => {
    await rig.layer.createVm(rig.namespace, 'again', { annotations: { 'test/ignore-shutdown': 'true' } });
    await rig.remove('instance', rig.namespace, 'again');
    await inPhase('again', 'Stopping');
    await rig.request(rig.namespace, 'again', 'start');
    await rig.layer.waitForVm(rig.namespace, 'again', ({ machine }) =>
      annotationKeys(machine).includes(vmopKeys.startRequested),
    );
    assert.equal(uids('again').length, 1);
    await rig.layer.annotate(rig.namespace, 'again', { 'test/ignore-shutdown': undefined });
    await rig.layer.waitForVm(rig.namespace, 'again', ({ phase }) => phase === 'Running' && uids('again').length === 2);
    const [first, second] = rig.layer.instancesOf(rig.namespace, 'again');
    assert.ok((first?.goneAt ?? Infinity) <= (second?.createdAt ?? 0));
  });
});

describe('a restart request', () => {
  test('of a running VM replaces its instance once', async () => {
    await rig.layer.createVm(rig.namespace, 'restart');
    await rig.request(rig.namespace, 'restart', 'restart');
    const vm = await rig.layer.waitForVm(
      rig.namespace,
      'restart',
      ({ phase }) => phase === 'Running' && uids('restart').length === 2,
    );
    assert.ok(!annotationKeys(vm.machine).includes(vmopKeys.restartRequested));
    assert.deepEqual(requestsOf(vm.machine), []);
    assert.deepEqual(writesOf('restart', 'instance'), [
      'the VM is to run',
      'the guest has booted',
      'the first entry is Stop',
      'the guest has shut down',
      'the VM is to run',
      'the guest has booted',
    ]);
  });

  test('of a VM that boots waits until it runs', async () => {
    const annotations = { 'test/boot-delay': '10m' };
    await rig.layer.createVm(rig.namespace, 'restart-boot', {
      annotations,
      settled: ({ phase }) => phase === 'Starting',
    });
    await rig.request(rig.namespace, 'restart-boot', 'restart');
    await rig.layer.waitForVm(rig.namespace, 'restart-boot', ({ machine }) =>
      annotationKeys(machine).includes(vmopKeys.restartRequested),
    );
    assert.deepEqual(requestsOf(rig.layer.vm(rig.namespace, 'restart-boot')?.machine), []);
    await rig.layer.annotate(rig.namespace, 'restart-boot', { 'test/boot-delay': undefined });
    await rig.layer.waitForVm(
      rig.namespace,
      'restart-boot',
      ({ phase }) => phase === 'Running' && uids('restart-boot').length === 2,
    );
  });

  test('of a VM that is off starts it', async () => {
    await rig.layer.createVm(rig.namespace, 'restart-off', { runPolicy: 'Manual' });
    await rig.request(rig.namespace, 'restart-off', 'restart');
    await inPhase('restart-off', 'Running');
    assert.equal(uids('restart-off').length, 1);
  });
});

describe('an instance that is deleted', () => {
  test('goes at the end of its grace period where the guest ignores it', async () => {
    await rig.layer.createVm(rig.namespace, 'grace', {
      terminationGracePeriodSeconds: 1,
      annotations: { 'test/ignore-shutdown': 'true' },
    });
    await rig.remove('instance', rig.namespace, 'grace');
    await inPhase('grace', 'Stopped');
    const [life] = rig.layer.instancesOf(rig.namespace, 'grace');
    const took = (life?.goneAt ?? 0) - (life?.deletingAt ?? 0);
    assert.ok(took >= 990 && took < 5_000, `${took} ms`);
  });

  test('goes at once when the grace period is shortened under way', async () => {
    await rig.layer.createVm(rig.namespace, 'cut', {
      terminationGracePeriodSeconds: 600,
      annotations: { 'test/ignore-shutdown': 'true' },
    });
    await rig.remove('instance', rig.namespace, 'cut');
    await inPhase('cut', 'Stopping');
    await rig.patch('instance', rig.namespace, 'cut', [
      { op: 'add', path: '/spec/terminationGracePeriodSeconds', value: 0 },
    ]);
    await inPhase('cut', 'Stopped');
  });

  test('goes when the guest is done, long before the end of its grace period', async () => {
    await rig.layer.createVm(rig.namespace, 'polite', {
      terminationGracePeriodSeconds: 600,
      annotations: { 'test/guest-shutdown-delay': '300ms' },
    });
    await rig.remove('instance', rig.namespace, 'polite');
    await inPhase('polite', 'Stopped');
    const [life] = rig.layer.instancesOf(rig.namespace, 'polite');
    assert.ok((life?.goneAt ?? 0) - (life?.deletingAt ?? 0) >= 290);
    assert.equal(uids('polite').length, 1);
  });

  test('comes back where the run policy is AlwaysOn', async () => {
    await rig.layer.createVm(rig.namespace, 'always', { runPolicy: 'AlwaysOn' });
    await rig.remove('instance', rig.namespace, 'always');
    await rig.layer.waitForVm(
      rig.namespace,
      'always',
      ({ phase }) => phase === 'Running' && uids('always').length === 2,
    );
  });
});

describe('a run policy', () => {
  test('that changes to AlwaysOff stops the VM, and to AlwaysOn starts it', async () => {
    await rig.layer.createVm(rig.namespace, 'policy');
    await rig.layer.patchSpec(rig.namespace, 'policy', { runPolicy: 'AlwaysOff' });
    const off = await inPhase('policy', 'Stopped');
    assert.equal(off.machine?.spec?.['runStrategy'], 'Halted');
    await rig.request(rig.namespace, 'policy', 'start');
    await rig.layer.waitForVm(
      rig.namespace,
      'policy',
      ({ machine }) => !annotationKeys(machine).includes(vmopKeys.startRequested),
    );
    assert.equal(uids('policy').length, 1);
    await rig.layer.patchSpec(rig.namespace, 'policy', { runPolicy: 'AlwaysOn' });
    await inPhase('policy', 'Running');
    assert.equal(uids('policy').length, 2);
  });
});

describe('a VM that no node takes', () => {
  test('is Pending, and boots the same instance once there is room', async () => {
    const annotations = { 'test/unschedulable': 'true' };
    const pending = await rig.layer.createVm(rig.namespace, 'no-room', { annotations });
    assert.equal(pending.phase, 'Pending');
    assert.equal(pending.machine?.status?.['printableStatus'], 'ErrorUnschedulable');
    await rig.layer.annotate(rig.namespace, 'no-room', { 'test/unschedulable': undefined });
    const vm = await inPhase('no-room', 'Running');
    assert.equal(vm.instance?.metadata.uid, pending.instance?.metadata.uid);
    assert.equal(uids('no-room').length, 1);
  });
});

describe('a guest', () => {
  const rows: readonly (readonly [RunPolicy, VmPhase, number])[] = [
    ['Manual', 'Stopped', 1],
    ['AlwaysOnUnlessStoppedManually', 'Stopped', 1],
    ['AlwaysOn', 'Running', 2],
  ];
  for (const [runPolicy, phase, instances] of rows) {
    test(`that shuts itself down leaves the VM ${phase} with the run policy ${runPolicy}`, async () => {
      const name = `guest-${runPolicy.toLowerCase()}`;
      await rig.layer.createVm(rig.namespace, name, {
        runPolicy,
        ...(runPolicy === 'Manual' ? { running: true } : {}),
      });
      await rig.layer.annotate(rig.namespace, name, { 'test/guest-shutdown': 'true' });
      await rig.layer.waitForVm(rig.namespace, name, (vm) => vm.phase === phase && uids(name).length === instances);
      const vm = await rig.layer.waitForVm(
        rig.namespace,
        name,
        ({ object }) => !annotationKeys(object).includes('test/guest-shutdown'),
      );
      assert.equal(vm.phase, phase);
    });
  }

  test('that resets itself gets a new instance, also with the run policy Manual', async () => {
    await rig.layer.createVm(rig.namespace, 'reset', { runPolicy: 'Manual', running: true });
    await rig.layer.annotate(rig.namespace, 'reset', { 'test/guest-reset': 'true' });
    const vm = await rig.layer.waitForVm(
      rig.namespace,
      'reset',
      ({ phase }) => phase === 'Running' && uids('reset').length === 2,
    );
    assert.ok(!annotationKeys(vm.object).includes('test/guest-reset'));
    assert.deepEqual(requestsOf(vm.machine), []);
  });

  test('can be paused and go on', async () => {
    await rig.layer.createVm(rig.namespace, 'paused');
    await rig.layer.annotate(rig.namespace, 'paused', { 'test/paused': 'true' });
    await inPhase('paused', 'Pause');
    await rig.layer.annotate(rig.namespace, 'paused', { 'test/paused': undefined });
    await inPhase('paused', 'Running');
    assert.equal(uids('paused').length, 1);
  });
});

describe('a VM that is deleted', () => {
  test('is Terminating while its guest shuts down, and then gone with all that was underneath', async () => {
    const first = await rig.layer.createVm(rig.namespace, 'deleted', {
      annotations: { 'test/ignore-shutdown': 'true' },
    });
    await rig.remove('vm', rig.namespace, 'deleted');
    await inPhase('deleted', 'Terminating');
    await waitFor(
      'its instance to be asked',
      () => rig.layer.vm(rig.namespace, 'deleted')?.instance?.metadata.deletionTimestamp !== undefined,
    );
    await rig.layer.annotate(rig.namespace, 'deleted', { 'test/ignore-shutdown': undefined });
    await rig.layer.waitForNoVm(rig.namespace, 'deleted');
    const second = await rig.layer.createVm(rig.namespace, 'deleted');
    assert.notEqual(second.machine?.metadata.uid, first.machine?.metadata.uid);
    assert.notEqual(second.uid, first.uid);
  });
});

test('nothing that the layer wrote was refused', () => assert.deepEqual(rig.failures, []));
