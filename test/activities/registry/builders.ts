import { createHash } from 'node:crypto';
import assert from 'node:assert/strict';
import { RegistryError, type RegistryEndpoint, type RegistryErrorReason } from '../../../activities/registry/port.ts';
import type { RegistryUnderTest } from '../../stack/registry.ts';

export const repository = 'vk-demo-web-0';

/** Of the registry at this address, without credentials. */
export function endpointAt(url: string, more: Partial<RegistryEndpoint> = {}): RegistryEndpoint {
  return {
    name: 'main',
    url,
    prefix: '',
    credentials: { kind: 'none' },
    tls: { mode: 'ca' },
    allowPlainHttp: true,
    requestTimeoutMs: 5_000,
    ...more,
  };
}

export interface Stored {
  readonly digest: string;
  readonly text: string;
  readonly configDigest: string;
}

export const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** A manifest as an agent writes it; `counter` makes its content another one. */
export function snapshotManifest(counter: number, more: Readonly<Record<string, unknown>> = {}): Stored {
  const config = configText(counter);
  const configDigest = digestOf(config);
  const text = JSON.stringify({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    artifactType: 'application/vnd.cocoonstack.snapshot.v1+json',
    config: {
      mediaType: 'application/vnd.cocoonstack.snapshot.config.v1+json',
      digest: configDigest,
      size: config.length,
    },
    layers: [],
    annotations: {
      'cocoonstack.snapshot.baseimage': 'base:1',
      'org.opencontainers.image.created': '2026-01-02T03:04:05Z',
    },
    ...more,
  });
  return { digest: digestOf(text), text, configDigest };
}

const configText = (counter: number): string => JSON.stringify({ snapshotId: `s-${counter}`, counter });

/** Stores a snapshot as an agent does: blobs first, then the manifest under its tag. */
export async function push(
  registry: RegistryUnderTest,
  tag: string,
  counter = 1,
  { name = repository, ...more }: { readonly name?: string; readonly [key: string]: unknown } = {},
): Promise<Stored> {
  const stored = snapshotManifest(counter, more);
  const send = sender(registry, name);
  const { headers } = await send('POST', '/blobs/uploads/', undefined, 202);
  const place = new URL(headers.get('location') ?? '', registry.url);
  place.searchParams.set('digest', stored.configDigest);
  await send('PUT', place, configText(counter), 201, 'application/octet-stream');
  const { mediaType } = JSON.parse(stored.text) as { mediaType: string };
  await send('PUT', `/manifests/${tag}`, stored.text, 201, mediaType);
  return stored;
}

function sender(registry: RegistryUnderTest, name: string) {
  const basic = `Basic ${Buffer.from(`${registry.user}:${registry.password}`).toString('base64')}`;
  const access = [{ type: 'repository', name, actions: ['pull', 'push', 'delete'] }] as const;
  const authorization = registry.tokens === undefined ? basic : `Bearer ${registry.tokens.issue(access)}`;
  return async (method: string, to: string | URL, body: string | undefined, expected: number, type?: string) => {
    const url = to instanceof URL ? to : new URL(`/v2/${name}${to}`, registry.url);
    const answer = await fetch(url, {
      method,
      headers: { authorization, ...(type === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
    });
    assert.equal(answer.status, expected, await answer.text());
    return answer;
  };
}

/** The refusal that must follow. */
export async function refusal(attempt: Promise<unknown>, reason: RegistryErrorReason): Promise<RegistryError> {
  const error = await attempt.then(
    (answer) => assert.fail(`answered ${JSON.stringify(answer)}`),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof RegistryError, String(error));
  assert.equal(error.reason, reason, error.message);
  return error;
}
