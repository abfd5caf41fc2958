import type { Command } from 'commander';
import { addVerb, type Run } from './command.ts';

/** `vmflow open KIND NAME`: the Web UI of one operation. */
export function registerOpen(program: Command, run: Run): void {
  addVerb(program, 'open <kind> <name>', {
    summary: 'an operation in the Web UI',
    examples: [
      'vmflow open template rhel9-base',
      'vmflow open template rhel9-base --print',
      'vmflow open workflow lookup/6f1c',
    ],
    exits: ['ok', 'usage', 'notFound', 'unreachable'],
    notes: 'Kinds: template, fleet, workflow (any workflow id).',
  })
    .option('--print', 'only print the link')
    .action(run(async () => (await import('../open.ts')).openInBrowser));
}
