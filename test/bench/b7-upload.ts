import { execFile, spawn } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createVSphere } from '../../activities/vsphere/vsphere-adapter.ts';
import type { LeaseDeviceUrl, VCenterEndpoint, VSphereSession } from '../../activities/vsphere/port.ts';
import { startVcsim } from '../stack/vcsim.ts';
import { ovfDescriptor } from '../support/ovf-descriptor.ts';
import { vmdkHead } from '../support/vmdk-builder.ts';
import { largestSpread, median, round, spread, type Outcome } from './measure.ts';

const run = promisify(execFile);
const child = fileURLToPath(new URL('./b7-upload-child.ts', import.meta.url));
const password = 'bench';

type How = 'ours' | 'pipeline' | 'pipeline-sha1';
interface Sample {
  readonly mbPerS: number;
  readonly cpuSPerGb: number;
  readonly rssGrowthMiB: number;
  readonly loopDelayP99Ms: number;
}

/** B7 (a): one large disk to the NFC endpoint, against Node's own pipeline and curl of the same file to the same address. */
export async function upload(options: { full: boolean }): Promise<Outcome> {
  const size = options.full ? 2_000_000_000 : 500_000_000;
  const rounds = 5;
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-bench-'));
  const vcsim = await startVcsim({ password, inventory: { vm: 0 } });
  const endpoint: VCenterEndpoint = {
    name: 'bench',
    url: vcsim.url,
    user: vcsim.username,
    password,
    tls: { mode: 'thumbprint', sha256: vcsim.sha256 },
  };
  const vsphere = createVSphere({ allowInsecureTls: false });
  const session = await vsphere.open(endpoint);
  try {
    const path = join(dir, 'disk.vmdk');
    await writeDisk(path, size);
    const device = await openLease(session);
    const samples: Record<How, Sample[]> = { ours: [], pipeline: [], 'pipeline-sha1': [] };
    const curl: number[] = [];
    const one = async (how: How): Promise<void> =>
      void samples[how].push(await inChild({ how, endpoint, device, path, size }));
    await one('ours');
    samples.ours.length = 0;
    for (let i = 0; i < rounds; i++) {
      const order: How[] = ['ours', 'pipeline', 'pipeline-sha1'];
      for (const how of i % 2 === 0 ? order : order.reverse()) await one(how);
      curl.push(await withCurl(device.url, path, size));
    }
    return outcome(size, samples, curl);
  } finally {
    await session.close();
    await vsphere.close();
    await vcsim.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

/** Begins like a stream-optimised disk; the rest is pseudo-random so that nothing on the way compresses it. */
async function writeDisk(path: string, size: number): Promise<void> {
  const file = await open(path, 'w');
  const head = vmdkHead({ capacityBytes: 4 * 1024 ** 3 });
  await file.write(head);
  const block = Buffer.alloc(1024 * 1024);
  for (let i = 0; i < block.length; i += 4) block.writeUInt32LE((i * 2654435761) >>> 0, i);
  for (let at = head.length; at < size; at += block.length)
    await file.write(block, 0, Math.min(block.length, size - at));
  await file.close();
}

/** A lease whose address takes the same upload any number of times. */
async function openLease(session: VSphereSession): Promise<LeaseDeviceUrl> {
  const must = async (path: string) => {
    const ref = await session.findByInventoryPath(path);
    if (ref === undefined) throw new Error(`no ${path}`);
    return ref;
  };
  const pool = await must('/DC0/host/DC0_C0/Resources');
  const host = await must('/DC0/host/DC0_C0/DC0_C0_H0');
  const descriptor = ovfDescriptor({ name: 'bench', disks: [{ href: 'disk.vmdk', size: 1 }] });
  const spec = await session.createImportSpec({
    ovfDescriptor: descriptor,
    resourcePool: pool,
    datastore: await must('/DC0/datastore/LocalDS_0'),
    host,
    entityName: 'bench',
    networkMapping: [{ name: 'VM Network', network: await must('/DC0/network/VM Network') }],
  });
  if (spec.errors.length > 0) throw new Error(spec.errors.join('; '));
  const lease = await session.importVApp(
    pool,
    spec.importSpecXml,
    { extraConfig: new Map(), emptyDiskFileNames: true },
    await must('/DC0/vm'),
    host,
  );
  const { deviceUrls } = await session.waitForLease(lease, {});
  const [device] = deviceUrls;
  if (device === undefined) throw new Error('the lease has no address');
  return device;
}

async function inChild(order: object): Promise<Sample> {
  const started = spawn(process.execPath, [child], { stdio: ['pipe', 'pipe', 'inherit'] });
  started.stdin.end(`${JSON.stringify(order)}\n`);
  const chunks: Buffer[] = [];
  started.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise<number | null>((resolve) => started.once('close', resolve));
  if (code !== 0) throw new Error(`an upload ended with code ${code ?? 'none'}`);
  return JSON.parse(Buffer.concat(chunks).toString()) as Sample;
}

async function withCurl(url: string, path: string, size: number): Promise<number> {
  const from = performance.now();
  await run('curl', ['-sk', '-X', 'POST', '-T', path, url]);
  return size / 1e6 / ((performance.now() - from) / 1000);
}

function outcome(size: number, samples: Readonly<Record<How, readonly Sample[]>>, curl: readonly number[]): Outcome {
  const speed = (how: How): number[] => samples[how].map((sample) => sample.mbPerS);
  const cpu = (how: How): number => median(samples[how].map((sample) => sample.cpuSPerGb));
  const pipe = median(speed('pipeline'));
  const ratio = median(speed('ours')) / pipe;
  const cpuRatio = cpu('ours') / cpu('pipeline');
  const growth = Math.max(...samples.ours.map((sample) => sample.rssGrowthMiB));
  const delay = median(samples.ours.map((sample) => sample.loopDelayP99Ms));
  return {
    name: 'B7 (a) upload of one disk',
    numbers: {
      sizeMb: size / 1e6,
      oursMbPerS: round(median(speed('ours')), 0),
      pipelineMbPerS: round(pipe, 0),
      pipelineSha1MbPerS: round(median(speed('pipeline-sha1')), 0),
      curlMbPerS: round(median(curl), 0),
      pipelineSpread: round(spread(speed('pipeline')), 3),
      oursCpuSPerGb: round(cpu('ours')),
      pipelineCpuSPerGb: round(cpu('pipeline')),
      pipelineSha1CpuSPerGb: round(cpu('pipeline-sha1')),
    },
    verdicts: [
      {
        what: 'speed against the better raw pipe of Node',
        measured: round(ratio),
        unit: '×',
        target: '>= 0.9',
        holds: ratio >= 0.9,
      },
      {
        what: 'CPU against the raw pipe',
        measured: round(cpuRatio),
        unit: '×',
        target: '<= 1.15',
        holds: cpuRatio <= 1.15,
      },
      { what: 'memory growth', measured: round(growth, 0), unit: 'MiB', target: '<= 64', holds: growth <= 64 },
      { what: 'event loop delay p99', measured: round(delay, 0), unit: 'ms', target: '<= 50', holds: delay <= 50 },
    ],
    inconclusive: spread(speed('pipeline')) > largestSpread,
  };
}
