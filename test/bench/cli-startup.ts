import { execFile } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { alternate, largestSpread, median, percentile, round, spread, type Outcome } from './measure.ts';

const run = promisify(execFile);
/** From the sources: the compiled one has no types to strip and is quicker. */
const cli = fileURLToPath(new URL('../../client/cli.ts', import.meta.url));

/** How long somebody waits for `vmflow --help`, and Tab for an answer, against a Node that does nothing. */
export async function startup(options: { full: boolean }): Promise<Outcome> {
  const rounds = options.full ? 100 : 20;
  const times = { help: [] as number[], complete: [] as number[], bare: [] as number[] };
  await alternate(
    rounds + 1,
    async () => {
      times.help.push(await elapsedMs(cli, '--help'));
      times.complete.push(await elapsedMs(cli, 'complete', '--', 'template', ''));
    },
    async () => void times.bare.push(await elapsedMs('-e', '0')),
  );
  const [help, complete, bare] = [times.help, times.complete, times.bare].map((values) => values.slice(1));
  const helpMs = median(help ?? []);
  const completeMs = median(complete ?? []);
  return {
    name: 'Start of the command line',
    numbers: {
      helpMs: round(helpMs),
      helpP95Ms: round(percentile(help ?? [], 0.95)),
      completeMs: round(completeMs),
      bareNodeMs: round(median(bare ?? [])),
    },
    verdicts: [
      { what: 'vmflow --help', measured: Math.round(helpMs), unit: 'ms', target: '< 300', holds: helpMs < 300 },
      { what: 'completion', measured: Math.round(completeMs), unit: 'ms', target: '< 300', holds: completeMs < 300 },
    ],
    inconclusive: spread(bare ?? []) > largestSpread,
  };
}

async function elapsedMs(...argv: readonly string[]): Promise<number> {
  const began = performance.now();
  await run(process.execPath, argv);
  return performance.now() - began;
}
