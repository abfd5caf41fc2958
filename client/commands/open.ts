import type { Command } from 'commander';
import { addVerb, type Run } from './command.ts';
import { placing } from './flags.ts';

/** `vmflow open KIND NAME`: the Web UI of one operation. */
export function registerOpen(program: Command, run: Run): void {
  const open = addVerb(program, 'open <kind> <name>', {
    summary: 'an operation in the Web UI',
    examples: [
      'vmflow open template rhel9-base',
      'vmflow open template rhel9-base --print',
      'vmflow open vm db-0 -n shop',
      'vmflow open op shop/db-0-stop-1a2b3c4d',
      'vmflow open set web -n shop',
      'vmflow open batch night-1',
      'vmflow open entry web-03',
      'vmflow open workflow lookup/6f1c',
    ],
    prints: ['Link'],
    exits: ['ok', 'usage', 'notFound', 'unreachable'],
    notes:
      'Kinds: vm, op, set, migration (of a set), drain (of a node), template, fleet, batch, entry (VM of a batch), source, workflow (any workflow id).',
  }).option('--print', 'only print the link');
  placing(open).action(run(async () => (await import('../open.ts')).openInBrowser));
}
