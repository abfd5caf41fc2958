import type { Command } from 'commander';
import { addNoun, addVerb, type Run } from './command.ts';
import { placing } from './flags.ts';

/** `vmflow set …`: CocoonSets as the cluster has them, and where their main VMs are. */
export function registerSet(program: Command, run: Run): void {
  const set = addNoun(program, 'set', 'sets', 'sets of VMs (CocoonSets): where they run and where they are wanted');
  const list = addVerb(set, 'list', {
    summary: 'sets with phase, node, target and what their migration is at',
    examples: ['vmflow set list -n shop', 'vmflow set list --phase Migrating -A -o wide'],
    prints: ['CocoonSetList'],
    exits: ['ok', 'denied', 'notAcknowledged', 'unreachable'],
  })
    .option('-l, --selector <labels>', 'the sets with these labels, as for kubectl')
    .option('--phase <phase>', 'only those in this phase, for example Migrating')
    .option('-A, --all-namespaces', 'in all namespaces');
  placing(list).action(run(async () => (await import('../set/list.ts')).listSets));

  const get = addVerb(set, 'get <set>', {
    summary: 'one set: its VMs, conditions, and the migration that is under way with its steps',
    examples: ['vmflow set get web -n shop', 'vmflow set get shop/web -o json | jq .migration.step'],
    prints: ['CocoonSet'],
    exits: ['ok', 'notFound', 'denied', 'notAcknowledged', 'unreachable'],
  }).option('-w, --watch', 'the same as set watch');
  placing(get).action(run(async () => (await import('../set/get.ts')).getSet));

  const watch = addVerb(set, 'watch <set>', {
    summary: 'follow a set until nothing is under way',
    examples: ['vmflow set watch web -n shop', 'vmflow set watch shop/web -o jsonl'],
    prints: ['CocoonSet'],
    exits: ['ok', 'failed', 'notFound', 'notAcknowledged', 'unreachable', 'cancelled', 'timeout', 'interrupted'],
    notes:
      'Ctrl-C stops watching, not the work. With -o jsonl: one document per change. A set that is deleted ends it with 8.',
  }).option('--timeout <duration>', 'stop watching after this time (exit 124)');
  placing(watch).action(run(async () => (await import('../set/get.ts')).watchSet));
}
