import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { request } from 'node:https';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pipeline } from 'node:stream/promises';
import { createInterface } from 'node:readline';
import { openEntry } from '../../activities/ova/entry-reader.ts';
import { createVSphere } from '../../activities/vsphere/vsphere-adapter.ts';
import { uploadRing } from '../../activities/vsphere/upload-stream.ts';
import type { LeaseDeviceUrl, VCenterEndpoint } from '../../activities/vsphere/port.ts';
import { peakRssMiB } from './measure.ts';

/** One upload in a process of its own, so that memory and CPU are its own. The order comes on standard input. */
interface Order {
  readonly how: 'ours' | 'pipeline' | 'pipeline-sha1';
  readonly endpoint: VCenterEndpoint;
  readonly device: LeaseDeviceUrl;
  readonly path: string;
  readonly size: number;
}

const order = JSON.parse(await firstLine()) as Order;
const delay = monitorEventLoopDelay({ resolution: 5 });
// The session is there before: an import has one anyway.
const upload = order.how === 'ours' ? await ours(order) : (): Promise<void> => pipe(order);
const before = process.memoryUsage().rss;
delay.enable();
const cpu = process.cpuUsage();
const from = performance.now();
await upload();
const seconds = (performance.now() - from) / 1000;
const { user, system } = process.cpuUsage(cpu);
console.log(
  JSON.stringify({
    mbPerS: order.size / 1e6 / seconds,
    cpuSPerGb: (user + system) / 1e6 / (order.size / 1e9),
    rssGrowthMiB: peakRssMiB() - before / 1024 ** 2,
    loopDelayP99Ms: delay.percentile(99) / 1e6,
  }),
);
process.exit(0);

async function ours({ endpoint, device, path, size }: Order): Promise<() => Promise<void>> {
  const vsphere = createVSphere({ allowInsecureTls: false });
  const session = await vsphere.open(endpoint);
  await session.currentTime();
  return async () => {
    await session.upload(device, {
      method: 'POST',
      contentType: 'application/x-vnd.vmware-streamVmdk',
      length: size,
      body: openEntry(path, { offset: 0, size }, uploadRing),
      stallMs: 60_000,
      signal: new AbortController().signal,
      onSent: () => undefined,
    });
  };
}

/** The peer: Node's own pipeline from a file to an HTTPS request; with a digest where ours has one. */
async function pipe({ how, device, path, size }: Order): Promise<void> {
  const upload = request(device.url, {
    method: 'POST',
    rejectUnauthorized: false,
    headers: { 'content-length': size, 'content-type': 'application/x-vnd.vmware-streamVmdk' },
  });
  const answered = new Promise<number>((resolve, reject) => {
    upload.once('response', (response) => response.resume().once('end', () => resolve(response.statusCode ?? 0)));
    upload.once('error', reject);
  });
  const source = createReadStream(path, { highWaterMark: 256 * 1024 });
  if (how === 'pipeline-sha1') {
    const hash = createHash('sha1');
    source.on('data', (chunk) => void hash.update(chunk));
  }
  await pipeline(source, upload);
  const status = await answered;
  if (status !== 200 && status !== 201) throw new Error(`status ${status}`);
}

async function firstLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line;
  throw new Error('no order');
}
