import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import { OperationError } from '../../../activities/failures.ts';
import {
  createHibernationRequest,
  createHibernationRequestWaits,
} from '../../../activities/hibernate/request-hibernation.ts';
import type { Cluster, KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import type {
  Desire,
  HibernationAnswer,
  RequestHibernationInput,
  RequestHibernationResult,
} from '../../../workflows/contracts/hibernation-request.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { connect } from '../kubernetes/builders.ts';

let kubernetes: KubernetesUnderTest;
let admin: Cluster;
let namespace = '';

before(async () => {
  kubernetes = await startKubernetes();
  admin = connect(kubernetes, 'admin');
});
after(async () => {
  await admin.close();
  await kubernetes.stop();
});
beforeEach(async () => {
  namespace = await kubernetes.createNamespace('sleep');
});

type Annotations = Readonly<Record<string, string>>;

/** The Pod of a VM that runs. */
async function pod(more: Annotations = {}, { isRunning = true } = {}): Promise<void> {
  const annotations = { [cocoonKeys.vmName]: `vk-${namespace}-web-0`, [cocoonKeys.vmId]: 'vm-1', ...more };
  const spec = {
    ...{ nodeName: 'node-a', automountServiceAccountToken: false },
    containers: [{ name: 'agent', image: 'placeholder' }],
  };
  await admin.create(resources.pod, namespace, { metadata: { name: 'web-0', annotations }, spec });
  if (!isRunning) return;
  const running = { name: 'agent', ready: true, restartCount: 0, image: '', imageID: '', state: { running: {} } };
  const value = { phase: 'Running', containerStatuses: [running] };
  await admin.patch(resources.pod, namespace, 'web-0', [{ op: 'add', path: '/status', value }], { status: true });
}

const request = (desire: Desire, more: Partial<RequestHibernationInput> = {}): Promise<HibernationAnswer> =>
  createHibernationRequest(admin).askHibernation({ namespace, podName: 'web-0', desire, by: 'alice', ...more });

async function object(): Promise<KubeObject> {
  const found = await admin.get(resources.hibernation, namespace, 'web-0');
  assert.ok(found !== undefined);
  return found;
}

/** What the one who carries it out would write about the newest generation. */
async function reached(phase: string, conditions: readonly object[] = []): Promise<void> {
  const { generation } = (await object()).metadata;
  const value = { phase, observedGeneration: generation, conditions };
  await admin.patch(resources.hibernation, namespace, 'web-0', [{ op: 'add', path: '/status', value }], {
    status: true,
  });
}

/** The refusal that must follow. */
async function refusal(attempt: Promise<unknown>): Promise<readonly [string, string]> {
  const error = await attempt.then(
    () => assert.fail('accepted'),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof OperationError);
  return [error.type, error.details.code];
}

describe('a request to hibernate', () => {
  test('creates the object of the Pod, says who asked and why, and once', async () => {
    await pod();
    const answer = await request('Hibernate', { reason: 'night' });
    const { metadata, spec } = await object();
    assert.deepEqual(answer, { outcome: 'created', uid: metadata.uid, generation: 1 });
    assert.deepEqual(spec, { podRef: { name: 'web-0' }, desire: 'Hibernate' });
    assert.deepEqual(Object.values(metadata.annotations ?? {}).sort(), ['alice', 'night']);
    const again = await request('Hibernate');
    assert.deepEqual(again, { outcome: 'in-progress', uid: metadata.uid, generation: 1 });
    assert.equal((await object()).metadata.resourceVersion, metadata.resourceVersion);
  });

  test('finds that it is so, and not before somebody has said so about what is wanted now', async () => {
    await pod();
    await request('Hibernate');
    await reached('Hibernated');
    assert.deepEqual(await request('Hibernate'), { outcome: 'already-so', phase: 'Hibernated' });
    assert.equal((await request('Wake')).outcome, 'changed');
    const back = await request('Hibernate');
    assert.deepEqual([back.outcome, back.phase], ['changed', 'Hibernated']);
    assert.equal((await request('Hibernate')).outcome, 'in-progress');
  });

  test('that has failed is asked anew: at another generation, wanting the same', async () => {
    await pod();
    await request('Hibernate');
    await reached('Failed');
    const answer = await request('Hibernate', { by: 'bob' });
    const { metadata, spec } = await object();
    assert.deepEqual(answer, { outcome: 'changed', phase: 'Failed', uid: metadata.uid, generation: 3 });
    assert.equal(spec?.['desire'], 'Hibernate');
    assert.ok(Object.values(metadata.annotations ?? {}).includes('bob'));
  });

  test('of many at once makes one object', async () => {
    await pod();
    const answers = await Promise.all(Array.from({ length: 6 }, () => request('Hibernate')));
    assert.deepEqual(answers.map(({ outcome }) => outcome).sort(), [
      'created',
      ...Array<string>(5).fill('in-progress'),
    ]);
    assert.equal(new Set(answers.map((answer) => ('uid' in answer ? answer.uid : ''))).size, 1);
  });

  test('changes nothing in a dry run', async () => {
    await pod();
    assert.deepEqual(await request('Hibernate', { dryRun: true }), { outcome: 'would-create' });
    assert.equal(await admin.get(resources.hibernation, namespace, 'web-0'), undefined);
    await request('Hibernate');
    assert.deepEqual(await request('Wake', { dryRun: true }), { outcome: 'would-change' });
    assert.equal((await object()).metadata.generation, 1);
  });

  test('of what is no VM, or can’t sleep, or isn’t there is refused', async () => {
    assert.deepEqual(await refusal(request('Hibernate')), ['NotFound', 'POD_NOT_FOUND']);
    await pod({ [cocoonKeys.os]: 'macos' });
    assert.deepEqual(await refusal(request('Hibernate')), ['Refused', 'GUEST_CANNOT_HIBERNATE']);
    namespace = await kubernetes.createNamespace('sleep');
    await pod({ [cocoonKeys.vmName]: '' });
    assert.deepEqual(await refusal(request('Hibernate')), ['Refused', 'NO_VM_POD']);
    assert.equal(await admin.get(resources.hibernation, namespace, 'web-0'), undefined);
  });

  test('waits for no object that is on its way out', async () => {
    await pod();
    await request('Hibernate');
    const finalizers = [{ op: 'add', path: '/metadata/finalizers', value: [cocoonKeys.hibernationFinalizer] }] as const;
    await admin.patch(resources.hibernation, namespace, 'web-0', finalizers);
    await admin.remove(resources.hibernation, namespace, 'web-0');
    assert.deepEqual(await refusal(request('Hibernate')), ['Refused', 'HIBERNATION_DELETED']);
    await admin.patch(resources.hibernation, namespace, 'web-0', [{ op: 'remove', path: '/metadata/finalizers' }]);
  });
});

describe('a request to wake', () => {
  test('finds a VM awake that nobody has put to sleep, and makes no object for it', async () => {
    await pod();
    assert.deepEqual(await request('Wake'), { outcome: 'already-so' });
    assert.equal(await admin.get(resources.hibernation, namespace, 'web-0'), undefined);
  });

  const asleep: readonly [string, Annotations][] = [
    ['that its set, or a migration, has put to sleep', { [cocoonKeys.hibernate]: 'true' }],
    ['that is starting', { [cocoonKeys.vmId]: '' }],
  ];
  for (const [what, annotations] of asleep)
    test(`is refused for a VM ${what}: it belongs to somebody else`, async () => {
      await pod(annotations, { isRunning: false });
      assert.deepEqual(await refusal(request('Wake')), ['Refused', 'NOT_HIBERNATED']);
      assert.equal(await admin.get(resources.hibernation, namespace, 'web-0'), undefined);
    });

  test('turns a hibernation around', async () => {
    await pod();
    await request('Hibernate');
    await reached('Hibernated');
    const answer = await request('Wake');
    assert.deepEqual(answer, {
      ...{ outcome: 'changed', phase: 'Hibernated', uid: (await object()).metadata.uid },
      generation: 2,
    });
    assert.equal((await object()).spec?.['desire'], 'Wake');
  });
});

describe('the wait for a request', () => {
  function waiting(desire: Desire, ref: HibernationAnswer): Promise<RequestHibernationResult> {
    assert.ok('uid' in ref);
    const waits = createHibernationRequestWaits(admin);
    const input = { namespace, podName: 'web-0', desire, uid: ref.uid, generation: ref.generation };
    return new MockActivityEnvironment({ activityType: 'awaitHibernation' }).run(() => waits.awaitHibernation(input));
  }

  test('ends when the VM is what was asked for, and not by what was said before', async () => {
    await pod();
    await request('Hibernate');
    await reached('Hibernated');
    const wake = waiting('Wake', await request('Wake'));
    const isOver = await Promise.race([wake.then(() => true), admin.list(resources.hibernation).then(() => false)]);
    assert.equal(isOver, false);
    await reached('Waking');
    await reached('Active');
    assert.equal((await wake).outcome, 'Active');
  });

  test('ends with the reason when it can’t be', async () => {
    await pod();
    const wait = waiting('Hibernate', await request('Hibernate'));
    const old = {
      type: 'A',
      status: 'True',
      reason: 'Older',
      message: 'no',
      lastTransitionTime: '2026-03-01T10:00:00Z',
    };
    const last = { ...old, type: 'B', reason: 'HibernateTimedOut', message: 'more than 3 min' };
    await reached('Failed', [{ ...last, lastTransitionTime: '2026-03-01T10:05:00Z' }, old]);
    assert.deepEqual(await wait, { outcome: 'Failed', message: 'HibernateTimedOut: more than 3 min' });
  });

  test('ends when somebody wants the opposite, or the object goes', async () => {
    await pod();
    const first = await request('Hibernate');
    const wait = waiting('Hibernate', first);
    await request('Wake');
    assert.equal((await wait).outcome, 'superseded');
    const gone = waiting('Wake', await request('Wake'));
    await admin.remove(resources.hibernation, namespace, 'web-0');
    assert.equal((await gone).outcome, 'deleted');
    await request('Hibernate');
    assert.equal((await waiting('Hibernate', first)).outcome, 'deleted', 'another object has the name');
  });
});
