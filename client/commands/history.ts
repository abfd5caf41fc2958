import type { Command } from 'commander';
import { addNoun, addVerb, type Run } from './command.ts';

/** `vmflow history …`: who did what, when and why. */
export function registerHistory(program: Command, run: Run): void {
  const history = addNoun(program, 'history', undefined, 'who did what, when and why');
  addVerb(history, 'export', {
    summary: 'the record of who did what as JSON lines, oldest first',
    examples: [
      'vmflow history export --since 7d',
      'vmflow history export --batch shop --out shop-history.jsonl',
      `vmflow history export --since 2030-03-01T00:00:00Z --until 2030-04-01T00:00:00Z | jq 'select(.by == "alice")'`,
    ],
    prints: ['HistoryRecord'],
    exits: ['ok', 'failed', 'usage', 'notFound', 'denied', 'unreachable'],
    notes:
      'What the bridge has recorded in its history.file, and what Temporal still has besides; needs no worker. The file is named by\n' +
      '--file or by the vmflow.yaml of VMFLOW_CONFIG; without it there is only what Temporal still has. Prints JSON lines whatever\n' +
      '-o says, without secrets.',
  })
    .option('--since <time>', 'from then on: 7d, or an ISO 8601 time')
    .option('--until <time>', 'before then: the same')
    .option('--batch <name>', 'only of this batch')
    .option('--vm <name>', 'only of this VM: NAME or NAMESPACE/NAME')
    .option('--kind <kind>', 'only of this kind of operation, for example migration or template-swap')
    .option('--file <path...>', 'the record of the bridge, and older ones that were moved away')
    .option('--out <file>', 'write there instead of to standard output')
    .action(run(async () => (await import('../history/export.ts')).exportHistory));
}
