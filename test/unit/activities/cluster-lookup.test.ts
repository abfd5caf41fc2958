import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { clusterEndpoint } from '../../../activities/lookup/cluster-endpoint.ts';
import { pageOf, vmInfo, vmopInfo } from '../../../activities/lookup/cluster-info.ts';
import { needs, setNeeds, type Need } from '../../../activities/lookup/cluster-access.ts';
import { createConfig, parseConfig } from '../../../activities/config.ts';
import { lookupProblem } from '../../../workflows/lookup/request-shape.ts';
import { bridgeNeeds } from '../../support/bridge-needs.ts';

const metadata = {
  name: 'db-0-stop',
  namespace: 'shop',
  uid: 'u1',
  resourceVersion: '7',
  creationTimestamp: '2026-03-01T10:00:00Z',
};

function vmop(phase: string | undefined, reason: string, over: Partial<KubeObject['metadata']> = {}): KubeObject {
  const condition = {
    type: 'Completed',
    status: 'True',
    reason,
    message: 'why',
    lastTransitionTime: '2026-03-01T10:05:00Z',
  };
  return {
    metadata: { ...metadata, ...over },
    spec: { type: 'Stop', virtualMachineName: 'db-0' },
    ...(phase === undefined ? {} : { status: { phase, conditions: [condition] } }),
  };
}

test('case/01 an operation that was taken over is Superseded whatever phase the configuration gives it', () => {
  const annotations = { 'vmflow.dev/superseded-by': 'db-0-stop-2/u2', 'vmflow.dev/reason': 'patching' };
  for (const phase of ['Completed', 'Superseded']) {
    const info = vmopInfo(vmop(phase, 'Superseded', { annotations }));
    assert.deepEqual(
      [info.phase, info.reason, info.supersededBy, info.why, info.endedAt],
      ['Superseded', 'Superseded', { name: 'db-0-stop-2', uid: 'u2' }, 'patching', '2026-03-01T10:05:00.000Z'],
    );
  }
  assert.equal(vmopInfo(vmop('Completed', 'OperationCompleted')).phase, 'Completed');
});

test('what an active operation lacks is left out', () => {
  assert.deepEqual(vmopInfo(vmop(undefined, '')), {
    ...{ namespace: 'shop', name: 'db-0-stop', uid: 'u1', vmName: 'db-0', type: 'Stop', supersedes: [] },
    createdAt: '2026-03-01T10:00:00.000Z',
  });
  const running = vmopInfo(vmop('InProgress', 'StopInProgress'));
  assert.deepEqual([running.phase, running.endedAt], ['InProgress', undefined]);
});

test('a VM that is being deleted is Terminating; changes that wait for a restart are told', () => {
  const status = { phase: 'Running', nodeName: 'node-1', restartAwaitingChanges: [{}] };
  const vm = { metadata: { ...metadata, deletionTimestamp: '2026-03-01T11:00:00Z' }, status };
  assert.deepEqual([vmInfo(vm).phase, vmInfo(vm).nodeName, vmInfo(vm).restartPending], ['Terminating', 'node-1', true]);
});

test('pages are at most 100 KB, in one order, and together they are everything once', () => {
  const all = Array.from({ length: 5_000 }, (_, i) => ({
    namespace: `n${String(i % 7)}`,
    name: `vm-${String((i * 7919) % 5_000).padStart(4, '0')}`,
    filling: 'x'.repeat(i % 90),
  }));
  const seen: string[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < 100; pages++) {
    const page = pageOf(all, after);
    assert.ok(JSON.stringify(page.items).length <= 100_000);
    seen.push(...page.items.map(({ namespace, name }) => `${namespace}/${name}`));
    assert.equal(page.truncated, page.next !== undefined);
    if (page.next === undefined) break;
    after = page.next;
  }
  assert.deepEqual(seen, all.map(({ namespace, name }) => `${namespace}/${name}`).sort());
  assert.equal(pageOf([{ namespace: 'n', name: 'big', filling: 'x'.repeat(200_000) }]).items.length, 1);
});

test('the role for one account gives what workers and bridge need', async () => {
  const text = await readFile(new URL('../../../workers/deploy/rbac/vmflow.yaml', import.meta.url), 'utf8');
  const role = parseAllDocuments(text)
    .map((document) => document.toJS() as { kind: string; rules: readonly Rule[] })
    .find(({ kind }) => kind === 'ClusterRole');
  const named: readonly (Need & { readonly name?: string })[] = [...needs, ...setNeeds, ...bridgeNeeds];
  for (const { resource, subresource, name, verbs } of named) {
    const plural = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
    for (const verb of verbs) {
      const isGiven = role?.rules.some(
        (rule) =>
          rule.apiGroups.includes(resource.group) &&
          rule.resources.includes(plural) &&
          rule.verbs.includes(verb) &&
          (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name))),
      );
      assert.ok(isGiven, `${verb} ${plural}`);
    }
  }
});

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

test('the cluster is an endpoint where one is configured: of a Pod, or of a kubeconfig', async () => {
  const config = (text: string) => createConfig(parseConfig(text, 'vmflow.yaml'), 'vmflow.yaml');
  assert.equal(await clusterEndpoint(config('{}')), undefined);
  const pod = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
  assert.equal((await clusterEndpoint(config('cluster: {}'), pod))?.url, 'https://[fd00::1]:6443');
  await assert.rejects(
    clusterEndpoint(config('cluster: { kubeconfig: /nope }')),
    /can't read the kubeconfig \/nope on this worker/,
  );
});

const questions: readonly [object, boolean][] = [
  [{ what: 'vms' }, true],
  [{ what: 'vms', namespace: 'shop', selector: 'a=b', name: 'x', after: 'a/b' }, true],
  [{ what: 'vms', namespace: 7 }, false],
  [{ what: 'vm', namespace: 'shop', name: 'db-0' }, true],
  [{ what: 'vm', name: 'db-0' }, false],
  [{ what: 'vmops', vmName: 'db-0' }, true],
  [{ what: 'vmop', nameOrUid: 'x' }, true],
  [{ what: 'vmop' }, false],
];
test('questions about the cluster have a shape', () => {
  for (const [question, isOne] of questions)
    assert.equal(lookupProblem(question) === undefined, isOne, JSON.stringify(question));
});
