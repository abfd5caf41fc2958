import { createHash, randomUUID } from 'node:crypto';
import { manifestTypes } from '../../../activities/registry/manifest.ts';
import type { Life } from './life.ts';

export interface RegistryAccess {
  /** `http://host:port` */
  readonly url: string;
  /** Stands before every repository; default: nothing. */
  readonly prefix?: string;
  /** Value of the `authorization` header for a repository. */
  readonly authorize?: (repository: string) => string;
}

/** What an agent stores of a guest. */
export interface GuestState {
  readonly vm: string;
  readonly owner: string;
  readonly image: string;
  readonly counter: number;
}

export interface StoredSnapshot {
  readonly digest: string;
  /** Empty: not recorded. */
  readonly baseImage: string;
  readonly configDigest: string;
  readonly layers: readonly string[];
}

/** The registry as agents use it. Every call fails with an Error that says what the registry answered. */
export interface Snapshots {
  /** Blobs first, the manifest last; between the two `beforeManifest`. Answers the digest. */
  push(state: GuestState, tag: string, beforeManifest: () => Promise<void>): Promise<string>;
  /** Undefined: the registry says that there is none. */
  find(vm: string, tag: string): Promise<StoredSnapshot | undefined>;
  /** Reads and checks every blob; answers the guest's counter. */
  pull(vm: string, snapshot: StoredSnapshot): Promise<number>;
  /** Fine when it is gone already. */
  remove(vm: string, tag: string): Promise<void>;
}

const types = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  artifact: 'application/vnd.cocoonstack.snapshot.v1+json',
  config: 'application/vnd.cocoonstack.snapshot.config.v1+json',
  memory: 'application/vnd.cocoonstack.snapshot.memory.v1',
} as const;
const baseImageKey = 'cocoonstack.snapshot.baseimage';

const digestOf = (data: string): string => `sha256:${createHash('sha256').update(data).digest('hex')}`;

/** By this name the registry's log tells agents from others. */
export const agentUserAgent = 'node-agent';

export function createSnapshots(access: RegistryAccess, life: Life, timeoutMs: number): Snapshots {
  const repositoryOf = (vm: string): string => `${access.prefix === undefined ? '' : `${access.prefix}/`}${vm}`;

  async function send(method: string, vm: string, to: string | URL, body?: string, type?: string): Promise<Response> {
    await life.pass();
    const repository = repositoryOf(vm);
    const url = to instanceof URL ? to : new URL(`/v2/${repository}${to}`, access.url);
    const answer = await fetch(url, {
      method,
      headers: {
        'user-agent': agentUserAgent,
        accept: manifestTypes.join(', '),
        ...(access.authorize === undefined ? {} : { authorization: access.authorize(repository) }),
        ...(type === undefined ? {} : { 'content-type': type }),
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (answer.status < 300 || answer.status === 404) return answer;
    throw new Error(`the registry answered ${answer.status} to ${method} ${url.pathname}`);
  }

  async function pushBlob(vm: string, data: string): Promise<{ digest: string; size: number }> {
    const digest = digestOf(data);
    const begun = await send('POST', vm, '/blobs/uploads/');
    const place = new URL(begun.headers.get('location') ?? '', access.url);
    place.searchParams.set('digest', digest);
    expectFound(await send('PUT', vm, place, data, 'application/octet-stream'), 'the upload');
    return { digest, size: Buffer.byteLength(data) };
  }

  async function blob(vm: string, digest: string): Promise<string> {
    const answer = expectFound(await send('GET', vm, `/blobs/${digest}`), `blob ${digest}`);
    const data = await answer.text();
    if (digestOf(data) !== digest) throw new Error(`blob ${digest} has another content`);
    return data;
  }

  return {
    async push({ vm, owner, image, counter }, tag, beforeManifest) {
      const snapshotId = randomUUID();
      const memory = await pushBlob(vm, `memory of ${vm} ${snapshotId}`);
      const config = { snapshotId, hypervisor: 'cloud-hypervisor', image, cpu: 1, memory: memory.size, counter, owner };
      const stored = await pushBlob(vm, JSON.stringify(config));
      await beforeManifest();
      const text = JSON.stringify({
        schemaVersion: 2,
        mediaType: types.manifest,
        artifactType: types.artifact,
        config: { mediaType: types.config, ...stored },
        layers: [{ mediaType: types.memory, ...memory }],
        annotations: {
          ...(image === '' ? {} : { [baseImageKey]: image }),
          'org.opencontainers.image.created': new Date().toISOString(),
        },
      });
      expectFound(await send('PUT', vm, `/manifests/${tag}`, text, types.manifest), 'the repository');
      return digestOf(text);
    },
    async find(vm, tag) {
      const answer = await send('GET', vm, `/manifests/${tag}`);
      const text = await answer.text();
      if (answer.status === 404) {
        if (/"(MANIFEST|NAME)_UNKNOWN"/.test(text)) return undefined;
        throw new Error(`the registry answered 404 without saying what is missing`);
      }
      return snapshotOf(text);
    },
    async pull(vm, { configDigest, layers }) {
      for (const layer of layers) await blob(vm, layer);
      const { counter } = JSON.parse(await blob(vm, configDigest)) as { counter?: number };
      return counter ?? 0;
    },
    async remove(vm, tag) {
      await send('DELETE', vm, `/manifests/${tag}`);
    },
  };
}

function expectFound(answer: Response, what: string): Response {
  if (answer.status === 404) throw new Error(`the registry has not got ${what}`);
  return answer;
}

function snapshotOf(text: string): StoredSnapshot {
  const { artifactType, annotations, config, layers } = JSON.parse(text) as {
    artifactType?: string;
    annotations?: Record<string, string>;
    config?: { digest: string };
    layers?: readonly { digest: string }[];
  };
  if (artifactType !== types.artifact || config === undefined)
    throw new Error('what is stored under the tag is no snapshot');
  return {
    digest: digestOf(text),
    baseImage: annotations?.[baseImageKey] ?? '',
    configDigest: config.digest,
    layers: (layers ?? []).map(({ digest }) => digest),
  };
}
