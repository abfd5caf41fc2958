import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clusterOver } from '../../../activities/kubernetes/cluster.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { objectAnswer, scriptedTransport, statusAnswer } from './answers.ts';

const forbidden = statusAnswer(403, { reason: 'Forbidden', message: 'User cannot' });
const ok = { status: 200, text: 'ok' };
const notReady = { status: 500, text: 'not ready' };
const denied = statusAnswer(403, { message: 'admission webhook "w" denied the request: no' });
const vm = objectAnswer({ metadata: { name: 'db-0', uid: 'u' } });

describe('a 403', () => {
  test('of an API server that is starting is no answer yet', async () => {
    const cluster = clusterOver(scriptedTransport([forbidden], [notReady]));
    await assert.rejects(cluster.get(resources.vm, 'shop', 'db-0'), {
      name: 'ClusterError',
      reason: 'Unavailable',
      message: "The API server is starting and can't read VirtualMachine shop/db-0 yet.",
    });
  });

  test('of one that became ready just now is asked again', async () => {
    const transport = scriptedTransport([forbidden, vm], [ok]);
    const found = await clusterOver(transport).get(resources.vm, 'shop', 'db-0');
    assert.equal(found?.metadata.uid, 'u');
    assert.equal(transport.requests.length, 3);
  });

  test('of one that is ready is final', async () => {
    const cluster = clusterOver(scriptedTransport([forbidden, forbidden], [ok]));
    await assert.rejects(cluster.get(resources.vm, 'shop', 'db-0'), { reason: 'Forbidden' });
  });

  test('of a webhook is final at once', async () => {
    const transport = scriptedTransport([denied]);
    await assert.rejects(clusterOver(transport).create(resources.vmop, 'shop', {}), {
      reason: 'Denied',
      message: 'no',
    });
    assert.equal(transport.requests.length, 1);
  });
});

describe('requests', () => {
  test('have the path, query and body that the API wants', async () => {
    const transport = scriptedTransport([vm, vm, vm, vm, objectAnswer({ items: [] }), objectAnswer({ items: null })]);
    const cluster = clusterOver(transport);
    await cluster.create(resources.vmop, 'shop', { metadata: { generateName: 'db-0-' } }, { dryRun: true });
    await cluster.patch(resources.vmop, 'shop', 'x', [{ op: 'remove', path: '/a' }], { status: true });
    await cluster.remove(resources.instance, 'shop', 'x', { uid: 'u' }, 0);
    await cluster.get(resources.event, 'a/b', '../x');
    await cluster.list(resources.vmop, 'shop', 'a=b');
    await cluster.list(resources.event);
    assert.deepEqual(transport.requests, [
      {
        method: 'POST',
        path: '/apis/virtualization.deckhouse.io/v1alpha2/namespaces/shop/virtualmachineoperations?dryRun=All',
        body: {
          apiVersion: 'virtualization.deckhouse.io/v1alpha2',
          kind: 'VirtualMachineOperation',
          metadata: { generateName: 'db-0-' },
        },
      },
      {
        method: 'PATCH',
        path: '/apis/virtualization.deckhouse.io/v1alpha2/namespaces/shop/virtualmachineoperations/x/status',
        body: [{ op: 'remove', path: '/a' }],
        contentType: 'application/json-patch+json',
      },
      {
        method: 'DELETE',
        path: '/apis/internal.virtualization.deckhouse.io/v1/namespaces/shop/internalvirtualizationvirtualmachineinstances/x',
        body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'u' }, gracePeriodSeconds: 0 },
      },
      { method: 'GET', path: '/api/v1/namespaces/a%2Fb/events/..%2Fx' },
      {
        method: 'GET',
        path: '/apis/virtualization.deckhouse.io/v1alpha2/namespaces/shop/virtualmachineoperations?labelSelector=a%3Db',
      },
      { method: 'GET', path: '/api/v1/events' },
    ]);
  });

  test('answered by something that is no Kubernetes API fail as unavailable', async () => {
    const cluster = clusterOver(scriptedTransport([{ status: 200, text: '<html>login</html>' }]));
    await assert.rejects(cluster.list(resources.vm), { reason: 'Unavailable' });
  });

  test('for a kind that is not installed fail instead of finding nothing', async () => {
    const page = { status: 404, text: '404 page not found\n' };
    const cluster = clusterOver(scriptedTransport([page, page]));
    await assert.rejects(cluster.get(resources.vm, 'shop', 'db-0'), { reason: 'NotFound' });
    await assert.rejects(cluster.remove(resources.vm, 'shop', 'db-0'), { reason: 'NotFound' });
  });

  test('without an answer fail as unavailable and are not repeated', async () => {
    const transport = scriptedTransport([new TypeError('fetch failed')]);
    await assert.rejects(clusterOver(transport).create(resources.vmop, 'shop', {}), { reason: 'Unavailable' });
    assert.equal(transport.requests.length, 1);
  });
});
