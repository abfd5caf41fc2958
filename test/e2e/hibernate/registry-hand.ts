import assert from 'node:assert/strict';
import { manifestTypes } from '../../../activities/registry/manifest.ts';

/** A person at the registry itself: neither proxies nor timelines hear of it. */

const accept = manifestTypes.join(', ');

/** Deletes the snapshot of a VM; answers how to put the same one back. */
export async function removeTag(registry: string, vm: string): Promise<() => Promise<void>> {
  const url = `${registry}/v2/${vm}/manifests/hibernate`;
  const found = await fetch(url, { headers: { accept } });
  assert.equal(found.status, 200);
  const [body, type] = [await found.arrayBuffer(), found.headers.get('content-type') ?? ''];
  const deleted = await fetch(url, { method: 'DELETE' });
  assert.equal(deleted.status, 202);
  return async () => {
    const put = await fetch(url, { method: 'PUT', body, headers: { 'content-type': type } });
    assert.equal(put.status, 201);
  };
}
