import type { Command } from 'commander';

/** Flags that several commands share, each with the same words everywhere. */

export function placing(command: Command): Command {
  return command.option(
    '-n, --kube-namespace <name>',
    'Kubernetes namespace (VMFLOW_KUBE_NAMESPACE; default: all, a name is looked for)',
  );
}

export function selecting(command: Command): Command {
  return command
    .option('-l, --selector <labels>', 'the VMs with these labels, as for kubectl')
    .option('--all', 'all VMs of the namespace')
    .option('-A, --all-namespaces', 'with -l or --all: in all namespaces');
}

export function waitingForEnd(command: Command): Command {
  return command
    .option('--wait [phase]', 'block to the end, or with --wait=PHASE to a phase')
    .option('--timeout <duration>', 'with --wait: stop waiting after this time (exit 124); the work goes on');
}

export function acting(command: Command): Command {
  return waitingForEnd(command)
    .option('--reason <text>', 'why, kept with the operation')
    .option('--dry-run', 'all checks, no change');
}

/** For an order to one VM of a batch. */
export function narrowing(command: Command): Command {
  return command.option('--batch <name>', 'the VM of this batch, where several have one name');
}

/** For what can't be taken back: the name is typed, or given with a flag. */
export function typingName(command: Command, what: string): Command {
  return command
    .option('-y, --yes', 'skip the question; needs --confirm')
    .option('--confirm <name>', `with --yes: ${what}`);
}
