import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { connect } from 'node:net';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DiskCopy } from '../../activities/batch/copy/disk-copy.ts';
import { withHoles } from '../../activities/batch/copy/pieces.ts';
import { ReadBack } from '../../activities/batch/copy/read-back.ts';
import { readAreas, type ReadExtent } from '../../activities/batch/copy/read-areas.ts';
import { NbdClient } from '../../activities/incus/nbd-client.ts';
import { ByteReader } from '../../activities/vsphere/source/byte-reader.ts';
import { readVmdkStream } from '../../activities/vsphere/source/vmdk-stream.ts';
import { peakRssMiB } from './measure.ts';

/**
 * One copy in a process of its own, so that memory and CPU are its own: kind, image, socket of the server, capacity, and whether
 * what was written is only flushed (`copied`) or also read back and compared (`compared`).
 */
const [kind = '', image = '', socketPath = '', bytes = '', proof = ''] = process.argv.slice(2);
const capacity = Number(bytes);
const socket = connect(socketPath);
await once(socket, 'connect');
const nbd = await NbdClient.open(socket);
const file = await open(image);
const read: ReadExtent = async ({ start, length }, into) => {
  const { bytesRead } = await file.read(into, 0, length, start);
  return into.subarray(0, bytesRead);
};
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
const cpu = process.cpuUsage();
const from = performance.now();
const areas = [{ start: 0, length: capacity }];
const progress = { offset: 0, bytesRead: 0, bytesWritten: 0 };
const writer = Object.assign(nbd, { capacity, isZeroed: true });
await new DiskCopy({
  writer,
  pieces: withHoles(areas, kind === 'vmdk' ? await vmdk() : readAreas(areas, read), 0),
  ...{ progress, holes: 'skip', compares: false, isResumed: false },
  check: () => Promise.resolve(),
  proof: proof === 'copied' ? { expect: () => undefined, prove: () => nbd.flush() } : new ReadBack(writer),
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
