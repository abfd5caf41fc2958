import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Manifest, Registry } from '../../../activities/registry/port.ts';
import { dropTag, readTag, tagFactsOf } from '../../../activities/registry/snapshot.ts';

const oci = 'application/vnd.oci.image.manifest.v1+json';
const manifest = (more: Partial<Manifest> = {}): Manifest => ({
  digest: `sha256:${'1'.repeat(64)}`,
  mediaType: oci,
  artifactType: 'application/vnd.cocoonstack.snapshot.v1+json',
  annotations: {},
  layers: [],
  ...more,
});

const kinds: readonly (readonly [what: string, manifest: Manifest, isSnapshot: boolean])[] = [
  ['of version 1', manifest(), true],
  ['of version 2', manifest({ artifactType: 'application/vnd.cocoonstack.snapshot.v2+json' }), true],
  ['of a version that nobody knows', manifest({ artifactType: 'application/vnd.cocoonstack.snapshot.v3+json' }), false],
  ['in an index', manifest({ mediaType: 'application/vnd.oci.image.index.v1+json' }), false],
  ['of another kind', manifest({ artifactType: 'application/vnd.example+json' }), false],
];
for (const [what, one, isSnapshot] of kinds)
  test(`a snapshot ${what}: ${isSnapshot}`, () => assert.equal(tagFactsOf(one).isSnapshot, isSnapshot));

test('a snapshot without a kind is none', () => {
  const { digest, mediaType } = manifest();
  assert.equal(tagFactsOf({ digest, mediaType, annotations: {}, layers: [] }).isSnapshot, false);
});

const created = 'org.opencontainers.image.created';
for (const [text, expected] of [
  ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T05:04:05.678901+02:00', '2026-01-02T03:04:05.678Z'],
  ['yesterday', undefined],
  ['', undefined],
] as const)
  test(`the time of a snapshot "${text}" is read as ${expected ?? 'none'}`, () =>
    assert.equal(tagFactsOf(manifest({ annotations: { [created]: text } })).createdAt, expected));

/** Answers with these manifests, one after the other. */
function registryWith(...manifests: readonly (Manifest | undefined)[]): { registry: Registry; removed: string[] } {
  const left = [...manifests];
  const removed: string[] = [];
  const never = (): never => assert.fail('not called');
  const registry: Registry = {
    manifest: () => Promise.resolve(left.shift()),
    digest: never,
    hasBlob: never,
    ping: never,
    close: never,
    remove: (repository, reference) => Promise.resolve(removed.push(`${repository}:${reference}`) > 0),
  };
  return { registry, removed };
}

test('a tag is dropped by its name: siblings with the same content stay', async () => {
  const { registry, removed } = registryWith(manifest());
  assert.equal(await dropTag(registry, 'vm', 'hibernate', manifest().digest), 'dropped');
  assert.deepEqual(removed, ['vm:hibernate']);
});

for (const [what, stands, expected] of [
  ['gone', undefined, 'absent'],
  ['another snapshot', manifest({ digest: 'sha256:2' }), 'changed'],
  ['no snapshot', manifest({ artifactType: 'x' }), 'invalid'],
] as const)
  test(`nothing is deleted where ${what} stands under the tag`, async () => {
    const { registry, removed } = registryWith(stands);
    assert.equal(await dropTag(registry, 'vm', 'hibernate', manifest().digest), expected);
    assert.deepEqual(removed, []);
  });

test('errors of others are not taken for an answer', async () => {
  const { registry } = registryWith();
  const broken = { ...registry, manifest: () => Promise.reject(new Error('cancelled')) };
  await assert.rejects(readTag(broken, 'vm', 'hibernate'), /cancelled/);
});
