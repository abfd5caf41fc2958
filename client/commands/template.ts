import type { Command } from 'commander';
import { addNoun, addVerb, type Run } from './command.ts';

/** `vmflow template …`: bring new versions of templates into vSphere, follow them, go back. */
export function registerTemplate(program: Command, run: Run): void {
  const template = addNoun(
    program,
    'template',
    'templates',
    'templates in vSphere: new versions from an OVA, swapped in by rename',
  );
  registerReading(template, run);
  registerUpdate(template, run);
  registerFleet(template, run);
  registerActing(template, run);
}

function registerReading(template: Command, run: Run): void {
  const list = addVerb(template, 'list', {
    summary: 'templates with the version in use and the last update',
    examples: [
      'vmflow template list',
      'vmflow template list -o wide',
      'vmflow template list --vcenter vc1 --datacenter DC0',
    ],
    prints: ['TemplateList'],
    exits: ['ok', 'denied', 'unreachable'],
    notes: 'With --vcenter and --datacenter also those that vmflow has never updated.',
  })
    .option('--phase <phase>', 'only those in this phase, for example Conflict')
    .option('--no-lookup', 'do not ask vCenter (through a worker) for the versions in use');
  narrowing(list).action(run(async () => (await import('../template/list.ts')).listTemplates));

  const get = addVerb(template, 'get <name>', {
    summary: 'one template: phase, steps, what it waits for, what to do next',
    examples: ['vmflow template get rhel9-base', 'vmflow template get rhel9-base -o json | jq .phase'],
    prints: ['TemplateSwap'],
    exits: ['ok', 'notFound', 'unreachable'],
  }).option('-w, --watch', 'the same as template watch');
  narrowing(get).action(run(async () => (await import('../template/get.ts')).getTemplate));

  const watch = addVerb(template, 'watch <name>', {
    summary: 'follow the update of a template until it is over',
    examples: ['vmflow template watch rhel9-base', 'vmflow template watch rhel9-base -o jsonl'],
    prints: ['TemplateSwap'],
    exits: ['ok', 'failed', 'notFound', 'refused', 'cancelled', 'timeout', 'interrupted'],
    notes: 'Ctrl-C stops watching, not the work. With -o jsonl: one document per change.',
  }).option('--timeout <duration>', 'stop watching after this time (exit 124)');
  narrowing(watch).action(run(async () => (await import('../template/get.ts')).watchTemplate));
}

function registerUpdate(template: Command, run: Run): void {
  const update = addVerb(template, 'update [name]', {
    summary: 'bring a new OVA into vSphere beside the live template and swap it in',
    examples: [
      'vmflow template update rhel9-base --ova /images/rhel-9.6.ova',
      'vmflow template update rhel9-base --ova https://images.example/rhel-9.6.ova --keep 2h --wait',
      "vmflow template update rhel9-base --ova /images/rhel-9.6.ova --vcenter vc1 --datacenter DC0 --cluster DC0_C0 --datastore LocalDS_0 --network 'VM Network' --create",
      'vmflow template update -f rhel9-base.yaml --dry-run',
    ],
    prints: ['TemplateUpdate', 'TemplateSwap'],
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
      'timeout',
      'interrupted',
    ],
    notes:
      'The OVA is read by a worker: a path as the worker sees it, or a URL. What is not given is taken from the file,\n' +
      'then from the last update of the same template. Same command twice = same operation.',
  })
    .option('--ova <file|url>', 'the new OVA')
    .option('--sha256 <digest>', 'digest of the whole OVA (default: a worker reads it)')
    .option('--version <version>', 'version of the template (default: what the OVA says)')
    .option('--headers-ref <name>', "entry below sources in the workers' vmflow.yaml: headers for the download")
    .option('--vcenter <name>', "vCenter, by its name in the workers' vmflow.yaml")
    .option('--datacenter <path>', 'datacenter, path or name')
    .option('--cluster <path>', 'cluster or standalone host, path or name')
    .option('--datastore <name>', 'datastore')
    .option('--network <name>', 'network, name or absolute path')
    .option('--folder <path>', "VM folder (default: the datacenter's)")
    .option('--pool <path>', "resource pool (default: the cluster's)")
    .option('--host <name>', 'force one ESXi host')
    .option('--temp-prefix <prefix>', 'prefix of the temporary name (default mco-tmp)')
    .option('--rollback-prefix <prefix>', 'prefix of the name of the previous version (default mco-old)')
    .option('--create', 'create the template when there is none')
    .option('--replace-unknown', "replace a template whose version can't be told")
    .option('--no-strict-ownership', 'treat unmarked objects under the temporary names as left-overs of ours')
    .option('--recovery <way>', 'after a crash between the renames: forward-if-ready or back-first')
    .option('--keep <duration>', 'keep the previous version this long for template rollback')
    .option(
      '--tag <tag>',
      'attach a tag, urn or category/name; repeatable',
      (tag: string, tags: string[] | undefined) => [...(tags ?? []), tag],
    )
    .option('--annotation <text>', 'annotation of the template')
    .option('--provisioning <kind>', 'disks: inherit, default, thin, thick, eagerZeroedThick')
    .option('--keep-secure-boot', 'leave secure boot as the OVA has it')
    .option('--strict-ova', 'odd but readable OVAs are an error')
    .option('--verify-manifest <when>', 'require, if-present or off')
    .option('--max-gap <duration>', 'warn when the name was absent for longer (default 5s)')
    .option('--upload-stall <duration>', 'give an upload up that moves no byte for this long (default 2m)')
    .option('--max-upload-attempts <n>', 'uploads before it fails (default 5)')
    .option('--conflict-timeout <duration>', 'how long a conflict waits for a decision (default 24h)')
    .option('--request-id <id>', "the caller's own id of this request")
    .option('-f, --file <path>', 'request as YAML or JSON (- for standard input)')
    .option('--supersede', 'take the place of a running update to another version')
    .option('--reason <text>', 'why, kept with the message')
    .option('--dry-run', 'look and plan only, nothing is changed');
  waiting(update).action(run(async () => (await import('../template/update.ts')).updateTemplate));
}

function registerFleet(template: Command, run: Run): void {
  const fleet = addVerb(template, 'fleet [id]', {
    summary: 'several templates in one operation, usually one per failure domain',
    examples: ['vmflow template fleet -f fleet.yaml --wait', 'vmflow template fleet template-swap-fleet/night-1'],
    prints: ['TemplateFleet'],
    exits: [
      'ok',
      'failed',
      'usage',
      'notFound',
      'refused',
      'unreachable',
      'cancelled',
      'partly',
      'timeout',
      'interrupted',
    ],
    notes: 'The file holds: templates (requests as for template update -f), maxParallel, failFast, requestId.',
  })
    .option('-f, --file <path>', 'fleet request as YAML or JSON (- for standard input)')
    .option('--dry-run', 'look and plan only, nothing is changed');
  waiting(fleet).action(run(async () => (await import('../template/fleet.ts')).templateFleet));
}

function registerActing(template: Command, run: Run): void {
  const rollback = addVerb(template, 'rollback <name>', {
    summary: 'go back to the previous version while it is kept',
    examples: [
      'vmflow template rollback rhel9-base',
      'vmflow template rollback rhel9-base --yes --confirm rhel9-base --wait',
    ],
    prints: ['MessageSent', 'TemplateSwap', 'Plan'],
    exits: ['ok', 'failed', 'usage', 'notFound', 'refused', 'notAcknowledged'],
  });
  confirming(acting(rollback)).action(run(async () => (await import('../template/act.ts')).rollbackTemplate));

  const prune = addVerb(template, 'prune <name>', {
    summary: 'stop keeping the previous version: destroy it now',
    examples: ['vmflow template prune rhel9-base'],
    prints: ['MessageSent', 'TemplateSwap', 'Plan'],
    exits: ['ok', 'failed', 'usage', 'notFound', 'refused', 'notAcknowledged'],
  });
  confirming(acting(prune)).action(run(async () => (await import('../template/act.ts')).pruneTemplate));

  const resolve = addVerb(template, 'resolve <name>', {
    summary: 'decide the open conflict of a template',
    examples: [
      'vmflow template resolve rhel9-base',
      'vmflow template resolve rhel9-base --decision retry --reason "removed the VM"',
    ],
    prints: ['MessageSent', 'TemplateSwap', 'Plan'],
    exits: ['ok', 'failed', 'usage', 'notFound', 'refused', 'notAcknowledged'],
    notes: 'Without --decision it shows the choices that exist.',
  })
    .option('--decision <word>', 'one of the offered decisions')
    .option('--conflict <id>', 'only if this conflict is still the open one');
  acting(resolve).action(run(async () => (await import('../template/act.ts')).resolveTemplate));

  const retry = addVerb(template, 'retry <name>', {
    summary: 'end a wait for space and try at once',
    examples: ['vmflow template retry rhel9-base'],
    prints: ['MessageSent', 'TemplateSwap', 'Plan'],
    exits: ['ok', 'failed', 'notFound', 'refused', 'notAcknowledged'],
  });
  acting(retry).action(run(async () => (await import('../template/act.ts')).retryTemplate));

  const cancel = addVerb(template, 'cancel <name>', {
    summary: 'stop an update; a swap in its critical moment is finished first',
    examples: ['vmflow template cancel rhel9-base --wait'],
    prints: ['MessageSent', 'TemplateSwap', 'Plan'],
    exits: ['ok', 'failed', 'notFound', 'refused', 'notAcknowledged', 'unreachable', 'cancelled', 'timeout'],
  });
  acting(cancel).action(run(async () => (await import('../template/act.ts')).cancelTemplate));
}

function narrowing(command: Command): Command {
  return command
    .option('--vcenter <name>', 'only on this vCenter')
    .option('--datacenter <path>', 'only in this datacenter')
    .option('--folder <path>', 'only in this VM folder');
}

function waiting(command: Command): Command {
  return command
    .option('--wait [phase]', 'block to the end, or with --wait=PHASE to a phase')
    .option('--timeout <duration>', 'with --wait: stop waiting after this time (exit 124); the work goes on');
}

function acting(command: Command): Command {
  return waiting(narrowing(command))
    .option('--reason <text>', 'why, kept with the message')
    .option('--dry-run', 'say what would be sent, send nothing');
}

function confirming(command: Command): Command {
  return command
    .option('-y, --yes', 'skip the question (with --confirm)')
    .option('--confirm <name>', 'the name, in a script');
}
