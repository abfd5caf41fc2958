import type { Command } from 'commander';
import type { ExitName } from '../exit-codes.ts';
import { addNoun, addVerb, type Run, type VerbText } from './command.ts';
import { acting, narrowing, typingName } from './flags.ts';

const acts: readonly ExitName[] = [
  'ok',
  'failed',
  'usage',
  'notFound',
  'denied',
  'refused',
  'notAcknowledged',
  'unreachable',
  'cancelled',
  'timeout',
  'interrupted',
];

/** `vmflow queue …`: the VMs of batches that were started. A VM is named by its name or by its instance uuid. */
export function registerQueue(program: Command, run: Run): void {
  const queue = addNoun(program, 'queue', undefined, 'VMs of batches: where each is, and what can be decided');
  registerReading(queue, run);
  registerDeciding(queue, run);
  registerEnding(queue, run);
}

function registerReading(queue: Command, run: Run): void {
  addVerb(queue, 'list', {
    summary: 'VMs in the queue, those that need a person first',
    examples: ['vmflow queue list --batch night-1', 'vmflow queue list --status conflict -o name'],
    prints: ['QueueList'],
    exits: ['ok', 'usage', 'denied', 'unreachable'],
    notes: 'What Temporal has recorded; needs no worker. -o wide asks each VM and needs one.',
  })
    .option('--batch <name>', 'only of this batch')
    .option('--status <status>', 'only those whose status begins so, for example conflict')
    .option('--source <name>', 'only of this source')
    .action(run(async () => (await import('../queue/list.ts')).listQueue));

  const get = addVerb(queue, 'get <vm>', {
    summary: 'one VM: steps, what it waits for, what can be decided; with -o wide what happened so far',
    examples: ['vmflow queue get web-03', 'vmflow queue get web-03 -o json | jq .conflict'],
    prints: ['QueueEntry'],
    exits: ['ok', 'notFound', 'denied', 'unreachable'],
  }).option('-w, --watch', 'the same as queue watch');
  narrowing(get).action(run(async () => (await import('../queue/get.ts')).getEntry));

  const watch = addVerb(queue, 'watch <vm>', {
    summary: 'follow a VM until it is over or needs a person',
    examples: ['vmflow queue watch web-03', 'vmflow queue watch web-03 -o jsonl'],
    prints: ['QueueEntry'],
    exits: [
      'ok',
      'failed',
      'notFound',
      'refused',
      'notAcknowledged',
      'unreachable',
      'cancelled',
      'timeout',
      'interrupted',
    ],
    notes: 'Ctrl-C stops watching, not the work.',
  }).option('--timeout <duration>', 'stop watching after this time (exit 124)');
  narrowing(watch).action(run(async () => (await import('../queue/get.ts')).watchEntry));

  const explain = addVerb(queue, 'explain <vm>', {
    summary: 'what a VM waits for, where it goes and which rule says so; changes nothing',
    examples: ['vmflow queue explain web-03'],
    prints: ['QueueExplanation'],
    exits: ['ok', 'notFound', 'denied', 'notAcknowledged', 'unreachable'],
  });
  narrowing(explain).action(run(async () => (await import('../queue/explain.ts')).explainEntry));
}

function registerDeciding(queue: Command, run: Run): void {
  const resolve = addVerb(queue, 'resolve <vm>', {
    summary: 'decide the conflict of a VM; without --decision it shows what can be decided',
    examples: [
      'vmflow queue resolve web-03',
      'vmflow queue resolve web-03 --decision recheck --reason "memory put back"',
    ],
    prints: ['MessageSent', 'QueueEntry', 'Plan'],
    exits: acts,
    notes: 'Ends with 5 when the same conflict comes back.',
  }).option('--decision <decision>', 'one of those that queue get shows');
  acting(narrowing(resolve)).action(run(async () => (await import('../queue/resolve.ts')).resolveEntry));

  order(queue, 'retry', {
    summary: 'begin a canceled VM anew',
    examples: ['vmflow queue retry web-03 --wait'],
    prints: ['MessageSent', 'QueueEntry', 'Plan'],
    exits: acts,
  }).action(run(async () => (await import('../queue/act.ts')).retryEntry));
  order(queue, 'hold', {
    summary: 'keep the source of a VM on until unhold; copies go on',
    examples: ['vmflow queue hold db-1 --reason "month end"'],
    prints: ['MessageSent', 'QueueEntry', 'Plan'],
    exits: acts,
  }).action(run(async () => (await import('../queue/act.ts')).holdEntry));
  order(queue, 'unhold', {
    summary: 'let a VM go with its next window again',
    examples: ['vmflow queue unhold db-1'],
    prints: ['MessageSent', 'QueueEntry', 'Plan'],
    exits: acts,
  }).action(run(async () => (await import('../queue/act.ts')).unholdEntry));
  order(queue, 'cutover', {
    summary: 'switch the source of a VM off now, window or not; limits hold',
    examples: ['vmflow queue cutover web-03', 'vmflow queue cutover web-03 --yes --reason "agreed with the owner"'],
    prints: ['MessageSent', 'QueueEntry', 'Plan'],
    exits: acts,
    notes: 'Outside a window it asks, and with --yes it wants a reason.',
  })
    .option('-y, --yes', 'skip the question; needs --reason')
    .action(run(async () => (await import('../queue/act.ts')).cutoverEntry));
}

function registerEnding(queue: Command, run: Run): void {
  const cancel = order(queue, 'cancel', {
    summary: 'leave a VM out of its batch, the source as it was',
    examples: ['vmflow queue cancel web-03', 'vmflow queue cancel web-03 --cleanup --yes --confirm web-03'],
    prints: ['MessageSent', 'QueueEntry', 'Plan'],
    exits: acts,
    notes: 'With --cleanup it asks for the name of the VM: what was made at the target is deleted.',
  }).option('--cleanup', 'delete what was made of it at the target');
  typingName(cancel, 'the name of the VM').action(run(async () => (await import('../queue/act.ts')).cancelEntry));

  const cleanup = order(queue, 'cleanup', {
    summary: 'delete what a canceled or failed VM left at the target',
    examples: ['vmflow queue cleanup web-03', 'vmflow queue cleanup web-03 --yes --confirm web-03'],
    prints: ['MessageSent', 'QueueEntry', 'Plan'],
    exits: acts,
    notes: 'It asks for the name of the VM. Only what carries the marks of this entry is deleted.',
  });
  typingName(cleanup, 'the name of the VM').action(run(async () => (await import('../queue/act.ts')).cleanupEntry));

  order(queue, 'delete', {
    summary: 'forget a VM that is over; what is at the target stays',
    examples: ['vmflow queue delete web-03 --yes'],
    prints: ['MessageSent', 'QueueEntry', 'Plan'],
    exits: acts,
  })
    .option('-y, --yes', 'skip the question')
    .action(run(async () => (await import('../queue/act.ts')).deleteEntry));
}

function order(queue: Command, verb: string, text: VerbText): Command {
  return acting(narrowing(addVerb(queue, `${verb} <vm>`, text)));
}
