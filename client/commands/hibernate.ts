import type { Command } from 'commander';
import type { ExitName } from '../exit-codes.ts';
import { addVerb, type Run } from './command.ts';
import { acting, placing } from './flags.ts';

const exits: readonly ExitName[] = [
  'ok',
  'failed',
  'usage',
  'notFound',
  'denied',
  'refused',
  'notAcknowledged',
  'unreachable',
  'cancelled',
  'partly',
  'timeout',
  'interrupted',
];

/** `vmflow hibernate|wake SET|POD...`: store the VM of a Pod in the registry, or bring it back. */
export function registerHibernate(program: Command, run: Run): void {
  const verbs = [
    {
      verb: 'hibernate',
      desire: 'Hibernate',
      summary: 'store VMs of sets in the registry, with their memory, and stop them',
      examples: ['vmflow hibernate web -n shop --wait', 'vmflow hibernate pod/web-1 -n shop'],
    },
    {
      verb: 'wake',
      desire: 'Wake',
      summary: 'bring hibernated VMs back where they were, as they were',
      examples: ['vmflow wake web -n shop --wait', 'vmflow wake pod/web-1 -n shop'],
    },
  ] as const;
  for (const { verb, desire, summary, examples } of verbs) {
    const command = addVerb(program, `${verb} [name...]`, {
      summary,
      examples,
      prints: ['HibernationRequestList'],
      exits,
      notes:
        'A name is that of a set (its main VM is meant) or of a Pod; set/NAME and pod/NAME where both exist. It is done by the\n' +
        'CocoonHibernation of the Pod, which is created or changed. Same command twice: the second says that it is in progress.',
    });
    acting(placing(command))
      .option('-y, --yes', 'skip the question that several VMs are worth')
      .action(run(async () => (await import('../hibernation/act.ts')).hibernationAction(desire)));
  }
}
