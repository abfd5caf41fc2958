import type { Command } from 'commander';
import { addNoun, addVerb, type Run } from './command.ts';

/** `vmflow target …`: where batches bring their VMs. */
export function registerTarget(program: Command, run: Run): void {
  const target = addNoun(program, 'target', 'targets', 'targets of batches: Incus servers');
  addVerb(target, 'list', {
    summary: 'targets, and whether they can be reached',
    examples: ['vmflow target list', 'vmflow target list -o wide'],
    prints: ['TargetList'],
    exits: ['ok', 'denied', 'notAcknowledged', 'unreachable'],
  }).action(run(async () => (await import('../target/list.ts')).listTargets));
}
