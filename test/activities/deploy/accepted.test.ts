import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { needs, setNeeds, type Need } from '../../../activities/lookup/cluster-access.ts';
import { ensureConfiguration } from '../../../workers/bridge/webhook-configuration.ts';
import { selfSigned } from '../../sim/self-signed.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { bridgeNeeds } from '../../support/bridge-needs.ts';
import { connect } from '../kubernetes/builders.ts';
import { applyOne, applyStrictly } from './applied.ts';
import { deployDir, kustomized, ofKind, overlays, type Manifest, type PodTemplate } from './kustomized.ts';

let kubernetes: KubernetesUnderTest;
const built = new Map<string, readonly Manifest[]>();

before(async () => {
  for (const overlay of overlays) built.set(overlay, await kustomized(`overlays/${overlay}`));
  kubernetes = await startKubernetes({ bare: true });
});
after(() => kubernetes.stop());

const objectsOf = (overlay: string): readonly Manifest[] => built.get(overlay)!;

/** Answer to a dry run of a Pod in the namespace of the overlays. */
async function createPod({ metadata, spec }: PodTemplate, over: object = {}): Promise<[status: number, text: string]> {
  const pod = { metadata: { ...metadata, generateName: 'pod-' }, spec: { ...spec, ...over } };
  const path = '/api/v1/namespaces/vmflow/pods?dryRun=All&fieldValidation=Strict';
  const { status, body } = await kubernetes.admin.send('POST', path, pod);
  return [status, status === 201 ? '' : JSON.stringify(body)];
}

for (const overlay of overlays) {
  describe(`the overlay ${overlay}`, () => {
    before(() => applyStrictly(kubernetes.admin, objectsOf(overlay)));

    test('is accepted by the API server, and once more over itself', async () => {
      await applyStrictly(kubernetes.admin, objectsOf(overlay));
    });

    test('makes Pods that a namespace under "restricted" takes', async () => {
      const deployments = ofKind(objectsOf(overlay), 'Deployment');
      assert.deepEqual(deployments.map(({ metadata }) => metadata.name).sort(), [
        'vmflow-bridge',
        'vmflow-control',
        'vmflow-transfer',
      ]);
      for (const { metadata, spec } of deployments)
        assert.deepEqual(await createPod(spec.template), [201, ''], metadata.name);
    });

    test('leaves the certificates that bridges have published when it is applied again', async () => {
      const cluster = connect(kubernetes, 'admin');
      const service = { namespace: 'vmflow', name: 'vmflow-bridge', path: '/admit', port: 443 };
      const trust = selfSigned().certPem;
      await ensureConfiguration(cluster, { target: { service }, timeoutSeconds: 2, trust });
      await applyStrictly(kubernetes.admin, objectsOf(overlay));
      assert.equal(await ensureConfiguration(cluster, { target: { service }, timeoutSeconds: 2, trust }), false);
      await cluster.close();
    });
  });
}

test('a Pod that asks for more than "restricted" gives is refused', async () => {
  const { template } = ofKind(objectsOf('single'), 'Deployment')[0]!.spec;
  const [container] = template.spec.containers;
  const changed = (more: object): object => ({
    containers: [{ ...container, securityContext: { ...container.securityContext, ...more } }],
  });
  for (const more of [{ allowPrivilegeEscalation: true }, { capabilities: { add: ['NET_ADMIN'] } }, { runAsUser: 0 }]) {
    const [status, text] = await createPod(template, changed(more));
    assert.equal(status, 403, JSON.stringify(more));
    assert.match(text, /violates PodSecurity \\"restricted:latest\\"/);
  }
});

test('a field that the API does not know is refused', async () => {
  const account = ofKind(objectsOf('single'), 'ServiceAccount')[0]!;
  const { body } = await applyOne(kubernetes.admin, { ...account, mountToken: false });
  assert.match(JSON.stringify(body), /\.mountToken: field not declared in schema/);
});

test('the ways to the far sides are added by an overlay that names them, and accepted', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-overlays-'));
  try {
    await cp(deployDir, dir, { recursive: true });
    for (const overlay of overlays) {
      const file = join(dir, 'overlays', overlay, 'kustomization.yaml');
      const text = await readFile(file, 'utf8');
      await writeFile(file, text.replace('# components:\n#   - ', 'components:\n  - '));
      const before = new Set(objectsOf(overlay).map(({ kind, metadata }) => `${kind} ${metadata.name}`));
      const more = (await kustomized(`overlays/${overlay}`, dir)).filter(
        ({ kind, metadata }) => !before.has(`${kind} ${metadata.name}`),
      );
      assert.deepEqual(more.map(({ metadata }) => metadata.name).sort(), [
        'vmflow-far-sides-control',
        'vmflow-far-sides-transfer',
      ]);
      await applyStrictly(kubernetes.admin, more);
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

type NamedNeed = Need & { readonly name?: string };
const needsOf: Readonly<Record<string, readonly NamedNeed[]>> = {
  'vmflow-bridge': bridgeNeeds,
  'vmflow-control': [...needs, ...setNeeds],
  'vmflow-transfer': [],
};

/** The API server's own authorizer, of one account and one verb. */
async function mayDo(account: string, { resource, subresource, name }: NamedNeed, verb: string): Promise<boolean> {
  const resourceAttributes = { verb, group: resource.group, resource: resource.plural, subresource, name };
  const groups = ['system:authenticated', 'system:serviceaccounts', 'system:serviceaccounts:vmflow'];
  const { body } = await kubernetes.admin.send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    spec: { user: `system:serviceaccount:vmflow:${account}`, groups, resourceAttributes },
  });
  return (body as { readonly status: { readonly allowed: boolean } }).status.allowed;
}

/** Each single right that the objects give to the account, as `patch group/resource/subresource name`. */
function givenTo(account: string, manifests: readonly Manifest[]): readonly string[] {
  const roles = ofKind(manifests, 'ClusterRoleBinding')
    .filter(({ subjects }) => subjects.some(({ name, namespace }) => `${namespace}/${name}` === `vmflow/${account}`))
    .map(({ roleRef }) => roleRef.name);
  const rules = ofKind(manifests, 'ClusterRole')
    .filter(({ metadata }) => roles.includes(metadata.name))
    .flatMap((role) => role.rules);
  const rights = rules.flatMap(({ apiGroups, resources, resourceNames = [''], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        resourceNames.flatMap((name) => verbs.map((verb) => `${verb} ${group}/${resource} ${name}`)),
      ),
    ),
  );
  return [...new Set(rights)].sort();
}

function asRights(wanted: readonly NamedNeed[]): readonly string[] {
  const rights = wanted.flatMap(({ resource: { group, plural }, subresource, name = '', verbs }) =>
    verbs.map((verb) => `${verb} ${group}/${plural}${subresource === undefined ? '' : `/${subresource}`} ${name}`),
  );
  return [...new Set(rights)].sort();
}

describe('the account', () => {
  for (const [account, wanted] of Object.entries(needsOf)) {
    test(`${account} may do what its process does`, async () => {
      for (const need of wanted)
        for (const verb of need.verbs)
          assert.ok(await mayDo(account, need, verb), `${verb} ${need.resource.plural}/${need.subresource ?? ''}`);
    });

    test(`${account} may do nothing else`, async () => {
      for (const overlay of overlays) assert.deepEqual(givenTo(account, objectsOf(overlay)), asRights(wanted));
      const others = Object.values(needsOf).flat();
      const own = asRights(wanted);
      for (const need of others)
        for (const verb of need.verbs.filter((one) => !own.includes(asRights([{ ...need, verbs: [one] }])[0]!)))
          assert.equal(await mayDo(account, need, verb), false, `${verb} ${need.resource.plural}`);
    });
  }

  test('vmflow-bridge may touch no webhook but its own', async () => {
    const own = bridgeNeeds.find(({ name }) => name !== undefined)!;
    for (const verb of own.verbs)
      assert.equal(await mayDo('vmflow-bridge', { ...own, name: 'of-somebody-else' }, verb), false, verb);
  });
});
