import type { Command } from 'commander';
import { addNoun, addVerb, type Run } from './command.ts';
import { acting, placing } from './flags.ts';

/** `vmflow op …`: operations on VMs, each an object in the cluster with a workflow. */
export function registerOp(program: Command, run: Run): void {
  const op = addNoun(program, 'op', 'ops', 'operations on VMs: start, stop, restart, migrate, evict');
  registerReading(op, run);
  registerActing(op, run);
}

function registerReading(op: Command, run: Run): void {
  const list = addVerb(op, 'list', {
    summary: 'operations as the cluster has them now, newest first',
    examples: ['vmflow op list -n shop', 'vmflow op list --vm db-0 -n shop -o wide', 'vmflow op list --active -o json'],
    prints: ['OperationList'],
    exits: ['ok', 'denied', 'unreachable'],
    notes: 'One that a newer operation took over is Superseded, and says by which.',
  })
    .option('--vm <name>', 'only those of this VM')
    .option('--phase <phase>', 'only those in this phase, for example InProgress')
    .option('--active', 'only those that are not over')
    .option('-A, --all-namespaces', 'in all namespaces');
  placing(list).action(run(async () => (await import('../op/list.ts')).listOperations));

  const get = addVerb(op, 'get <id>', {
    summary: 'one operation: phase, steps, what it waits for, who took it over',
    examples: ['vmflow op get db-0-stop-1a2b3c4d -n shop', 'vmflow op get shop/db-0-stop-1a2b3c4d -o json | jq .phase'],
    prints: ['Operation'],
    exits: ['ok', 'notFound', 'denied', 'notAcknowledged', 'unreachable'],
    notes: 'ID is its name, NAMESPACE/NAME or its uid.',
  }).option('-w, --watch', 'the same as op watch');
  placing(get).action(run(async () => (await import('../op/get.ts')).getOperation));

  const watch = addVerb(op, 'watch <id>', {
    summary: 'follow an operation until it is over',
    examples: ['vmflow op watch db-0-stop-1a2b3c4d -n shop', 'vmflow op watch shop/db-0-stop-1a2b3c4d -o jsonl'],
    prints: ['Operation'],
    exits: ['ok', 'failed', 'notFound', 'notAcknowledged', 'unreachable', 'cancelled', 'timeout', 'interrupted'],
    notes: 'Ctrl-C stops watching, not the work. With -o jsonl: one document per change.',
  }).option('--timeout <duration>', 'stop watching after this time (exit 124)');
  placing(watch).action(run(async () => (await import('../op/get.ts')).watchOperation));
}

function registerActing(op: Command, run: Run): void {
  const cancel = addVerb(op, 'cancel <id>', {
    summary: 'delete an operation; what it has not done yet is taken back',
    examples: ['vmflow op cancel db-0-migrate-1a2b3c4d -n shop --wait'],
    prints: ['OperationMessageSent', 'Plan'],
    exits: ['ok', 'notFound', 'denied', 'refused', 'notAcknowledged', 'unreachable', 'cancelled', 'timeout'],
    notes: 'With --wait it ends with 8 once the operation is gone.',
  });
  acting(placing(cancel)).action(run(async () => (await import('../op/act.ts')).cancelOperation));

  const abandon = addVerb(op, 'abandon <id>', {
    summary: 'end a stuck operation as Failed, also one that nothing may take over',
    examples: ['vmflow op abandon db-0-forced-restart-1a2b3c4d -n shop --reason "no node is free"'],
    prints: ['OperationMessageSent', 'Plan'],
    exits: ['ok', 'failed', 'notFound', 'denied', 'refused', 'notAcknowledged', 'unreachable', 'timeout'],
    notes: 'With --wait it ends with 1: the operation has failed.',
  });
  acting(placing(abandon)).action(run(async () => (await import('../op/act.ts')).abandonOperation));

  const create = addVerb(op, 'create', {
    summary: 'ask for the operations in a file of VirtualMachineOperation manifests',
    examples: [
      'vmflow op create -f stop-db-0.yaml --wait',
      'kubectl create -f op.yaml --dry-run=client -o yaml | vmflow op create -f -',
    ],
    prints: ['OperationRequestList'],
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
    ],
    notes:
      'A manifest:\n  apiVersion: virtualization.deckhouse.io/v1alpha2\n  kind: VirtualMachineOperation\n' +
      '  metadata: { generateName: db-0-, namespace: shop }\n  spec: { type: Stop, virtualMachineName: db-0 }\n' +
      'Several documents are asked for one after the other.',
  })
    .option('-f, --file <path>', 'YAML or JSON (- for standard input)')
    .option('-y, --yes', 'skip the question');
  acting(placing(create)).action(run(async () => (await import('../op/create.ts')).createOperations));
}
