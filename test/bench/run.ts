import { parseArgs } from 'node:util';
import { startup } from './cli-startup.ts';
import { swapGap } from './b7-gap.ts';
import { latency } from './b2-latency.ts';
import { operatorRoundTrip } from './b3-operator.ts';
import { diskCopy } from './b10-copy.ts';
import { throughput } from './b1-throughput.ts';
import { batchAdmission } from './b4-batch.ts';
import { cacheAndReplay } from './b5-cache.ts';
import { growth } from './growth.ts';
import { inventory } from './b9-inventory.ts';
import { waitingForCluster } from './b8-waiting.ts';
import { recovery } from './b6-recovery.ts';
import { upload } from './b7-upload.ts';
import { environment, type Outcome } from './measure.ts';

/** `npm run bench -- <name>|all [--full]`: each benchmark with its peer in the same run. */
const benchmarks: Readonly<Record<string, (options: { full: boolean }) => Promise<Outcome>>> = {
  b1: throughput,
  b2: latency,
  b3: operatorRoundTrip,
  b4: batchAdmission,
  b5: cacheAndReplay,
  b6: recovery,
  'b7-upload': upload,
  'b7-gap': swapGap,
  b8: waitingForCluster,
  b9: inventory,
  b10: diskCopy,
  cli: startup,
  growth,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { full: { type: 'boolean', default: false } },
});
const wanted = positionals.length === 0 || positionals.includes('all') ? Object.keys(benchmarks) : positionals;
const unknown = wanted.filter((name) => benchmarks[name] === undefined);
if (unknown.length > 0) {
  console.error(`No benchmark ${unknown.join(', ')}; there are: ${Object.keys(benchmarks).join(', ')}, all.`);
  process.exit(2);
}

const about = environment();
for (const name of wanted) {
  const outcome = await benchmarks[name]?.({ full: values.full });
  if (outcome === undefined) continue;
  console.log(
    JSON.stringify({
      benchmark: name,
      ...about,
      ...outcome.numbers,
      verdicts: outcome.verdicts,
      inconclusive: outcome.inconclusive,
    }),
  );
  console.error(
    `\n${outcome.name}${outcome.inconclusive ? '  (inconclusive: the peer varied by more than 15 %)' : ''}`,
  );
  for (const { what, measured, unit, target, holds } of outcome.verdicts)
    console.error(`  ${holds ? '✓' : '✗'} ${what}: ${measured} ${unit} (target ${target})`);
}
process.exit(0);
