import type { Command } from 'commander';
import { addNoun, addVerb, type Run } from './command.ts';

/** `vmflow admin …`: what an administrator does once per Temporal namespace. */
export function registerAdmin(program: Command, run: Run): void {
  const admin = addNoun(program, 'admin', undefined, 'set up the Temporal namespace');
  addVerb(admin, 'setup', {
    summary: 'create the namespace, its search attributes and its schedules; safe to repeat',
    examples: ['vmflow admin setup', 'vmflow admin setup --namespace vmflow-test --retention 7d'],
    prints: ['SetupResult'],
    exits: ['ok', 'usage', 'denied', 'refused', 'unreachable', 'timeout'],
    notes: 'The schedules start their workflows on the task queue of this command (--task-queue).',
  })
    .option('--retention <duration>', 'how long closed operations are remembered, for a new namespace (default 30d)')
    .option('--timeout <duration>', 'how long to wait until everything can be used (default 60s)')
    .option('--dry-run', 'say what is missing, change nothing')
    .action(run(async () => (await import('../admin/setup.ts')).setup));
}
