import type { Command } from 'commander';
import { addNoun, addVerb, type Run } from './command.ts';

/** `vmflow source …`: where batches take their VMs from. */
export function registerSource(program: Command, run: Run): void {
  const source = addNoun(program, 'source', 'sources', 'sources of batches: vCenters and their VMs');
  addVerb(source, 'list', {
    summary: 'sources, whether they can be reached, and when each was read',
    examples: ['vmflow source list', 'vmflow source list -o wide'],
    prints: ['SourceList'],
    exits: ['ok', 'denied', 'notAcknowledged', 'unreachable'],
  }).action(run(async () => (await import('../source/list.ts')).listSources));

  addVerb(source, 'sync <name>', {
    summary: 'read a source now, or join the sync that reads it',
    examples: ['vmflow source sync vc1'],
    prints: ['SourceSync'],
    exits: ['ok', 'notFound', 'denied', 'notAcknowledged', 'unreachable'],
  }).action(run(async () => (await import('../source/sync.ts')).syncSource));

  addVerb(source, 'vms <name>', {
    summary: 'VMs of a source as it has them now',
    examples: [
      'vmflow source vms vc1',
      `vmflow source vms vc1 --filter "cpus <= 4 and not running" -o name`,
      'vmflow source vms vc1 --filter /DC0/vm/web',
    ],
    prints: ['SourceVmList'],
    exits: ['ok', 'usage', 'notFound', 'denied', 'notAcknowledged', 'unreachable'],
    notes: 'The filter is an expression as in batches, or a text that is looked for in the location.',
  })
    .option('--filter <expression>', 'only those for which it holds')
    .action(run(async () => (await import('../source/vms.ts')).listSourceVms));
}
