import type { Command } from 'commander';
import type { ExitName } from '../exit-codes.ts';
import { addNoun, addVerb, type Run } from './command.ts';
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
  'timeout',
  'interrupted',
];

/** `vmflow migrate …`: what is under way on the main VMs of sets. `move` begins it. */
export function registerMigrate(program: Command, run: Run): void {
  const migrate = addNoun(program, 'migrate', 'migrations', 'migrations of the main VMs of sets; move begins one');
  registerReading(migrate, run);

  const retarget = addVerb(migrate, 'retarget <set>', {
    summary: 'another target for the migration that is open',
    examples: ['vmflow migrate retarget web -n shop --to node-c'],
    prints: ['MessageSent', 'SetMigration', 'Plan'],
    exits,
    notes: 'The same as changing spec.nodeName of the set. With --wait it ends when the VM runs there.',
  }).option('--to <node>', 'the node to move to ("" for any)');
  acting(placing(retarget)).action(run(async () => (await import('../migrate/act.ts')).retargetMigration));

  const abort = addVerb(migrate, 'abort <set>', {
    summary: 'call a migration off: the VM is wanted back where it came from',
    examples: ['vmflow migrate abort web -n shop --wait --reason "wrong node"'],
    prints: ['MessageSent', 'SetMigration', 'Plan'],
    exits,
    notes: 'A VM that is stored already is restored on its old node. Nothing is lost either way.',
  });
  acting(placing(abort)).action(run(async () => (await import('../migrate/act.ts')).abortMigration));

  const retry = addVerb(migrate, 'retry <set>', {
    summary: 'leave a hold and try again, after the cause is gone',
    examples: ['vmflow migrate retry web -n shop --wait'],
    prints: ['MessageSent', 'SetMigration', 'Plan'],
    exits,
  });
  acting(placing(retry)).action(run(async () => (await import('../migrate/act.ts')).retryMigration));

  const loss = addVerb(migrate, 'acknowledge-loss <set>', {
    summary: 'give up the state of a VM whose snapshot is gone: a fresh one boots',
    examples: [
      'vmflow migrate acknowledge-loss web -n shop',
      'vmflow migrate acknowledge-loss web -n shop --yes --uid 6f1c…',
    ],
    prints: ['MessageSent', 'SetMigration', 'Plan'],
    exits,
    notes: 'Memory and disks of the VM are gone for good afterwards. It asks for the UID of the set, which it shows.',
  })
    .option('--uid <uid>', 'UID of the set, with --yes')
    .option('-y, --yes', 'with --uid: skip the question');
  acting(placing(loss)).action(run(async () => (await import('../migrate/act.ts')).acknowledgeLoss));
}

function registerReading(migrate: Command, run: Run): void {
  const list = addVerb(migrate, 'list', {
    summary: 'migrations, newest first: step, from, to, what they wait for',
    examples: ['vmflow migrate list -n shop', 'vmflow migrate list --active -o wide'],
    prints: ['SetMigrationList'],
    exits: ['ok', 'denied', 'unreachable'],
    notes: 'What Temporal has recorded; needs no worker.',
  })
    .option('--active', 'only those that are not over')
    .option('-A, --all-namespaces', 'in all namespaces');
  placing(list).action(run(async () => (await import('../migrate/list.ts')).listMigrations));

  const get = addVerb(migrate, 'get <set>', {
    summary: 'the last migration of a set: steps, what it waits for, or how it ended',
    examples: ['vmflow migrate get web -n shop', 'vmflow migrate get shop/web -o json | jq .result'],
    prints: ['SetMigration'],
    exits: ['ok', 'notFound', 'denied', 'unreachable'],
  });
  placing(get).action(run(async () => (await import('../migrate/get.ts')).getMigration));
}
