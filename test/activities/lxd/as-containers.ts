import type { IncusAnswer, IncusRequest, IncusTransport } from '../../../activities/incus/transport.ts';

type Entries = Readonly<Record<string, string>>;
type Devices = Readonly<Record<string, Entries>>;

/** Keys that only virtual machines have, or only newer servers. */
const unknownHere = ['security.csm', 'security.secureboot', 'migration.stateful', 'volatile.uuid.generation'];
const kept = 'user.vm.';

const instances = /^\/1\.0\/instances(\/[^/]+)?$/;
const volumes = /^\/1\.0\/storage-pools\/[^/]+\/volumes\/custom(\/[^/]+)?$/;

/**
 * Where no virtual machine can run, containers stand for them: of the same image, with the configuration that they don't have as keys
 * of a user, and with file systems for their further disks. Everything else goes to the server and comes back as it is. With
 * `blocks`, volumes stay block volumes, which no container can have.
 */
export function asContainers(
  transport: IncusTransport,
  image: string,
  { blocks = false }: { readonly blocks?: boolean } = {},
): IncusTransport {
  return {
    ...transport,
    async send(request) {
      const path = request.path.split('?')[0] ?? '';
      if (instances.test(path))
        return mapped(await transport.send(sentAs(request, (body) => container(body, image))), machine);
      if (!blocks && volumes.test(path)) return mapped(await transport.send(sentAs(request, fileSystem)), blockVolume);
      return await transport.send(request);
    },
  };
}

interface Instance {
  readonly config?: Entries;
  readonly devices?: Devices;
  readonly source?: object;
}

function container(body: Instance, image: string): object {
  return {
    ...body,
    ...('source' in body ? { type: 'container', source: { type: 'image', fingerprint: image } } : {}),
    ...(body.config === undefined
      ? {}
      : { config: renamed(body.config, (key) => (unknownHere.includes(key) ? kept + key : key)) }),
    ...(body.devices === undefined
      ? {}
      : { devices: eachDevice(body.devices, (device) => ({ ...device, path: `/mnt/${device['source']}` })) }),
  };
}

function machine(found: Instance): object {
  return {
    ...found,
    ...(found.config === undefined
      ? {}
      : { config: renamed(found.config, (key) => (key.startsWith(kept) ? key.slice(kept.length) : key)) }),
    ...(found.devices === undefined ? {} : { devices: eachDevice(found.devices, withoutPath) }),
  };
}

const fileSystem = (body: object): object => ('content_type' in body ? { ...body, content_type: 'filesystem' } : body);
const blockVolume = (found: object): object => ('content_type' in found ? { ...found, content_type: 'block' } : found);

const renamed = (config: Entries, name: (key: string) => string): Entries =>
  Object.fromEntries(Object.entries(config).map(([key, value]) => [name(key), value]));

const withoutPath = (device: Entries): Entries =>
  Object.fromEntries(Object.entries(device).filter(([key]) => key !== 'path'));

/** The disks besides the root disk. */
function eachDevice(devices: Devices, change: (device: Entries) => Entries): Devices {
  return Object.fromEntries(
    Object.entries(devices).map(([name, device]) => [name, device['source'] === undefined ? device : change(device)]),
  );
}

function sentAs(request: IncusRequest, change: (body: object) => object): IncusRequest {
  if (request.body === undefined) return request;
  return { ...request, body: JSON.stringify(change(JSON.parse(request.body) as object)) };
}

/** What is read, alone or in a list; answers of changes and lists of URLs stay. */
function mapped(answer: IncusAnswer, change: (found: object) => object): IncusAnswer {
  const envelope = JSON.parse(answer.body.toString('utf8')) as { readonly type: string; readonly metadata: unknown };
  if (envelope.type !== 'sync') return answer;
  const one = (found: unknown): unknown => (typeof found === 'object' && found !== null ? change(found) : found);
  const { metadata } = envelope;
  const changed = Array.isArray(metadata) ? metadata.map(one) : one(metadata);
  return { ...answer, body: Buffer.from(JSON.stringify({ ...envelope, metadata: changed })) };
}
