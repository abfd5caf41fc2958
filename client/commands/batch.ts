import type { Command } from 'commander';
import type { ExitName } from '../exit-codes.ts';
import { addNoun, addVerb, type Run } from './command.ts';
import { acting, typingName } from './flags.ts';

const acts: readonly ExitName[] = [
  'ok',
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
const files: readonly ExitName[] = ['ok', 'usage', 'notFound', 'denied', 'refused', 'notAcknowledged', 'unreachable'];

/** `vmflow batch …`: many VMs from a source to a target, each with little downtime. */
export function registerBatch(program: Command, run: Run): void {
  const batch = addNoun(program, 'batch', 'batches', 'batches of VMs that are migrated to another platform');
  registerReading(batch, run);
  registerFiles(batch, run);
  registerActs(batch, run);
}

function registerReading(batch: Command, run: Run): void {
  addVerb(batch, 'list', {
    summary: 'batches with their totals and the next window of each',
    examples: ['vmflow batch list', 'vmflow batch list -o wide'],
    prints: ['BatchList'],
    exits: ['ok', 'denied', 'unreachable'],
  }).action(run(async () => (await import('../batch/list.ts')).listBatches));

  addVerb(batch, 'get <name>', {
    summary: 'one batch: totals, windows, limits; with -o wide or --members each VM',
    examples: ['vmflow batch get night-1', 'vmflow batch get night-1 -o json | jq .counts'],
    prints: ['Batch'],
    exits: ['ok', 'notFound', 'denied', 'unreachable'],
  })
    .option('--members', 'with every VM')
    .option('-w, --watch', 'the same as batch watch')
    .action(run(async () => (await import('../batch/get.ts')).getBatch));

  addVerb(batch, 'watch <name>', {
    summary: 'follow a batch until nothing goes on without a person',
    examples: ['vmflow batch watch night-1', 'vmflow batch watch night-1 -o jsonl'],
    prints: ['Batch'],
    exits: ['ok', 'notFound', 'refused', 'notAcknowledged', 'unreachable', 'cancelled', 'timeout', 'interrupted'],
    notes: 'Ctrl-C stops watching, not the work. Ends with 5 when VMs need a person and nothing else moves.',
  })
    .option('--timeout <duration>', 'stop watching after this time (exit 124)')
    .option('--show <which>', 'all: also VMs that wait or are done')
    .action(run(async () => (await import('../batch/watch.ts')).watchBatch));
}

function registerFiles(batch: Command, run: Run): void {
  const withFile = (command: Command): Command =>
    command.option('-f, --file <path>', 'the batch as YAML (-: standard input)');

  const plan = addVerb(batch, 'plan', {
    summary: 'what a batch file would do: windows, VMs in each, what is in the way; starts nothing',
    examples: ['vmflow batch plan -f night.yaml', 'vmflow batch plan -f night.yaml -o json | jq .blocked'],
    prints: ['BatchPlan'],
    exits: files,
    notes:
      'Ends with 2 and the line of every mistake when the file can not be taken, with 5 when a VM can not be planned.',
  });
  withFile(plan).action(run(async () => (await import('../batch/plan.ts')).planBatch));

  const apply = addVerb(batch, 'apply', {
    summary: 'make a batch, or change the one of that name; starts nothing',
    examples: ['vmflow batch apply -f night.yaml', 'vmflow batch apply -f night.yaml --dry-run'],
    prints: ['BatchApplied', 'BatchPlan'],
    exits: files,
    notes: 'The same file twice is one batch. Which VMs belong to it is found out now, not when it starts.',
  });
  withFile(apply)
    .option('--dry-run', 'the same as batch plan')
    .action(run(async () => (await import('../batch/apply.ts')).applyBatch));

  const edit = addVerb(batch, 'edit', {
    summary: 'change a batch that is there',
    examples: ['vmflow batch edit -f night.yaml', 'vmflow batch edit -f night.yaml --etag 3'],
    prints: ['BatchApplied', 'MessageSent', 'BatchPlan'],
    exits: files,
    notes: 'While it runs, only what nobody relies on may change.',
  });
  withFile(edit)
    .option('--etag <etag>', 'refuse if it was changed since (see batch get -o json | jq .etag)')
    .option('--dry-run', 'the same as batch plan')
    .action(run(async () => (await import('../batch/apply.ts')).editBatch));
}

function registerActs(batch: Command, run: Run): void {
  const start = addVerb(batch, 'start <name>', {
    summary: 'begin: every member gets an entry in the queue',
    examples: ['vmflow batch start night-1', 'vmflow batch start night-1 --wait --timeout 8h'],
    prints: ['BatchStarted', 'Batch', 'Plan'],
    exits: acts,
  });
  acting(start).action(run(async () => (await import('../batch/act.ts')).startBatch));

  const stop = addVerb(batch, 'stop <name>', {
    summary: 'pause at safe points; VMs in their downtime are finished',
    examples: ['vmflow batch stop night-1 --reason "storage trouble"'],
    prints: ['MessageSent', 'Batch', 'Plan'],
    exits: acts,
    notes: 'With --wait it ends when no VM is in its downtime any more.',
  });
  acting(stop).action(run(async () => (await import('../batch/act.ts')).stopBatch));

  const resume = addVerb(batch, 'resume <name>', {
    summary: 'go on after a stop',
    examples: ['vmflow batch resume night-1'],
    prints: ['BatchStarted', 'Batch', 'Plan'],
    exits: acts,
  });
  acting(resume).action(run(async () => (await import('../batch/act.ts')).resumeBatch));

  const reset = addVerb(batch, 'reset <name>', {
    summary: 'back to Defined: entries end, unfinished targets are deleted, sources are on again',
    examples: ['vmflow batch reset night-1', 'vmflow batch reset night-1 --force --yes --confirm night-1'],
    prints: ['MessageSent', 'Plan'],
    exits: acts,
    notes:
      'It asks for the name of the batch. Finished targets stay. --force is for VMs in their downtime, not for the question.',
  }).option('--force', 'also while VMs are in their downtime');
  typingName(reset, 'the name of the batch')
    .option('--reason <text>', 'why, kept with the batch')
    .option('--dry-run', 'all checks, no change')
    .action(run(async () => (await import('../batch/act.ts')).resetBatch));

  addVerb(batch, 'delete <name>', {
    summary: 'forget a batch and its entries; what is at the targets stays',
    examples: ['vmflow batch delete night-1 --yes'],
    prints: ['MessageSent', 'Plan'],
    exits: acts,
    notes: 'A batch that runs is stopped first. What is left at the targets is told by orphans list.',
  })
    .option('-y, --yes', 'skip the question')
    .option('--reason <text>', 'why, kept in the history')
    .option('--dry-run', 'all checks, no change')
    .action(run(async () => (await import('../batch/act.ts')).deleteBatch));
}
