import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { setStatus, type Step, type World } from './moves.ts';
import { instanceStatus, migrationStatus, type InstanceMigration } from './objects.ts';

/** What the instance shows of a migration: the transfer of its memory, from the phase `Running` of the migration on. */
export function transferOf(instance: KubeObject, migration: KubeObject): InstanceMigration | undefined {
  const { migrationState } = instanceStatus(instance);
  return migrationState?.migrationUid === migration.metadata.uid ? migrationState : undefined;
}

export function isTransferring(instance: KubeObject): boolean {
  const { migrationState } = instanceStatus(instance);
  return migrationState !== undefined && migrationState.endTimestamp === undefined;
}

/** Undefined: it has begun. */
export function beginTransfer({ instance, now }: World, migration: KubeObject): Step | undefined {
  if (instance === undefined || transferOf(instance, migration) !== undefined) return undefined;
  const { migrationState } = migrationStatus(migration);
  const begun: InstanceMigration = {
    migrationUid: migration.metadata.uid,
    startTimestamp: migrationState?.startTimestamp ?? now,
    sourceNode: migrationState?.sourceNode ?? '',
    targetNode: migrationState?.targetNode ?? '',
    targetPod: migrationState?.targetPod ?? '',
  };
  return setStatus('instance', instance, { ...instance.status, migrationState: begun }, 'the transfer begins');
}

/** Undefined: none has begun, or it has ended. A transfer that succeeded leaves the instance on the target. */
export function endTransfer({ instance, now }: World, migration: KubeObject, ok: boolean): Step | undefined {
  const transfer = instance === undefined ? undefined : transferOf(instance, migration);
  if (instance === undefined || transfer === undefined || transfer.endTimestamp !== undefined) return undefined;
  const ended: InstanceMigration = { ...transfer, endTimestamp: now, completed: true, failed: !ok };
  const status = {
    ...instance.status,
    ...(ok ? { nodeName: transfer.targetNode } : {}),
    migrationState: ended,
  };
  return setStatus('instance', instance, status, ok ? 'the instance runs on the target' : 'the transfer has ended');
}

/** The transfer's result, once it has ended; the migration follows it. */
export function transferResult(instance: KubeObject, migration: KubeObject): 'succeeded' | 'failed' | undefined {
  const transfer = transferOf(instance, migration);
  if (transfer?.endTimestamp === undefined) return undefined;
  return transfer.failed === true ? 'failed' : 'succeeded';
}
