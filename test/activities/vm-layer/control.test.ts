import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { noDelays } from '../../sim/vm-layer/behaviour.ts';
import { kinds } from '../../sim/vm-layer/objects.ts';
import { startVmLayer } from '../../sim/vm-layer/vm-layer.ts';
import { startProcess } from '../../stack/processes.ts';
import { proxiedAccess } from '../../support/proxied-access.ts';
import { stays, waitFor } from '../../support/wait-for.ts';
import { annotationKeys, layerUnderTest } from './layer-under-test.ts';

const rig = layerUnderTest();
/** How long the API server may take for thousands of writes on a busy machine: no measure of the layer. */
const patienceMs = 120_000;
const recover = { timeoutMs: 90_000 } as const;
const uids = (name: string): readonly string[] => rig.layer.instancesOf(rig.namespace, name).map(({ uid }) => uid);
const isWrite = (method: string): boolean => /^(create|patch|update|delete) /.test(method);
const ranAgain = (name: string, timeoutMs = 90_000): Promise<unknown> =>
  rig.layer.waitForVm(rig.namespace, name, ({ phase }) => phase === 'Running' && uids(name).length === 2, timeoutMs);

describe('the whole layer', () => {
  test('does nothing while it is frozen, and everything that was asked of it when it is thawed', async () => {
    await rig.layer.createVm(rig.namespace, 'frozen');
    await rig.layer.freeze();
    const before = rig.layer.writes().length;
    await rig.request(rig.namespace, 'frozen', 'restart');
    await rig.layer.waitForVm(rig.namespace, 'frozen', ({ machine }) => annotationKeys(machine).length === 1);
    assert.equal(rig.layer.writes().length, before);
    assert.equal(uids('frozen').length, 1);
    rig.layer.thaw();
    await ranAgain('frozen');
  });

  test('takes new delays at once, also for what waits already', async () => {
    rig.layer.setDelays({ bootDelay: 600_000 });
    await rig.layer.createVm(rig.namespace, 'delayed', { settled: ({ phase }) => phase === 'Starting' });
    rig.layer.setDelays(noDelays);
    await rig.layer.waitForVm(rig.namespace, 'delayed', ({ phase }) => phase === 'Running');
  });

  test('writes nothing about a VM to which nothing happens', async () => {
    await rig.layer.createVm(rig.namespace, 'idle');
    await rig.layer.freeze(); // nothing is under way any more
    rig.layer.thaw();
    const before = rig.layer.writes(rig.namespace, 'idle').length;
    await rig.layer.createVm(rig.namespace, 'busy');
    await rig.request(rig.namespace, 'busy', 'restart');
    await ranAgain('busy');
    assert.equal(rig.layer.writes(rig.namespace, 'idle').length, before);
    const { other } = rig;
    const machine = await other.get(resources.machine, rig.namespace, 'idle');
    assert.equal(
      machine?.metadata.resourceVersion,
      rig.layer.vm(rig.namespace, 'idle')?.machine?.metadata.resourceVersion,
    );
  });

  test('keeps VMs of one name in two namespaces apart', async () => {
    const second = await rig.kubernetes.createNamespace();
    await Promise.all([rig.layer.createVm(rig.namespace, 'same'), rig.layer.createVm(second, 'same')]);
    await rig.remove('instance', second, 'same');
    await rig.layer.waitForVm(second, 'same', ({ phase }) => phase === 'Stopped');
    assert.equal(rig.layer.vm(rig.namespace, 'same')?.phase, 'Running');
    assert.equal(rig.layer.instancesOf(rig.namespace, 'same')[0]?.goneAt, undefined);
  });

  test('says what was there when waiting was in vain', async () => {
    await rig.layer.createVm(rig.namespace, 'vain', { runPolicy: 'Manual' });
    const waiting = rig.layer.waitForVm(rig.namespace, 'vain', ({ phase }) => phase === 'Running', 50);
    await assert.rejects(waiting, /waited 50 ms for VM test-\w+\/vain: it is Stopped, with .*stateChangeRequests/);
  });
});

describe('one VM', () => {
  test('can be frozen alone', async () => {
    await Promise.all(['cold', 'warm'].map((name) => rig.layer.createVm(rig.namespace, name)));
    await rig.layer.freezeVm(rig.namespace, 'cold');
    await Promise.all(['cold', 'warm'].map((name) => rig.request(rig.namespace, name, 'restart')));
    await ranAgain('warm');
    assert.equal(uids('cold').length, 1);
    rig.layer.thawVm(rig.namespace, 'cold');
    await ranAgain('cold');
  });

  test('can be frozen by its annotation', async () => {
    await rig.layer.createVm(rig.namespace, 'ice');
    await rig.layer.annotate(rig.namespace, 'ice', { 'test/frozen': 'true' });
    await rig.request(rig.namespace, 'ice', 'restart');
    await rig.layer.waitForVm(rig.namespace, 'ice', ({ machine }) => annotationKeys(machine).length === 1);
    await rig.layer.annotate(rig.namespace, 'ice', { 'test/frozen': undefined });
    await ranAgain('ice');
  });

  test('has its instances and the writes about it on record', async () => {
    await rig.layer.createVm(rig.namespace, 'record');
    await rig.remove('instance', rig.namespace, 'record');
    await rig.layer.waitForVm(rig.namespace, 'record', ({ phase }) => phase === 'Stopped');
    const [life, ...others] = rig.layer.instancesOf(rig.namespace, 'record');
    assert.deepEqual(others, []);
    assert.ok(life?.goneAt !== undefined && life.deletingAt !== undefined);
    assert.ok(life.createdAt <= life.deletingAt && life.deletingAt <= life.goneAt);
    const onInstance = rig.layer.writes(rig.namespace, 'record').filter(({ on }) => on === 'instance');
    assert.deepEqual(
      onInstance.map(({ verb, uid }) => [verb, uid]),
      [
        ['create', life.uid],
        ['patch', life.uid],
        ['patch', life.uid],
      ],
    );
  });
});

test('a VM with a switch that is not known is told of and left alone until it is corrected', async () => {
  const metadata = { name: 'typo', annotations: { 'test/boot-dely': '3s' } };
  await rig.other.create(resources.vm, rig.namespace, { metadata, spec: {} });
  await waitFor('the failure', () => rig.failures.some(({ message }) => message.includes('test/boot-dely')));
  assert.equal(rig.layer.vm(rig.namespace, 'typo')?.machine, undefined);
  await rig.layer.annotate(rig.namespace, 'typo', { 'test/boot-dely': undefined });
  await rig.layer.waitForVm(rig.namespace, 'typo', ({ phase }) => phase === 'Running');
});

test('a layer that is ended in the middle is followed by another that goes on', async () => {
  const namespace = await rig.kubernetes.createNamespace();
  await rig.layer.freeze();
  const options = { kubeconfig: rig.kubernetes.kubeconfig('vmLayer'), namespaces: [namespace] };
  const first = await startVmLayer(options);
  const annotations = { 'test/ignore-shutdown': 'true' };
  await first.createVm(namespace, 'a', { annotations });
  await rig.request(namespace, 'a', 'restart');
  await first.waitForVm(namespace, 'a', ({ phase }) => phase === 'Stopping');
  await first.stop();
  const second = await startVmLayer(options);
  assert.equal(second.vm(namespace, 'a')?.phase, 'Stopping');
  await second.annotate(namespace, 'a', { 'test/ignore-shutdown': undefined });
  await second.waitForVm(namespace, 'a', ({ phase }) => phase === 'Running');
  assert.equal(second.instancesOf(namespace, 'a').length, 2);
  await second.stop();
  rig.layer.thaw();
});

for (const kind of ['vm', 'machine', 'instance'] as const) {
  test(`a layer that is told of the ${kind} last takes nothing for missing, and loses no request`, async (t) => {
    const namespace = await rig.kubernetes.createNamespace();
    await rig.layer.freeze();
    const namespaces = [namespace];
    const first = await startVmLayer({ kubeconfig: rig.kubernetes.kubeconfig('vmLayer'), namespaces });
    await first.createVm(namespace, 'a', { annotations: { 'test/ignore-shutdown': 'true' } });
    await rig.request(namespace, 'a', 'restart');
    await first.waitForVm(namespace, 'a', ({ phase }) => phase === 'Stopping');
    await first.stop();

    const proxied = await proxiedAccess(rig.kubernetes, 'vmLayer');
    const late = proxied.proxy.hold({ method: `list ${resources[kind].plural}` });
    const starting = startVmLayer({ kubeconfig: proxied.kubeconfig, namespaces });
    t.after(async () => {
      late.release();
      await (await starting).stop();
      await proxied.stop();
      rig.layer.thaw();
    });
    await late.arrived;
    // A list is in when its watch begins.
    const others = kinds.filter((other) => other !== kind).map((other) => `watch ${resources[other].plural}`);
    const { proxy } = proxied;
    const asked = (): string[] => proxy.requests().map(({ method }) => method);
    await waitFor('the other lists', () => others.every((method) => asked().includes(method)));
    await stays('silent', () => !asked().some(isWrite), 300);
    late.release();

    const second = await starting;
    assert.equal(second.vm(namespace, 'a')?.phase, 'Stopping');
    await second.annotate(namespace, 'a', { 'test/ignore-shutdown': undefined });
    await second.waitForVm(namespace, 'a', ({ phase }) => phase === 'Running');
    assert.equal(second.instancesOf(namespace, 'a').length, 2);
  });
}

test('a layer with a list of namespaces leaves the others alone', async () => {
  const [ours, theirs] = [await rig.kubernetes.createNamespace(), await rig.kubernetes.createNamespace()];
  await rig.layer.freeze();
  const some = await startVmLayer({ kubeconfig: rig.kubernetes.kubeconfig('vmLayer'), namespaces: [ours] });
  await rig.other.create(resources.vm, theirs, { metadata: { name: 'a' }, spec: {} });
  await some.createVm(ours, 'a');
  assert.equal((await rig.other.get(resources.vm, theirs, 'a'))?.status, undefined);
  await some.stop();
  rig.layer.thaw();
  await rig.layer.waitForVm(theirs, 'a', ({ phase }) => phase === 'Running');
});

test('a process of its own says when it is ready and goes by annotations and variables', async () => {
  const namespace = await rig.kubernetes.createNamespace();
  await rig.layer.freeze();
  const layer = await startProcess({
    name: 'The VM layer',
    command: process.execPath,
    args: ['test/sim/vm-layer/main.ts'],
    env: { ...process.env, KUBECONFIG: rig.kubernetes.kubeconfig('vmLayer'), VM_LAYER_BOOT_DELAY: '10m' },
    ready: (line) => line.startsWith('VM layer ready.'),
  });
  const phase = async (): Promise<unknown> => (await rig.other.get(resources.vm, namespace, 'a'))?.status?.['phase'];
  await rig.other.create(resources.vm, namespace, { metadata: { name: 'a' }, spec: {} });
  await waitFor('the delay of the variable', async () => (await phase()) === 'Starting');
  await rig.layer.annotate(namespace, 'a', { 'test/boot-delay': '10ms' });
  await waitFor('the delay of the annotation', async () => (await phase()) === 'Running');
  await layer.stop();
  assert.equal((await layer.exited).code, 0);
  rig.layer.thaw();
});

test('200 VMs start and restart at a time, each with one new instance and few writes', async () => {
  const names = Array.from({ length: 200 }, (_, index) => `many-${index}`);
  await Promise.all(names.map((name) => rig.layer.createVm(rig.namespace, name, { timeoutMs: patienceMs })));
  await Promise.all(names.map((name) => rig.request(rig.namespace, name, 'restart')));
  await Promise.all(names.map((name) => ranAgain(name, patienceMs)));
  assert.deepEqual(new Set(names.map((name) => uids(name).length)), new Set([2]));
  // 7 to start a new VM, 10 to restart it, and what the status may need in between.
  const most = Math.max(...names.map((name) => rig.layer.writes(rig.namespace, name).length));
  assert.ok(most <= 24, `${most} writes`);
});

test('a kill of the API server in the middle of transitions is survived: each VM gets one new instance', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `survivor-${index}`);
  await Promise.all(names.map((name) => rig.layer.createVm(rig.namespace, name)));
  await rig.layer.freeze();
  await Promise.all(names.map((name) => rig.request(rig.namespace, name, 'restart')));
  const before = rig.layer.writes().length;
  rig.layer.thaw();
  await waitFor('half of the work', () => rig.layer.writes().length > before + 80, { intervalMs: 1 });
  await rig.kubernetes.kill();
  const done = names.filter(
    (name) => rig.layer.vm(rig.namespace, name)?.phase === 'Running' && uids(name).length === 2,
  );
  assert.ok(done.length < names.length, 'the kill came too late');
  await rig.kubernetes.restart();
  await Promise.all(names.map((name) => ranAgain(name)));
  assert.deepEqual(new Set(names.map((name) => uids(name).length)), new Set([2]));
  // The watch is back, too: what others do is seen.
  await rig.request(rig.namespace, 'survivor-0', 'restart');
  await waitFor('a third instance', () => uids('survivor-0').length === 3, recover);
});
