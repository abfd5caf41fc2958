import type { Command } from 'commander';
import type { ExitName } from '../exit-codes.ts';
import { addNoun, addVerb, type Run } from './command.ts';
import { typingName } from './flags.ts';

const acts: readonly ExitName[] = [
  'ok',
  'failed',
  'usage',
  'notFound',
  'denied',
  'refused',
  'notAcknowledged',
  'unreachable',
  'interrupted',
];

/** `vmflow orphans …`: what was left at targets by entries that are gone. */
export function registerOrphans(program: Command, run: Run): void {
  const orphans = addNoun(program, 'orphans', 'orphan', 'instances at targets that no entry stands behind any more');
  addVerb(orphans, 'list', {
    summary: 'what was left at the targets, and whether its source is off',
    examples: ['vmflow orphans list', 'vmflow orphans list -o name'],
    prints: ['OrphanList'],
    exits: ['ok', 'denied', 'notAcknowledged', 'unreachable'],
    notes: 'Ends with 7 when a target could not be asked.',
  }).action(run(async () => (await import('../orphans/list.ts')).listOrphans));

  addVerb(orphans, 'adopt <name>', {
    summary: 'begin the migration of a VM anew whose entry was lost',
    examples: ['vmflow orphans adopt tgt/default/web-03'],
    prints: ['OrphanDone', 'Plan'],
    exits: acts,
    notes:
      'What is at the target is deleted, the source is on again where it was on before, the VM is in its batch again.',
  })
    .option('-y, --yes', 'skip the question')
    .option('--reason <text>', 'why, kept in the history')
    .option('--dry-run', 'all checks, no change')
    .action(run(async () => (await import('../orphans/act.ts')).adoptOrphan));

  const remove = addVerb(orphans, 'delete <name>', {
    summary: 'delete what was left at the target, the source as it was',
    examples: ['vmflow orphans delete tgt/default/web-03', 'vmflow orphans delete web-03 --yes --confirm web-03'],
    prints: ['OrphanDone', 'Plan'],
    exits: acts,
    notes:
      'It asks for the name of the instance. Only what still carries the same marks is deleted; the source is on again where it was\n' +
      'on before.',
  });
  typingName(remove, 'the name of the instance')
    .option('--reason <text>', 'why, kept in the history')
    .option('--dry-run', 'all checks, no change')
    .action(run(async () => (await import('../orphans/act.ts')).deleteOrphan));
}
