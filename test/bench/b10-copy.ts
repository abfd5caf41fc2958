import { execFile } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { assertSameDisk, qemuImg } from '../stack/qemu-img.ts';
import { startQemuNbd } from '../stack/qemu-nbd.ts';
import { findTool } from '../stack/tool.ts';
import { tools } from '../stack/tools.ts';
import { largestSpread, median, round, spread, type Outcome } from './measure.ts';

const run = promisify(execFile);
const child = fileURLToPath(new URL('./b10-copy-child.ts', import.meta.url));
const mib = 1024 * 1024;

interface Sample {
  readonly seconds: number;
  readonly bytes: number;
  readonly cpuSPerGb: number;
  readonly rssMiB: number;
  readonly loopDelayP99Ms: number;
}

type Peer = (image: string, uri: string) => Promise<unknown>;

/**
 * B10: a half-empty disk to an NBD server, out of a raw file and out of a stream-optimised VMDK, against `nbdcopy` and `qemu-img
 * convert` between the same files. Ours reads back and compares what it has written; they don't.
 */
export async function diskCopy(options: { full: boolean }): Promise<Outcome> {
  const capacity = (options.full ? 4_096 : 1_024) * mib;
  // In memory where there is such a place: what is measured is the copy, not the disk below.
  const dir = await mkdtemp(join('/dev/shm', 'vmflow-bench-'));
  try {
    const raw = join(dir, 'source.raw');
    const vmdk = join(dir, 'source.vmdk');
    await writeHalfEmpty(raw, capacity);
    await qemuImg('convert', '-f', 'raw', '-O', 'vmdk', '-o', 'subformat=streamOptimized', raw, vmdk);
    const nbdcopy = await findTool(tools.nbdcopy);
    const fromRaw = await compare(dir, raw, { kind: 'raw', image: raw, capacity }, [
      (image, uri) => run(nbdcopy, ['--flush', image, uri]),
      (image, uri) => qemuImg('convert', '-n', '-f', 'raw', '-O', 'raw', image, uri),
    ]);
    const fromVmdk = await compare(dir, raw, { kind: 'vmdk', image: vmdk, capacity }, [
      (image, uri) => qemuImg('convert', '-n', '-f', 'vmdk', '-O', 'raw', image, uri),
    ]);
    return outcome(capacity, fromRaw, fromVmdk);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

interface Order {
  readonly kind: 'raw' | 'vmdk';
  readonly image: string;
  readonly capacity: number;
}

interface Compared {
  readonly ours: readonly Sample[];
  /** Seconds, by peer. */
  readonly peers: readonly (readonly number[])[];
}

async function compare(dir: string, raw: string, order: Order, peers: readonly Peer[]): Promise<Compared> {
  const ours: Sample[] = [];
  const seconds = peers.map((): number[] => []);
  for (let turn = 0; turn < 6; turn += 1) {
    const runs = [
      async () => void ours.push(await copyOurs(dir, raw, order)),
      ...peers.map((peer, index) => async () => void seconds[index]?.push(await copyTheirs(dir, order, peer))),
    ];
    for (const one of turn % 2 === 0 ? runs : runs.reverse()) await one();
    // The first turn warms up.
    if (turn === 0) [ours, ...seconds].forEach((samples) => (samples.length = 0));
  }
  return { ours, peers: seconds };
}

async function copyOurs(dir: string, raw: string, { kind, image, capacity }: Order): Promise<Sample> {
  return await withServer(dir, capacity, async (uri, target) => {
    const socketPath = uri.slice(uri.indexOf('=') + 1);
    const { stdout } = await run(process.execPath, [child, kind, image, socketPath, String(capacity)]);
    await assertSameDisk(raw, target);
    return JSON.parse(stdout) as Sample;
  });
}

async function copyTheirs(dir: string, { image, capacity }: Order, peer: Peer): Promise<number> {
  return await withServer(dir, capacity, async (uri) => {
    const from = performance.now();
    await peer(image, uri);
    return (performance.now() - from) / 1_000;
  });
}

/** A server of an empty disk. */
async function withServer<T>(
  dir: string,
  capacity: number,
  work: (uri: string, image: string) => Promise<T>,
): Promise<T> {
  const image = join(dir, 'target.raw');
  await writeFile(image, '');
  await truncate(image, capacity);
  const server = await startQemuNbd({ dir, image, clients: 4 });
  try {
    return await work(server.uri, image);
  } finally {
    await server.stop();
    await rm(image);
  }
}

/** Data and nothing by turns, 16 MiB each; half of the data can be compressed to a half. */
async function writeHalfEmpty(path: string, capacity: number): Promise<void> {
  const file = await open(path, 'w');
  const data = Buffer.alloc(16 * mib);
  for (let at = 0; at < capacity; at += 2 * data.length) {
    for (let part = 0; part < data.length; part += mib)
      randomFillSync(data, part, (part / mib) % 2 === 0 ? mib : mib / 2);
    await file.write(data, 0, data.length, at);
  }
  await file.close();
  await truncate(path, capacity);
}

function outcome(capacity: number, fromRaw: Compared, fromVmdk: Compared): Outcome {
  const ratio = ({ ours, peers }: Compared): number =>
    Math.min(...peers.map(median)) / median(ours.map(({ seconds }) => seconds));
  const all = [...fromRaw.ours, ...fromVmdk.ours];
  const rss = Math.max(...all.map(({ rssMiB }) => rssMiB));
  const delay = median(all.map(({ loopDelayP99Ms }) => loopDelayP99Ms));
  const speed = ({ ours }: Compared): number => round(median(ours.map(({ bytes, seconds }) => bytes / 1e6 / seconds)));
  const cpu = ({ ours }: Compared): number => round(median(ours.map(({ cpuSPerGb }) => cpuSPerGb)));
  const [raw, vmdk] = [ratio(fromRaw), ratio(fromVmdk)];
  return {
    name: 'B10 copy of a disk to an NBD server',
    numbers: {
      capacityMiB: capacity / mib,
      ...{ rawMbPerS: speed(fromRaw), vmdkMbPerS: speed(fromVmdk) },
      ...{ rawCpuSPerGb: cpu(fromRaw), vmdkCpuSPerGb: cpu(fromVmdk) },
      rawSeconds: {
        ours: round(median(fromRaw.ours.map(({ seconds }) => seconds))),
        peers: fromRaw.peers.map(median).map((s) => round(s)),
      },
      vmdkSeconds: {
        ours: round(median(fromVmdk.ours.map(({ seconds }) => seconds))),
        peers: fromVmdk.peers.map(median).map((s) => round(s)),
      },
    },
    verdicts: [
      {
        what: 'raw, the better of nbdcopy and qemu-img',
        measured: round(raw),
        unit: '×',
        target: '>= 0.8',
        holds: raw >= 0.8,
      },
      { what: 'VMDK, against qemu-img', measured: round(vmdk), unit: '×', target: '>= 0.8', holds: vmdk >= 0.8 },
      { what: 'resident memory', measured: round(rss), unit: 'MiB', target: '<= 150', holds: rss <= 150 },
      { what: 'event loop delay p99', measured: round(delay), unit: 'ms', target: '<= 50', holds: delay <= 50 },
    ],
    inconclusive: [...fromRaw.peers, ...fromVmdk.peers].some((samples) => spread(samples) > largestSpread),
  };
}
