import type { Command } from 'commander';
import { addNoun, addVerb, type Run } from './command.ts';
import { acting } from './flags.ts';

/** `vmflow node …`: empty a node of the main VMs of sets. */
export function registerNode(program: Command, run: Run): void {
  const node = addNoun(program, 'node', 'nodes', 'nodes: empty one of the main VMs of sets');
  addVerb(node, 'list', {
    summary: 'nodes, whether they are cordoned, and how many sets are on each',
    examples: ['vmflow node list', 'vmflow node list -o json'],
    prints: ['NodeList'],
    exits: ['ok', 'denied', 'notAcknowledged', 'unreachable'],
  }).action(run(async () => (await import('../node/list.ts')).listNodes));

  addVerb(node, 'status <node>', {
    summary: 'one node: the sets on it, and how far its drain is',
    examples: ['vmflow node status node-a', 'vmflow node status node-a -o json | jq .drain.blocked'],
    prints: ['Node'],
    exits: ['ok', 'notFound', 'denied', 'notAcknowledged', 'unreachable'],
  }).action(run(async () => (await import('../node/act.ts')).nodeStatus));

  const drain = addVerb(node, 'drain <node>', {
    summary: 'cordon a node and move the main VM of every set away',
    examples: [
      'vmflow node drain node-a --yes --wait',
      'vmflow node drain node-a --to node-b,node-c --max-parallel 1 --deadline 2h',
      'vmflow node drain node-a --dry-run',
    ],
    prints: ['Node', 'Plan'],
    exits: [
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
    ],
    notes:
      'Sets that can not move are told with their reason and tried again until the deadline; they never stop the others. A set that\n' +
      'asked for no node asks for none afterwards. A wait ends with 9 when something stayed. Same command twice: the second joins.',
  })
    .option('--to <nodes>', 'only to these nodes, comma-separated (default: wherever there is room)')
    .option('--max-parallel <number>', 'this many at a time (default: what the gate allows)')
    .option('--deadline <duration>', 'give up after this time, for example 2h (default: none)')
    .option('--keep-pin', 'sets that asked for no node stay tied to their new one');
  acting(drain)
    .option('-y, --yes', 'skip the question')
    .action(run(async () => (await import('../node/act.ts')).drainNode));

  addVerb(node, 'cancel <node>', {
    summary: 'stop a drain: nothing more leaves, what is on its way arrives',
    examples: ['vmflow node cancel node-a --uncordon'],
    prints: ['MessageSent', 'Plan'],
    exits: ['ok', 'denied', 'refused', 'notAcknowledged', 'unreachable'],
  })
    .option('--uncordon', 'take back the cordon, unless the node had one before')
    .option('--reason <text>', 'why, kept with the drain')
    .option('--dry-run', 'all checks, no change')
    .action(run(async () => (await import('../node/act.ts')).cancelDrain));
}
