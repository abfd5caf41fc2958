import type { TagFacts } from '../../workflows/domain/hibernate/observation.ts';
import { RegistryError, type CallOptions, type Manifest, type Registry } from './port.ts';

const imageManifest = 'application/vnd.oci.image.manifest.v1+json';
const snapshotTypes = [
  'application/vnd.cocoonstack.snapshot.v1+json',
  'application/vnd.cocoonstack.snapshot.v2+json', // layers in chunks, compressed
];
const annotations = {
  baseImage: 'cocoonstack.snapshot.baseimage',
  created: 'org.opencontainers.image.created',
} as const;

/** What a tag of a VM stands for, in the terms of the decision; a failure to read it is `unknown` with its reason. */
export async function readTag(
  registry: Registry,
  vmName: string,
  tag: string,
  options?: CallOptions,
): Promise<Exclude<TagFacts, { state: 'unread' }>> {
  try {
    const manifest = await registry.manifest(vmName, tag, options);
    return manifest === undefined ? { state: 'absent' } : tagFactsOf(manifest);
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    return { state: 'unknown', reason: error.message };
  }
}

export function tagFactsOf(manifest: Manifest): Extract<TagFacts, { state: 'present' }> {
  const createdAt = timeOf(manifest.annotations[annotations.created]);
  return {
    state: 'present',
    digest: manifest.digest,
    isSnapshot: manifest.mediaType === imageManifest && snapshotTypes.includes(manifest.artifactType ?? ''),
    baseImage: manifest.annotations[annotations.baseImage] ?? '',
    ...(createdAt === undefined ? {} : { createdAt }),
  };
}

function timeOf(text: string | undefined): string | undefined {
  const time = new Date(text ?? '');
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

/**
 * `changed`: another snapshot stands under the tag than the one that was meant. `invalid`: what stands there is no snapshot. Both
 * are left alone.
 */
export type Drop = 'dropped' | 'absent' | 'changed' | 'invalid';

/**
 * Drops a tag of a VM, after another look at what it stands for: registries don't delete conditionally. Without an expected
 * digest any snapshot goes. Fails with `RegistryError`; after one of an unknown effect a repetition finds out.
 */
export async function dropTag(
  registry: Registry,
  vmName: string,
  tag: string,
  expectedDigest?: string,
  options?: CallOptions,
): Promise<Drop> {
  const manifest = await registry.manifest(vmName, tag, options);
  if (manifest === undefined) return 'absent';
  const { digest, isSnapshot } = tagFactsOf(manifest);
  if (!isSnapshot) return 'invalid';
  if (expectedDigest !== undefined && digest !== expectedDigest) return 'changed';
  return (await registry.remove(vmName, tag, options)) ? 'dropped' : 'absent';
}
