import { createHash } from 'node:crypto';

/** R6: something under a tag that is no snapshot of a VM, as somebody with an OCI client puts it there. Answers its digest. */
export async function putForeign(url: string, repository: string, tag: string): Promise<string> {
  const config = '{}';
  const configDigest = digestOf(config);
  const begun = await send('POST', new URL(`/v2/${repository}/blobs/uploads/`, url));
  const place = new URL(begun.headers.get('location') ?? '', url);
  place.searchParams.set('digest', configDigest);
  await send('PUT', place, config, 'application/octet-stream');
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const text = JSON.stringify({
    schemaVersion: 2,
    mediaType,
    artifactType: 'application/vnd.example.recipe',
    config: { mediaType: 'application/vnd.oci.empty.v1+json', digest: configDigest, size: config.length },
    layers: [],
    annotations: { 'org.opencontainers.image.created': new Date().toISOString() },
  });
  await send('PUT', new URL(`/v2/${repository}/manifests/${tag}`, url), text, mediaType);
  return digestOf(text);
}

/** Somebody takes a tag away. Through a proxy that is recorded, this is told to the timeline. */
export async function deleteTag(url: string, repository: string, tag: string): Promise<void> {
  await send('DELETE', new URL(`/v2/${repository}/manifests/${tag}`, url));
}

async function send(method: string, url: URL, body?: string, type?: string): Promise<Response> {
  const headers = { 'user-agent': 'somebody', ...(type === undefined ? {} : { 'content-type': type }) };
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  if (!answer.ok) throw new Error(`The registry answered ${answer.status} to ${method} ${url.pathname}.`);
  return answer;
}

const digestOf = (data: string): string => `sha256:${createHash('sha256').update(data).digest('hex')}`;
