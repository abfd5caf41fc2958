import type { PlacementExplanation } from '../../../workflows/contracts/batch-lookup.ts';
import type { BatchDeps } from '../../batch/deps.ts';
import { recordOf } from '../../batch/entries.ts';
import { constraintOf } from '../../batch/judge.ts';
import { verified } from '../../batch/verified.ts';
import { outlookOf } from './obstacles.ts';
import { TargetLooks } from '../../batch/target-looks.ts';

/** Where the batch would put a VM as it is now, why, and what is in the way. Undefined: its source has no such VM. */
export async function explainPlacement(
  deps: BatchDeps,
  { batch, uuid }: { readonly batch: string; readonly uuid: string },
): Promise<PlacementExplanation | undefined> {
  const { spec } = await deps.specs.of(batch, true);
  const seen = await find(deps, uuid);
  if (seen === undefined) return undefined;
  const instance = await verified(deps, seen.instance.source, seen.instance);
  const subject = { spec, instance, networks: seen.networks };
  const { determined, obstacles } = await outlookOf(subject, new TargetLooks(deps));
  const constraint = constraintOf(subject);
  return {
    ...(determined === undefined ? {} : { placement: determined.placement }),
    reasons: determined?.reasons ?? [],
    ...(constraint === undefined ? {} : { constraint: constraint.name }),
    obstacles,
  };
}

type Seen = Awaited<ReturnType<Awaited<ReturnType<BatchDeps['source']>>['fetch']>>;

/** By its entry where it has one: that knows where to look. Else in all sources. */
async function find(deps: BatchDeps, uuid: string): Promise<Seen> {
  const vm = (await recordOf(deps.temporal, uuid))?.record;
  if (vm !== undefined) return await (await deps.source(vm.source)).fetch(vm.source_specific_id);
  for (const source of Object.keys(deps.config.file.vcenters)) {
    const { instances, networks } = await deps.inventories.of(source);
    const instance = instances.find((one) => one.uuid === uuid);
    if (instance !== undefined) return { instance, networks: [...networks.values()] };
  }
  return undefined;
}
