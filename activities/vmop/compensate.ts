import type { AcceptedOperation } from '../../workflows/contracts/vmop.ts';
import type { VmopType } from '../../workflows/domain/vmop/matrix.ts';
import type { Cluster } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { untilAnswered } from '../kubernetes/await-change.ts';
import { claimMachine, revokeRequests } from './machine.ts';
import { abortMigration, ownMigration } from './migrations.ts';
import { hasEnded, migrationName, vmOf } from './objects.ts';

type Victim = Pick<AcceptedOperation, 'namespace' | 'name' | 'uid' | 'vmName' | 'type'>;

/**
 * Takes back what an operation left behind that could still act, in the name of `owner`, who claims the VM first. An instance
 * that is being deleted stays so: that can't be undone. What isn't there any more counts as taken back.
 */
export async function compensate(cluster: Cluster, victim: Victim, owner: AcceptedOperation): Promise<void> {
  const machine = await claimMachine(cluster, owner);
  await takeBack[victim.type](cluster, victim, owner, machine !== undefined);
}

type TakeBack = (cluster: Cluster, victim: Victim, owner: AcceptedOperation, hasMachine: boolean) => Promise<void>;

const nothing: TakeBack = () => Promise.resolve();

const start: TakeBack = async (cluster, _victim, owner, hasMachine) => {
  if (hasMachine) await revokeRequests(cluster, owner, ['Start']);
};

const restart: TakeBack = async (cluster, _victim, owner, hasMachine) => {
  if (hasMachine) await revokeRequests(cluster, owner);
};

const migration: TakeBack = async (cluster, victim) => {
  const object = await ownMigration(cluster, victim);
  if (object !== undefined) await abortMigration(cluster, object);
};

const takeBack: Readonly<Record<VmopType, TakeBack>> = {
  Start: start,
  Restart: restart,
  Stop: nothing,
  Migrate: migration,
  Evict: migration,
  Restore: nothing,
  Clone: nothing,
};

/** Waits until an aborted migration is over and its VM has left `Migrating`; false: not within the time. */
export async function awaitAbort(
  cluster: Cluster,
  victim: Victim,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace, vmName } = victim;
  const until = Date.now() + timeoutMs;
  return await untilAnswered<boolean>(
    cluster,
    [
      { resource: resources.migration, namespace, name: migrationName(victim) },
      { resource: resources.vm, namespace, name: vmName },
    ],
    signal,
    async () => {
      const [object, vm] = await Promise.all([
        ownMigration(cluster, victim),
        cluster.get(resources.vm, namespace, vmName),
      ]);
      const isOver = object === undefined || hasEnded(object);
      if (isOver && (vm === undefined || vmOf(vm).phase !== 'Migrating')) return { answer: true };
      const left = until - Date.now();
      return left <= 0 ? { answer: false } : { againInMs: left };
    },
  );
}
