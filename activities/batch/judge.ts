import { effectiveInstance, runsAtTheEnd } from '../../workflows/domain/batch/effective.ts';
import type {
  BatchSpec,
  Constraint,
  InstanceOverrides,
  InstanceRecord,
  MigrationNetwork,
  NetworkRecord,
  Placement,
} from '../../workflows/domain/batch/records.ts';
import { compileExpression } from '../placement/expression/expression.ts';
import { determinePlacement, PlacementError } from '../placement/determine-placement.ts';

/** A VM as a batch looks at it. */
export interface Judged {
  readonly spec: BatchSpec;
  readonly instance: InstanceRecord;
  readonly networks: readonly NetworkRecord[];
}

export function overridesOf(spec: BatchSpec, uuid: string): InstanceOverrides {
  return spec.overrides[uuid] ?? {};
}

/** Whether an expression of the batch holds for this VM, overrides applied. Throws when it can't be told. */
export function holds(text: string, instance: InstanceRecord, overrides: InstanceOverrides): boolean {
  return compileExpression(text, 'instance').evaluate(effectiveInstance(instance, overrides), { now: new Date() });
}

/** The last one whose expression holds. */
export function constraintOf({ spec, instance }: Pick<Judged, 'spec' | 'instance'>): Constraint | undefined {
  const overrides = overridesOf(spec, instance.uuid);
  return spec.constraints.findLast(({ include_expression }) => holds(include_expression, instance, overrides));
}

/** The NIC that a VM has at this place while it is migrated. */
export function migrationNetworkOf({ defaults }: BatchSpec, placement: Placement): MigrationNetwork | undefined {
  return defaults.migration_network.find(
    ({ target, target_project }) => target === placement.target_name && target_project === placement.target_project,
  );
}

/** Disks that are copied, in the order that the target has them in. */
export function placedDisks<D extends { readonly supported: boolean }>(vm: { readonly disks: readonly D[] }): D[] {
  return vm.disks.filter(({ supported }) => supported);
}

export type Placed = { readonly placement: Placement } | { readonly problem: string };

/** Where the batch puts this VM. `running`: whether the source ran when its entry began. */
export async function placedBy({ spec, instance, networks }: Judged, running: boolean): Promise<Placed> {
  const overrides = overridesOf(spec, instance.uuid);
  try {
    const { placement } = await determinePlacement({
      spec,
      instance,
      overrides,
      networks,
      running: runsAtTheEnd(running, overrides),
      now: new Date(),
    });
    return { placement };
  } catch (err) {
    if (err instanceof PlacementError) return { problem: err.message };
    throw err;
  }
}

/** Why it is Blocked. */
export function notPlaced({ problem }: { readonly problem: string }): string {
  return `PLACEMENT_FAILED: ${problem}`;
}
