import type { BatchSpec, InstanceRecord, NetworkRecord } from '../../../workflows/domain/batch/records.ts';
import type { BatchDeps } from '../../batch/deps.ts';
import { holds, overridesOf } from '../../batch/judge.ts';

/** A VM that a batch would have. */
export interface Match {
  readonly instance: InstanceRecord;
  /** Those of its source. */
  readonly networks: readonly NetworkRecord[];
}

export interface Matches {
  readonly matches: readonly Match[];
  /** What couldn't be read, and such. */
  readonly warnings: readonly string[];
}

/** Members of a batch as its sources are now. Fails with `ExpressionError` where it can't be told for one of them. */
export async function matching({ config, inventories }: BatchDeps, spec: BatchSpec): Promise<Matches> {
  const matches = new Map<string, Match>();
  const warnings: string[] = [];
  // Of two sources with one VM, the one with the first name has it.
  for (const source of Object.keys(config.file.vcenters).sort()) {
    const inventory = await inventories.of(source, { maxAgeMs: 0 });
    const networks = [...inventory.networks.values()];
    for (const instance of inventory.instances) {
      if (matches.has(instance.uuid)) continue;
      if (holds(spec.include_expression, instance, overridesOf(spec, instance.uuid)))
        matches.set(instance.uuid, { instance, networks });
    }
    const unread = inventory.unread.length - inventory.noVms.length;
    if (unread > 0) warnings.push(`${unread} VMs of source ${source} could not be read and are not in this plan`);
  }
  return { matches: [...matches.values()], warnings };
}
