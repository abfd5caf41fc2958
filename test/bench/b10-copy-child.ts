import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { connect } from 'node:net';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DiskCopy } from '../../activities/batch/copy/disk-copy.ts';
import { withHoles } from '../../activities/batch/copy/pieces.ts';
import { readAreas } from '../../activities/batch/copy/read-areas.ts';
import type { Extent } from '../../activities/batch/disk-port.ts';
import { NbdClient } from '../../activities/incus/nbd-client.ts';
import { ByteReader } from '../../activities/vsphere/source/byte-reader.ts';
import { readVmdkStream } from '../../activities/vsphere/source/vmdk-stream.ts';
import { peakRssMiB } from './measure.ts';

/** One copy in a process of its own, so that memory and CPU are its own: kind, image, socket of the server, capacity. */
const [kind = '', image = '', socketPath = '', bytes = ''] = process.argv.slice(2);
const capacity = Number(bytes);
const socket = connect(socketPath);
await once(socket, 'connect');
const nbd = await NbdClient.open(socket);
const file = await open(image);
const read = async ({ start, length }: Extent): Promise<Uint8Array> => {
  const data = Buffer.allocUnsafe(length);
  await file.read(data, 0, length, start);
  return data;
};
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
const cpu = process.cpuUsage();
const from = performance.now();
const areas = [{ start: 0, length: capacity }];
const progress = { offset: 0, bytesRead: 0, bytesWritten: 0 };
await new DiskCopy({
  writer: Object.assign(nbd, { capacity, isZeroed: true }),
  pieces: withHoles(areas, kind === 'vmdk' ? await vmdk() : readAreas(areas, read), 0),
  ...{ progress, holes: 'skip', compares: false, isResumed: false },
  check: () => Promise.resolve(),
}).run();
const seconds = (performance.now() - from) / 1_000;
const { user, system } = process.cpuUsage(cpu);
await nbd.close();
console.log(
  JSON.stringify({
    seconds,
    bytes: progress.bytesWritten,
    cpuSPerGb: (user + system) / 1e6 / (progress.bytesWritten / 1e9),
    rssMiB: peakRssMiB(),
    loopDelayP99Ms: delay.percentile(99) / 1e6,
  }),
);
process.exit(0);

async function vmdk() {
  const reader = new ByteReader(createReadStream(image));
  return readVmdkStream(await reader.upTo(512), reader, capacity);
}
