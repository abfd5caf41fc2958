import type { Command } from 'commander';
import { addNoun, addVerb, type Run } from './command.ts';
import { placing } from './flags.ts';

/** `vmflow vm …`: VMs as the cluster has them, and what is done to them. */
export function registerVm(program: Command, run: Run): void {
  const vm = addNoun(program, 'vm', 'vms', 'VMs of the cluster: power, what is active on them');
  const list = addVerb(vm, 'list', {
    summary: 'VMs with phase, node and run policy',
    examples: ['vmflow vm list -n shop', 'vmflow vm list -l app=web -o wide'],
    prints: ['VirtualMachineList'],
    exits: ['ok', 'denied', 'notAcknowledged', 'unreachable'],
  })
    .option('-l, --selector <labels>', 'the VMs with these labels, as for kubectl')
    .option('--phase <phase>', 'only those in this phase, for example Running')
    .option('-A, --all-namespaces', 'in all namespaces');
  placing(list).action(run(async () => (await import('../vm/list.ts')).listVms));

  const get = addVerb(vm, 'get <vm>', {
    summary: 'one VM: power, active operation and what may take it over, the last five operations',
    examples: ['vmflow vm get db-0 -n shop', 'vmflow vm get shop/db-0 -o json | jq .active'],
    prints: ['VirtualMachine'],
    exits: ['ok', 'notFound', 'denied', 'notAcknowledged', 'unreachable'],
  });
  placing(get).action(run(async () => (await import('../vm/get.ts')).getVm));
}
