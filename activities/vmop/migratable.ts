import { Context } from '@temporalio/activity';
import type { Refusal, VmopWaits } from '../../workflows/contracts/activities.ts';
import type { AcceptedOperation } from '../../workflows/contracts/vmop.ts';
import { whileBeating } from '../heartbeat.ts';
import type { Cluster } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { untilAnswered } from '../kubernetes/await-change.ts';
import type { VmopDeps } from './deps.ts';
import { unfinishedMigrations } from './migrations.ts';
import { conditionOf, isOwnedBy, vmOf, type Vm } from './objects.ts';
import { writeStatus } from './status.ts';

/** The gate of migrations: policy, other migrations, then a VM that is ready; undefined: go. */
export function createAwaitMigratable({ cluster, settings }: VmopDeps): VmopWaits['awaitMigratable'] {
  return async ({ op, vmUid }) => {
    const { namespace, vmName } = op;
    return await whileBeating(
      () => ({ waitingFor: 'a VM that can be migrated' }),
      async () => {
        const since = Date.now();
        return await untilAnswered<Refusal | undefined>(
          cluster,
          [{ resource: resources.vm, namespace, name: vmName }],
          Context.current().cancellationSignal,
          async () => {
            const object = await cluster.get(resources.vm, namespace, vmName);
            const vm = object?.metadata.uid === vmUid ? vmOf(object) : undefined;
            const refusal = vm === undefined ? gone(vmName) : await refusalOf(cluster, op, vm);
            if (refusal !== undefined) return { answer: refusal };
            if (vm === undefined || isReady(vm)) return { answer: undefined };
            const left = since + settings.readyToMigrateMs - Date.now();
            if (left <= 0) return { answer: notReady(vm, vmName, settings.readyToMigrateMs) };
            await sayWaiting(cluster, op, vm);
            return { againInMs: left };
          },
        );
      },
    );
  };
}

async function refusalOf(cluster: Cluster, op: AcceptedOperation, vm: Vm): Promise<Refusal | undefined> {
  const policy = againstPolicy(op, vm.liveMigrationPolicy);
  if (policy !== undefined) return { reason: 'NotApplicableForLiveMigrationPolicy', message: policy };
  const others = await unfinishedMigrations(cluster, op.namespace, op.vmName);
  const other = others.find((migration) => !isOwnedBy(migration, op.uid));
  if (other !== undefined) {
    const message = `VirtualMachine "${op.vmName}" is being migrated already: ${other.metadata.name}`;
    return { reason: 'OtherMigrationInProgress', message };
  }
  if (isReady(vm) || conditionOf(vm.conditions, 'Migratable')?.status === 'True') return undefined;
  return { reason: 'OperationFailed', message: `VirtualMachine "${op.vmName}" can't be migrated: ${why(vm)}` };
}

/** `force` overrides the throttling of CPUs where the policy leaves that open. An absent one never contradicts. */
function againstPolicy({ force, vmName }: AcceptedOperation, policy: string): string | undefined {
  if (policy === 'AlwaysSafe' && force === true)
    return `the live migration policy of VirtualMachine "${vmName}" is AlwaysSafe: its migration can't be forced`;
  if (policy === 'AlwaysForced' && force === false)
    return `the live migration policy of VirtualMachine "${vmName}" is AlwaysForced: its migration can't be unforced`;
  return undefined;
}

function isReady(vm: Vm): boolean {
  return conditionOf(vm.conditions, 'Migrating')?.reason === 'ReadyToMigrate';
}

function notReady(vm: Vm, vmName: string, waitedMs: number): Refusal {
  const message = `VirtualMachine "${vmName}" was not ready to migrate within ${waitedMs / 1_000} s: ${why(vm)}`;
  return { reason: 'OperationFailed', message };
}

/** In the words of the VM's own conditions. */
function why({ conditions }: Vm): string {
  const said = [
    conditionOf(conditions, 'Migratable'),
    conditionOf(conditions, 'Migrating'),
    conditionOf(conditions, 'AwaitingRestartToApplyConfiguration'),
  ]
    .filter((condition) => condition !== undefined)
    .filter(({ type, status }) => type !== 'Migratable' || status !== 'True')
    .map(({ type, reason, message }) => `${type} is ${reason}${message === '' ? '' : ` (${message})`}`);
  return said.length === 0 ? 'its conditions say nothing about migration' : said.join('; ');
}

function gone(vmName: string): Refusal {
  return { reason: 'VirtualMachineNotFound', message: `VirtualMachine "${vmName}" was deleted or replaced` };
}

async function sayWaiting(cluster: Cluster, op: AcceptedOperation, vm: Vm): Promise<void> {
  const message = `waits until the VM is ready to migrate: ${why(vm)}`;
  await writeStatus(cluster, op, ({ conditions }) =>
    conditionOf(conditions, 'Completed')?.message === message
      ? undefined
      : {
          phase: 'Pending',
          conditions: [
            { type: 'Completed', status: 'False', reason: 'WaitingForVirtualMachineToBeReadyToMigrate', message },
          ],
        },
  );
}
