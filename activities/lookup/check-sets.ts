import type { Check } from '../../workflows/contracts/lookup.ts';
import { ClusterError, type Cluster } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import type { ConfigFile } from '../schemas/config.ts';

/** What the configuration says about sets and only shows when a VM is already on its way: where snapshots go, which priority Pods get. */
export async function checkSets(cluster: Cluster, file: ConfigFile): Promise<Check[]> {
  return [snapshotRegistry(file), ...(await priorityClass(cluster, file))];
}

function snapshotRegistry({ registries, migrations }: ConfigFile): Check {
  const name = 'snapshots';
  const known = Object.keys(registries);
  const chosen = migrations.registry ?? (known.length === 1 ? known[0] : undefined);
  if (chosen !== undefined && known.includes(chosen)) return { name, ok: true, detail: `kept in registry ${chosen}` };
  const detail =
    chosen === undefined
      ? `several registries are configured (${known.join(', ')}), and nothing says which one keeps them`
      : `migrations.registry names "${chosen}", and there is no such registry (${known.join(', ')})`;
  const remedy = 'name one in migrations.registry of vmflow.yaml and restart workers and bridge';
  return { name, ok: false, detail, failure: 'wrong', remedy };
}

/** A dry run of a Pod of that class: reading classes takes a right that nothing else needs. Nothing is created. */
async function priorityClass(cluster: Cluster, { migrations }: ConfigFile): Promise<Check[]> {
  const { priorityClass: priorityClassName } = migrations;
  if (priorityClassName === undefined) return [];
  const name = 'priority class';
  const container = { name: 'probe', image: 'probe' };
  const spec = { priorityClassName, automountServiceAccountToken: false, containers: [container] };
  try {
    const metadata = { generateName: 'vmflow-probe-', namespace: 'default' };
    await cluster.create(resources.pod, 'default', { metadata, spec }, { dryRun: true });
    return [{ name, ok: true, detail: `Pods of VMs get ${priorityClassName}` }];
  } catch (err) {
    if (!(err instanceof ClusterError)) throw err;
    // Another rule of this namespace against Pods says nothing about the class.
    if (!err.message.includes('PriorityClass')) return [];
    const detail = `there is no PriorityClass ${priorityClassName}: the API server refuses every Pod of a VM`;
    const remedy = 'kubectl apply -f workers/deploy/scheduling, or correct migrations.priorityClass in vmflow.yaml';
    return [{ name, ok: false, detail, failure: 'wrong', remedy }];
  }
}
