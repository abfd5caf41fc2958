import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { parseConfig } from '../../../activities/config.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import type { ConfigFile } from '../../../activities/schemas/config.ts';
import { shutdown } from '../../../workers/process.ts';
import { parseAddress, readSettings, type ProcessKind } from '../../../workers/settings.ts';
import {
  deployDir,
  kustomized,
  ofKind,
  overlays,
  type Container,
  type Manifest,
  type PodTemplate,
  type Selector,
  type Volume,
} from './kustomized.ts';
import { filesNamedIn, namesRead, secondsOf, uncommented } from './what-is-read.ts';

const kinds: readonly ProcessKind[] = ['bridge', 'control', 'transfer'];
const built = new Map<string, readonly Manifest[]>();

before(async () => {
  for (const overlay of overlays) built.set(overlay, await kustomized(`overlays/${overlay}`));
});

interface Deployed {
  readonly manifests: readonly Manifest[];
  readonly pod: PodTemplate;
  readonly container: Container;
}

function deployed(overlay: string, kind: ProcessKind): Deployed {
  const manifests = built.get(overlay)!;
  const deployment = ofKind(manifests, 'Deployment').find(({ metadata }) => metadata.name === `vmflow-${kind}`)!;
  const pod = deployment.spec.template;
  return { manifests, pod, container: pod.spec.containers[0] };
}

function mapNamed(manifests: readonly Manifest[], name: string | undefined): Readonly<Record<string, string>> {
  const map = ofKind(manifests, 'ConfigMap').find(({ metadata }) => metadata.name === name);
  assert.ok(map, `there is a ConfigMap ${name ?? ''}`);
  return map.data;
}

function environmentOf({ manifests, container }: Deployed): Readonly<Record<string, string>> {
  const maps = container.envFrom.map(({ configMapRef }) => mapNamed(manifests, configMapRef.name));
  const own = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
  return { ...Object.assign({}, ...maps), ...own } as Record<string, string>;
}

/** The volume that a path lies in, and the rest of the path. */
function volumeAt({ pod, container }: Deployed, path: string): { readonly volume: Volume; readonly rest: string } {
  const mount = container.volumeMounts.find(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`));
  assert.ok(mount, `something is mounted for ${path}`);
  const volume = pod.spec.volumes.find(({ name }) => name === mount.name);
  assert.ok(volume, `there is a volume ${mount.name}`);
  return { volume, rest: path.slice(mount.mountPath.length + 1) };
}

function configurationOf(it: Deployed): string {
  const { volume, rest } = volumeAt(it, readSettings('bridge', environmentOf(it)).configPath);
  return mapNamed(it.manifests, volume.configMap?.name)[rest] ?? assert.fail(`the ConfigMap has no ${rest}`);
}

const portNamed = ({ container }: Deployed, name: string): number | undefined =>
  container.ports.find((port) => port.name === name)?.containerPort;

function matches(selector: Selector, labels: Readonly<Record<string, string>>): boolean {
  return (
    Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
    (selector.matchExpressions ?? []).every(({ key, values }) => values.includes(labels[key] ?? ''))
  );
}

for (const overlay of overlays) {
  for (const kind of kinds) {
    describe(`${kind} of the overlay ${overlay}`, () => {
      let it: Deployed;
      before(() => {
        it = deployed(overlay, kind);
      });

      test('is started by a file that the build makes', () => {
        assert.deepEqual(it.container.command, ['node', `dist/workers/${kind}.js`]);
        assert.ok(existsSync(join(deployDir, `../${kind}.ts`)));
      });

      test('is given no variable that the code does not read', () => {
        const read = new Set([
          ...namesRead((env) => readSettings(kind, env)),
          ...namesRead((overrideEnvVars) => loadClientConnectConfig({ overrideEnvVars, disableFile: true })),
        ]);
        assert.deepEqual(
          Object.keys(environmentOf(it)).filter((name) => !read.has(name)),
          [],
        );
      });

      test('is probed where it serves its health', () => {
        const { host, port } = readSettings(kind, environmentOf(it)).healthAddress;
        assert.deepEqual([host, port], ['0.0.0.0', portNamed(it, 'health')]);
        assert.equal(port, readSettings(kind, {}).healthAddress.port);
        const { startupProbe, livenessProbe, readinessProbe } = it.container;
        const asked = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet);
        assert.deepEqual(asked, [
          { path: '/livez', port: 'health' },
          { path: '/livez', port: 'health' },
          { path: '/readyz', port: 'health' },
        ]);
      });

      test('finds its configuration, and the secrets that this may name', () => {
        const text = configurationOf(it);
        const file: ConfigFile = parseConfig(text, 'vmflow.yaml');
        assert.deepEqual(file.cluster?.kubeconfig, undefined);
        const filled = parseConfig(uncommented(text), 'vmflow.yaml');
        assert.deepEqual(
          [filled.vcenters, filled.registries, filled.targets].map((part) => Object.keys(part)),
          [['main'], ['snapshots'], ['lab']],
        );
        const files = filesNamedIn(filled);
        assert.equal(files.length, 6);
        for (const path of files) assert.ok(volumeAt(it, path).volume.secret, `${path} is a secret`);
      });

      test('finds the files that it is to know Temporal by', () => {
        const paths = Object.entries(environmentOf(it)).filter(([name]) => /^TEMPORAL_.*_PATH$/.test(name));
        assert.equal(paths.length, overlay === 'ha' ? 3 : 0);
        for (const [name, path] of paths) assert.ok(volumeAt(it, path).volume.secret, name);
      });

      test('is given the time to end', () => {
        const { terminationGracePeriodSeconds: grace } = it.pod.spec;
        const pause = it.container.lifecycle?.preStop.sleep.seconds ?? 0;
        // The bridge answers for 2 s more, and then what it has begun.
        const ownS = kind === 'bridge' ? 2 : secondsOf(shutdown.force);
        assert.ok(grace > pause + ownS, `${grace} > ${pause} + ${ownS}`);
      });

      test('writes only where it is mounted a place, and has an account only where it asks the cluster', () => {
        const { spec } = it.pod;
        assert.equal(it.container.securityContext['readOnlyRootFilesystem'], true);
        const places = spec.volumes.filter(({ emptyDir }) => emptyDir !== undefined).map(({ name }) => name);
        const mounts = it.container.volumeMounts.filter(({ name }) => places.includes(name));
        const { cacheDir } = parseConfig(configurationOf(it), 'vmflow.yaml');
        const wanted = kind === 'transfer' ? ['/tmp', cacheDir] : ['/tmp'];
        assert.deepEqual(mounts.map(({ mountPath }) => mountPath).sort(), wanted.sort());
        assert.ok(it.container.volumeMounts.every(({ name, readOnly }) => places.includes(name) || readOnly === true));
        const accounts = ofKind(it.manifests, 'ServiceAccount').map(({ metadata }) => metadata.name);
        assert.ok(accounts.includes(spec.serviceAccountName));
        assert.equal(spec.automountServiceAccountToken, kind !== 'transfer');
      });
    });
  }

  describe(`the overlay ${overlay}`, () => {
    test('leads the webhook from its Service to where the bridge listens', () => {
      const it = deployed(overlay, 'bridge');
      const { webhook } = parseConfig(configurationOf(it), 'vmflow.yaml');
      const [service] = ofKind(it.manifests, 'Service');
      const { port, host } = parseAddress('listen', webhook!.listen);
      assert.equal(host, '0.0.0.0');
      assert.deepEqual([port, port], [portNamed(it, 'webhook'), service!.spec.ports[0]?.targetPort]);
      assert.ok(matches({ matchLabels: service!.spec.selector ?? {} }, it.pod.metadata.labels));
      assert.deepEqual(
        [service!.metadata.namespace, service!.metadata.name],
        Object.values(webhook!.service).slice(0, 2),
      );
    });

    test('has budgets and policies that mean Pods which are there, and ports which these have', () => {
      const pods = kinds.map((kind) => deployed(overlay, kind));
      const meant = (selector: Selector): readonly Deployed[] =>
        pods.filter(({ pod }) => matches(selector, pod.metadata.labels));
      const { manifests } = pods[0]!;
      const budgets = ofKind(manifests, 'PodDisruptionBudget').map(({ spec }) => meant(spec.selector));
      assert.deepEqual(
        budgets,
        pods.map((one) => [one]),
      );
      for (const { metadata, spec } of ofKind(manifests, 'NetworkPolicy')) {
        assert.notDeepEqual(meant(spec.podSelector), [], metadata.name);
        for (const { port } of (spec.ingress ?? []).flatMap(({ ports }) => ports))
          assert.ok(
            meant(spec.podSelector).every((one) => portNamed(one, port) !== undefined),
            metadata.name,
          );
      }
    });

    test('has a label on everything that is removed by it, and no other kinds that stay', () => {
      const labelled = built.get(overlay)!.filter(({ kind }) => kind !== 'CustomResourceDefinition');
      for (const { kind, metadata } of labelled)
        assert.equal(metadata.labels?.['app.kubernetes.io/part-of'], 'vmflow', `${kind} ${metadata.name}`);
      const ofCluster = labelled.filter(({ metadata }) => metadata.namespace === undefined).map(({ kind }) => kind);
      assert.deepEqual([...new Set(ofCluster)].sort(), [
        ...['ClusterRole', 'ClusterRoleBinding', 'Namespace', 'PriorityClass', 'ValidatingWebhookConfiguration'],
      ]);
    });

    test('names its image in one place, as one that nobody has', () => {
      const images = kinds.map((kind) => deployed(overlay, kind).container.image);
      assert.deepEqual([...new Set(images)], ['registry.example/replace-me/vmflow:replace-me']);
    });
  });
}

test('the overlay ha leaves the definitions of VMs to the cluster, single brings them', () => {
  const groups = (overlay: string): readonly string[] => {
    const definitions = built.get(overlay)!.filter(({ kind }) => kind === 'CustomResourceDefinition');
    return [...new Set(definitions.map(({ metadata }) => metadata.name.replace(/^[^.]+\./, '')))].sort();
  };
  const [vms, below, sets] = [resources.vm.group, resources.machine.group, resources.set.group];
  assert.deepEqual([groups('single'), groups('ha')], [[sets, below, vms], [sets]]);
});

test('the overlay ha has more than one of each, each on a node of its own; single has one', () => {
  const replicas = (overlay: string): readonly number[] =>
    ofKind(built.get(overlay)!, 'Deployment').map(({ spec }) => spec.replicas);
  assert.deepEqual(
    [replicas('single'), replicas('ha')],
    [
      [1, 1, 1],
      [2, 2, 3],
    ],
  );
  for (const kind of kinds) {
    const { affinity, ...rest } = deployed('ha', kind).pod.spec;
    assert.ok(affinity, rest.serviceAccountName);
    for (const { topologyKey, labelSelector } of affinity.podAntiAffinity
      .requiredDuringSchedulingIgnoredDuringExecution) {
      assert.equal(topologyKey, 'kubernetes.io/hostname');
      const like = kinds.filter((one) => matches(labelSelector, deployed('ha', one).pod.metadata.labels));
      assert.deepEqual(like, [kind]);
    }
  }
});
