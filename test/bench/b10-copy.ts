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
import { largestSpread, median, round, spread, type Outcome, type Verdict } from './measure.ts';

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

type Kind = 'raw' | 'vmdk';
type Proof = 'copied' | 'compared';
type Peer = (uri: string) => Promise<unknown>;

/**
 * B10: a half-empty disk to an NBD server, out of a raw file and out of a stream-optimised VMDK, against `nbdcopy` and `qemu-img
 * convert` between the same files. Copied means written and flushed, which is all that they do and what the target is about.
 * Compared is what the product does besides: it reads back what it has written; theirs is followed by `qemu-img compare` then.
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
    const copies = {
      raw: [
        (uri: string) => run(nbdcopy, ['--flush', raw, uri]),
        (uri: string) => qemuImg('convert', '-n', '-f', 'raw', '-O', 'raw', raw, uri),
      ],
      vmdk: [(uri: string) => qemuImg('convert', '-n', '-f', 'vmdk', '-O', 'raw', vmdk, uri)],
    };
    const measure = async (kind: Kind, proof: Proof): Promise<Compared> => {
      const image = kind === 'raw' ? raw : vmdk;
      const peers = copies[kind].map((copy): Peer => async (uri) => {
        await copy(uri);
        if (proof === 'compared') await qemuImg('compare', '-f', kind, '-F', 'raw', image, uri);
      });
      return await compare(dir, raw, { kind, image, capacity, proof }, peers);
    };
    return outcome(capacity, {
      raw: { copied: await measure('raw', 'copied'), compared: await measure('raw', 'compared') },
      vmdk: { copied: await measure('vmdk', 'copied'), compared: await measure('vmdk', 'compared') },
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

interface Order {
  readonly kind: Kind;
  readonly image: string;
  readonly capacity: number;
  readonly proof: Proof;
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

async function copyOurs(dir: string, raw: string, { kind, image, capacity, proof }: Order): Promise<Sample> {
  return await withServer(dir, capacity, async (uri, target) => {
    const socketPath = uri.slice(uri.indexOf('=') + 1);
    const { stdout } = await run(process.execPath, [child, kind, image, socketPath, String(capacity), proof]);
    await assertSameDisk(raw, target);
    return JSON.parse(stdout) as Sample;
  });
}

async function copyTheirs(dir: string, { capacity }: Order, peer: Peer): Promise<number> {
  return await withServer(dir, capacity, async (uri) => {
    const from = performance.now();
    await peer(uri);
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

type All = Readonly<Record<Kind, Readonly<Record<Proof, Compared>>>>;

function outcome(capacity: number, all: All): Outcome {
  const runs = [all.raw, all.vmdk].flatMap(({ copied, compared }) => [copied, compared]);
  const samples = runs.flatMap(({ ours }) => ours);
  const rss = Math.max(...samples.map(({ rssMiB }) => rssMiB));
  const delay = median(samples.map(({ loopDelayP99Ms }) => loopDelayP99Ms));
  const faster = (what: string, run: Compared): Verdict => {
    const ratio = Math.min(...run.peers.map(median)) / median(run.ours.map(({ seconds }) => seconds));
    return { what, measured: round(ratio), unit: '×', target: '>= 0.8', holds: ratio >= 0.8 };
  };
  return {
    name: 'B10 copy of a disk to an NBD server',
    numbers: {
      capacityMiB: capacity / mib,
      raw: { copied: numbersOf(all.raw.copied), compared: numbersOf(all.raw.compared) },
      vmdk: { copied: numbersOf(all.vmdk.copied), compared: numbersOf(all.vmdk.compared) },
    },
    verdicts: [
      faster('raw, the better of nbdcopy and qemu-img', all.raw.copied),
      faster('VMDK, against qemu-img', all.vmdk.copied),
      { what: 'resident memory', measured: round(rss), unit: 'MiB', target: '<= 150', holds: rss <= 150 },
      { what: 'event loop delay p99', measured: round(delay), unit: 'ms', target: '<= 50', holds: delay <= 50 },
      faster('beyond the target: raw read back and compared, against the same and qemu-img compare', all.raw.compared),
      faster(
        'beyond the target: VMDK read back and compared, against the same and qemu-img compare',
        all.vmdk.compared,
      ),
    ],
    inconclusive: runs.flatMap(({ peers }) => peers).some((seconds) => spread(seconds) > largestSpread),
  };
}

/** Medians; seconds of the peers in the order in which they are named above. */
function numbersOf({ ours, peers }: Compared): Readonly<Record<string, unknown>> {
  const middle = (value: (sample: Sample) => number): number => round(median(ours.map(value)));
  return {
    seconds: middle(({ seconds }) => seconds),
    peerSeconds: peers.map((seconds) => round(median(seconds))),
    mbPerS: middle(({ bytes, seconds }) => bytes / 1e6 / seconds),
    cpuSPerGb: middle(({ cpuSPerGb }) => cpuSPerGb),
    rssMiB: middle(({ rssMiB }) => rssMiB),
  };
}
