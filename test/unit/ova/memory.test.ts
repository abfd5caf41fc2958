import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

import { bigDisk, buildOva } from '../../support/ova-builder.ts';
import { scratchDir } from './scratch.ts';

const inspect = new URL('../../../activities/ova/inspect.ts', import.meta.url).href;
const reader = new URL('../../../activities/ova/entry-reader.ts', import.meta.url).href;

/** In a process of its own: this one's memory was used by building the OVA. Prints the growth at the peak in MB. */
const program = `
const { inspectOva } = await import(${JSON.stringify(inspect)});
const { openEntry } = await import(${JSON.stringify(reader)});
const [path, small] = process.argv.slice(1);
await inspectOva(small);
const before = process.memoryUsage().rss;
let peak = before;
const look = () => { peak = Math.max(peak, process.memoryUsage().rss); };
const growthMB = () => (peak - before) / 2 ** 20;
const { files } = await inspectOva(path, { onProgress: look });
const inspecting = growthMB();
let bytes = 0;
for await (const chunk of openEntry(path, files[0])) { bytes += chunk.length; look(); }
console.log(JSON.stringify({ bytes, inspecting, reading: growthMB() }));
`;

for (const [position, size] of [
  ['second', 2 ** 30],
  ['last', 2 ** 28],
] as const) {
  test(`an OVA of ${String(size / 2 ** 20)} MiB with its manifest ${position} is inspected and read in flat memory`, async (t) => {
    const dir = await scratchDir(t);
    const small = await buildOva({ path: join(dir, 'small.ova') });
    const big = await buildOva({ path: join(dir, 'big.ova'), disks: [bigDisk(size)], manifest: { position } });
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', program, big.path, small.path], {
      encoding: 'utf8',
    });
    const { bytes, inspecting, reading } = JSON.parse(output) as Record<'bytes' | 'inspecting' | 'reading', number>;
    assert.equal(bytes, size);
    t.diagnostic(`grew by ${inspecting.toFixed(1)} MB for the inspection, ${reading.toFixed(1)} MB for the reading`);
    assert.ok(inspecting < 64);
    // Chunks handed out can't be used again; the collector lets some tens of megabytes of them come together.
    assert.ok(reading < 128);
  });
}
