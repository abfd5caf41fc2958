import type { Command } from 'commander';
import type { VmopType } from '../../workflows/domain/vmop/matrix.ts';
import type { ExitName } from '../exit-codes.ts';
import { addVerb, type Run } from './command.ts';
import { acting, placing, selecting } from './flags.ts';

interface Verb {
  readonly verb: string;
  readonly type: VmopType;
  readonly summary: string;
  readonly examples: readonly string[];
  /** What `--force` does; absent: it can't be forced. */
  readonly force?: string;
}

const verbs: readonly Verb[] = [
  {
    verb: 'start',
    type: 'Start',
    summary: 'start VMs',
    examples: ['vmflow start db-0 -n shop --wait', 'vmflow start -l app=web -n shop --yes'],
  },
  {
    verb: 'stop',
    type: 'Stop',
    summary: 'shut VMs down; takes over a start or a move that is under way',
    force: 'cut the power; takes over a stop or restart that hangs',
    examples: [
      'vmflow stop db-0 -n shop --wait',
      'vmflow stop shop/db-0 --force --yes',
      'vmflow stop --all -n test --dry-run',
    ],
  },
  {
    verb: 'restart',
    type: 'Restart',
    summary: 'restart VMs; takes over a move that is under way',
    force: 'cut the power; takes over a stop or restart that hangs',
    examples: ['vmflow restart db-0 -n shop --wait --timeout 10m', 'vmflow restart web-0 web-1 -n shop --yes'],
  },
  {
    verb: 'evict',
    type: 'Evict',
    summary: 'move VMs away from their nodes, wherever there is room',
    force: 'slow the guest down if its memory changes too fast to be copied',
    examples: ['vmflow evict db-0 -n shop --yes --wait'],
  },
];

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

/** `vmflow start|stop|restart|evict VM...`, `vmflow move VM|SET...`: the operations that people type in a hurry. */
export function registerPower(program: Command, run: Run): void {
  for (const { verb, type, summary, examples, force } of verbs) {
    const command = addVerb(program, `${verb} [vm...]`, {
      summary,
      examples,
      prints: ['OperationRequestList'],
      exits,
      notes:
        'A VM is NAME, NAMESPACE/NAME or vm/NAME. Without --wait it returns when the operation exists. Same command twice:\n' +
        'the second says that it is in progress. Many VMs, an eviction and a power cut are asked for; --yes in a script.',
    });
    if (force !== undefined) command.option('--force', force);
    acting(selecting(placing(command)))
      .option('-y, --yes', 'skip the question')
      .action(run(async () => (await import('../vm/act.ts')).powerAction(verb, type)));
  }
  registerMove(program, run);
}

function registerMove(program: Command, run: Run): void {
  const command = addVerb(program, 'move [name...]', {
    summary: 'move running VMs, or the main VM of a set, to another node',
    examples: [
      'vmflow move db-0 -n shop',
      'vmflow move vm/db-0 -n shop --to node-2 --wait',
      'vmflow move set/web -n shop --to node-b --wait',
    ],
    prints: ['OperationRequestList', 'MigrationRequestList'],
    exits,
    notes:
      'A name is NAME, NAMESPACE/NAME, or vm/NAME and set/NAME where both exist. A VM of its own is migrated while it runs; that of\n' +
      'a set is stored in the registry and restored on the other node, with its memory: it stands still meanwhile, and --wait ends\n' +
      'with the proof of it. Without --wait it returns when that is requested.',
  });
  command
    .option('--to <node>', 'the node to move to (default: any)')
    .option('--force', 'VMs: slow the guest down if its memory changes too fast to be copied');
  acting(selecting(placing(command)))
    .option('-y, --yes', 'skip the question')
    .action(run(async () => (await import('../move.ts')).move));
}
