import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Agent, request } from 'undici';
import type { TargetEndpoint } from '../../activities/incus/port.ts';
import { listenOn } from '../sim/listener.ts';
import { selfSigned } from '../sim/self-signed.ts';
import { waitFor } from '../support/wait-for.ts';
import { tinyImage } from './lxd-image.ts';
import { startProcess, type SupervisedProcess } from './processes.ts';
import { findTool } from './tool.ts';
import { tools } from './tools.ts';

/**
 * Mounts, network and processes of its own: whatever LXD makes of them is gone with it, also when this process is killed, and nothing
 * of it meets what the machine has.
 */
const apart = ['--mount', '--net', '--pid', '--mount-proc', '--fork', '--kill-child=KILL'];
const port = 8443;

/** A real LXD server with the pools `default` and `fast` (of directories) and the managed bridge `incusbr0`. */
export interface Lxd {
  endpoint(more?: Partial<TargetEndpoint>): TargetEndpoint;
  /** Fingerprint of an image for containers. */
  readonly image: string;
  /** A request past the TLS listener, as the administrator; waits for the operation and fails where it does. */
  admin(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<unknown>;
  /** Stops and deletes every instance of every project. */
  removeInstances(): Promise<void>;
  stop(): Promise<void>;
}

/** Why it can't run here; undefined where it can. */
export async function lxdMissing(): Promise<string | undefined> {
  if (process.arch !== 'x64') return 'the container that LXD is to run is a program for x86-64';
  try {
    await promisify(execFile)('unshare', [...apart, 'true']);
    return undefined;
  } catch (error) {
    return `LXD needs namespaces of its own: ${error instanceof Error ? error.message : String(error)}`;
  }
}

export async function startLxd(): Promise<Lxd> {
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-lxd-'));
  const relaySocket = join(dir, 'relay.sock');
  const daemon = await startProcess({
    name: 'lxd',
    command: 'unshare',
    args: [...apart, 'sh', '-c', script, 'sh', await findTool(tools.lxd), relay, relaySocket, String(port)],
    env: { ...process.env, LXD_DIR: dir, NODE: process.execPath },
    ready: (line) => line === 'the relay listens',
  });
  const agent = new Agent({ connect: { socketPath: join(dir, 'unix.socket') } });
  const admin = adminOver(agent);
  const client = selfSigned('vmflow');
  const front = await listenOn(
    createServer((near) => {
      const far = connect(relaySocket);
      near.pipe(far).pipe(near);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.on('error', () => other.destroy());
        one.on('close', () => other.destroy());
      }
    }),
  );
  const stop = async (): Promise<void> => {
    await removeInstances(admin).catch(() => undefined); // they end with it anyway, only their control groups stay
    await front.down();
    await agent.close();
    await end(daemon, dir);
  };
  try {
    await waitFor('LXD to answer', () => admin('GET', '/1.0'));
    await prepare(admin, client.certPem);
    const image = await uploadImage(agent, admin, await tinyImage(dir));
    const { fingerprint256: sha256 } = new X509Certificate(await readFile(join(dir, 'server.crt')));
    return {
      image,
      admin,
      removeInstances: () => removeInstances(admin),
      endpoint: (more = {}) => ({
        name: 'tgt',
        url: `https://127.0.0.1:${front.port}`,
        tls: { mode: 'thumbprint', sha256 },
        clientCert: client.certPem,
        clientKey: client.keyPem,
        connectionTimeoutMs: 30_000,
        ...more,
      }),
      stop,
    };
  } catch (error) {
    await stop();
    throw new Error(`LXD could not be set up. Its last output:\n${daemon.output()}`, { cause: error });
  }
}

const relay = join(import.meta.dirname, 'lxd-relay.ts');

/**
 * What /sys says of network devices is what was there when it was mounted. The shell stays: somebody must take note of the processes
 * whose parents are gone.
 */
const script = `
  set -e
  mkdir "$LXD_DIR/cgroup"
  mount --rbind /sys/fs/cgroup "$LXD_DIR/cgroup"
  mount -t sysfs sysfs /sys
  mount --rbind "$LXD_DIR/cgroup" /sys/fs/cgroup
  umount --recursive "$LXD_DIR/cgroup"
  ip link set lo up
  "$1" --group root &
  "$NODE" "$2" "$3" "$4" &
  wait
`;

function adminOver(agent: Agent): Lxd['admin'] {
  return async (method, path, body) => {
    const answer = await request(`http://lxd${path}`, {
      method,
      dispatcher: agent,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return metadataOf(agent, `${method} ${path}`, (await answer.body.json()) as Envelope);
  };
}

interface Envelope {
  readonly type: 'sync' | 'async' | 'error';
  readonly error?: string;
  readonly operation?: string;
  readonly metadata: unknown;
}

async function metadataOf(
  agent: Agent,
  what: string,
  { type, error, operation, metadata }: Envelope,
): Promise<unknown> {
  if (type === 'error') throw new Error(`${what}: ${error ?? ''}`);
  if (type === 'sync') return metadata;
  const { body } = await request(`http://lxd${operation ?? ''}/wait`, { dispatcher: agent });
  const ended = ((await body.json()) as { readonly metadata: { status_code: number; err: string; metadata: unknown } })
    .metadata;
  if (ended.status_code !== 200) throw new Error(`${what}: ${ended.err}`);
  return ended.metadata;
}

async function prepare(admin: Lxd['admin'], certPem: string): Promise<void> {
  await admin('PUT', '/1.0', {
    config: { 'core.https_address': `127.0.0.1:${port}`, 'images.auto_update_interval': '0' },
  });
  const certificate = certPem.replace(/-----[^-]+-----|\s/g, '');
  await admin('POST', '/1.0/certificates', { type: 'client', name: 'vmflow', certificate });
  for (const name of ['default', 'fast']) await admin('POST', '/1.0/storage-pools', { name, driver: 'dir' });
  const config = { 'ipv4.address': '10.1.0.1/24', 'ipv4.nat': 'false', 'ipv6.address': 'none' };
  await admin('POST', '/1.0/networks', { name: 'incusbr0', type: 'bridge', config });
}

async function uploadImage(agent: Agent, admin: Lxd['admin'], file: string): Promise<string> {
  const { body } = await request('http://lxd/1.0/images', {
    method: 'POST',
    dispatcher: agent,
    headers: { 'content-type': 'application/octet-stream' },
    body: await readFile(file),
  });
  await metadataOf(agent, 'POST of an image', (await body.json()) as Envelope);
  const [url = ''] = (await admin('GET', '/1.0/images')) as string[];
  return url.split('/').at(-1) ?? '';
}

async function removeInstances(admin: Lxd['admin']): Promise<void> {
  const projects = (await admin('GET', '/1.0/projects?recursion=1')) as { readonly name: string }[];
  for (const { name: project } of projects) {
    const all = (await admin('GET', `/1.0/instances?recursion=1&project=${project}`)) as {
      name: string;
      status: string;
    }[];
    for (const { name, status } of all) {
      const path = (more = ''): string => `/1.0/instances/${name}${more}?project=${project}`;
      if (status !== 'Stopped') await admin('PUT', path('/state'), { action: 'stop', timeout: -1, force: true });
      await admin('DELETE', path());
    }
  }
}

async function end(daemon: SupervisedProcess, dir: string): Promise<void> {
  await daemon.kill();
  // Its processes are killed with it, one after the other.
  await waitFor('all of LXD to end', async () => (await readersOf(dir)) === 0);
  await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  await removePivots();
}

/** How many processes have this directory in their environment. */
async function readersOf(dir: string): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) =>
      (await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')).includes(`LXD_DIR=${dir}`),
    ),
  );
  return found.filter(Boolean).length;
}

/** Control groups that LXC leaves behind; those that somebody uses can't be removed. */
async function removePivots(): Promise<void> {
  const root = '/sys/fs/cgroup';
  const places = [
    '',
    ...(await readdir(root, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map(({ name }) => name),
  ];
  for (const place of places) await rmdir(join(root, place, 'lxc.pivot')).catch(() => undefined);
}
