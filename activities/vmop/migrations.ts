import type { VmopRef } from '../../workflows/contracts/vmop.ts';
import { ClusterError, type Cluster, type KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { hasEnded, isOwnedBy, migrationName } from './objects.ts';

/** The migration object that belongs to an operation; one of the same name that belongs to another doesn't count. */
export async function ownMigration(
  cluster: Cluster,
  op: Pick<VmopRef, 'namespace' | 'name' | 'uid'>,
): Promise<KubeObject | undefined> {
  const object = await cluster.get(resources.migration, op.namespace, migrationName(op));
  return object !== undefined && isOwnedBy(object, op.uid) ? object : undefined;
}

/** Asks for a migration to be aborted, if it is still there. */
export async function abortMigration(cluster: Cluster, migration: KubeObject): Promise<void> {
  const { namespace, name, uid } = migration.metadata;
  try {
    await cluster.remove(resources.migration, namespace, name, { uid });
  } catch (err) {
    // Another one has the name: this one is gone.
    if (!(err instanceof ClusterError) || err.reason !== 'Conflict') throw err;
  }
}

/** Migrations of a VM that are not over. */
export async function unfinishedMigrations(
  cluster: Cluster,
  namespace: string,
  vmName: string,
): Promise<readonly KubeObject[]> {
  const all = await cluster.list(resources.migration, namespace);
  return all.filter((object) => object.spec?.['vmiName'] === vmName && !hasEnded(object));
}
