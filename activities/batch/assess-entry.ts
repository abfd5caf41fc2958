import type { Assessment, EntryActivities, EntryScope } from '../../workflows/contracts/batch-activities.ts';
import { baselineOf } from '../../workflows/domain/batch/baseline.ts';
import { canPlace } from '../../workflows/domain/batch/can-place.ts';
import { effectiveName } from '../../workflows/domain/batch/effective.ts';
import { allowedBy, exclusionReason, type Exclusion } from '../../workflows/domain/batch/exclusion.ts';
import { movesIn } from '../../workflows/domain/batch/placement-moves.ts';
import type { BatchSpec, InstanceRecord, NetworkRecord, Placement } from '../../workflows/domain/batch/records.ts';
import { toOperationError } from '../failures.ts';
import { toTargetOperationError } from '../incus/operation-error.ts';
import type { BatchDeps } from './deps.ts';
import { onSource } from './entry-source.ts';
import { constraintOf, migrationNetworkOf, notPlaced, overridesOf, placedBy } from './judge.ts';
import { TargetLooks } from './target-looks.ts';
import { verified } from './verified.ts';

/** M1 and what a retry begins with. */
export function createAssess(deps: BatchDeps): Pick<EntryActivities, 'assessEntry' | 'replanEntry'> {
  return {
    async assessEntry({ scope, entry, expectsTarget }) {
      const { spec } = await deps.specs.of(scope.batch);
      const record = await verified(deps, scope.source, entry.record);
      const question = { spec, scope, record, expectsTarget };
      const placeAnew = async (): Promise<Assessment> => {
        const networks = await networksOf(deps, scope.source, record);
        const placed = await placedBy({ spec, instance: record, networks }, entry.source_power.initial_running);
        return await assessed(deps, { ...question, placed, baseline: undefined });
      };
      const { placement, baseline } = entry;
      if (spec.config.rerun_scriptlets || placement === undefined) return await placeAnew();
      const kept = await assessed(deps, { ...question, placed: { placement }, baseline });
      // What is in the way where it was to go may be mapped elsewhere by now.
      const isInTheWay = kept.blocked !== undefined && exclusionOf(spec, record) === undefined;
      return isInTheWay && !expectsTarget ? await placeAnew() : kept;
    },
    async replanEntry({ scope, entry }) {
      const { spec } = await deps.specs.of(scope.batch, true);
      const seen = await onSource(deps, scope.source, (port, options) => port.fetch(scope.vm, options));
      const record = await verified(deps, scope.source, seen === undefined ? entry.record : seen.instance);
      const networks = seen?.networks ?? [];
      const placed = await placedBy({ spec, instance: record, networks }, record.running);
      const assessment = await assessed(deps, {
        spec,
        scope,
        record,
        placed,
        baseline: undefined,
        expectsTarget: entry.target.exists,
      });
      const keepsTarget =
        isSame(entry, assessment) && !entry.target.adapted && !entry.target.started && !entry.target.configured;
      const gone = {
        code: 'SOURCE_VM_GONE',
        message: `source ${scope.source} has no VM ${scope.vm} any more: bring it back`,
      };
      return { ...assessment, ...(seen === undefined ? { blocked: gone } : {}), keepsTarget };
    },
  };
}

type Replanned = Parameters<EntryActivities['replanEntry']>[0]['entry'];

/** What is at the target is still what would be made: same place, same disks, same name. */
function isSame({ placement, baseline }: Replanned, next: Assessment): boolean {
  if (placement === undefined || next.placement === undefined) return false;
  const disks = JSON.stringify(baseline.disks) === JSON.stringify(next.baseline.disks);
  return disks && baseline.name === next.baseline.name && movesIn(placement, next.placement).length === 0;
}

interface Question {
  readonly spec: BatchSpec;
  readonly scope: EntryScope;
  readonly record: InstanceRecord;
  readonly placed: { readonly placement: Placement } | { readonly problem: string };
  /** Absent: it was placed anew. */
  readonly baseline: Assessment['baseline'] | undefined;
  /** This entry has made an instance, or may have. */
  readonly expectsTarget: boolean;
}

async function assessed(deps: BatchDeps, question: Question): Promise<Assessment> {
  const { spec, record, placed } = question;
  const overrides = overridesOf(spec, record.uuid);
  const constraint = constraintOf({ spec, instance: record });
  const base: Assessment = {
    record,
    name: effectiveName(record, overrides),
    baseline: question.baseline ?? baselineOf(record, overrides),
    ...(constraint === undefined ? {} : { constraint: constraint.name }),
    minBootMs: constraint?.min_instance_boot_time ?? 0,
  };
  const exclusion = exclusionOf(spec, record);
  if (exclusion !== undefined)
    return { ...base, ...placementIn(placed), blocked: { code: exclusion.reason, message: exclusion.text } };
  if ('problem' in placed) return { ...base, blocked: { code: 'PLACEMENT_FAILED', message: notPlaced(placed) } };
  const { placement } = placed;
  const blocked = await placeObstacle(deps, question, base.name, placement);
  return { ...base, placement, ...(blocked === undefined ? {} : { blocked }) };
}

function exclusionOf(spec: BatchSpec, record: InstanceRecord): Exclusion | undefined {
  return exclusionReason(record, overridesOf(spec, record.uuid), allowedBy(spec.config));
}

function placementIn(placed: Question['placed']): { placement?: Placement } {
  return 'placement' in placed ? { placement: placed.placement } : {};
}

/** A target that can't be reached blocks what is placed on it, nothing else. */
async function placeObstacle(
  deps: BatchDeps,
  { spec, scope, record, expectsTarget }: Question,
  name: string,
  placement: Placement,
): Promise<Assessment['blocked']> {
  try {
    const look = await new TargetLooks(deps).at(placement, { name, uuid: scope.uuid });
    if (look.present === 'ours' && !expectsTarget) return leftBehind(name, placement);
    const migrationNetwork = migrationNetworkOf(spec, placement);
    const [finding] = canPlace(
      {
        placement,
        instanceName: name,
        nics: record.nics,
        ...look,
        ...(migrationNetwork === undefined ? {} : { migrationNetwork }),
      },
      'creation',
    );
    return finding === undefined ? undefined : { code: finding.code, message: `${finding.code}: ${finding.message}` };
  } catch (err) {
    const known = toTargetOperationError(err);
    if (known === undefined) throw err;
    const { message, code } = toOperationError(known, []);
    return { code, message };
  }
}

/** Nobody knows what an entry before this one has written to it, or whether somebody uses it. */
function leftBehind(name: string, { target_name, target_project }: Placement): Assessment['blocked'] {
  const where = `project "${target_project}" of target "${target_name}"`;
  return {
    code: 'TARGET_INSTANCE_EXISTS',
    message: `TARGET_INSTANCE_EXISTS: ${where} has an instance "${name}" that an earlier migration of this VM has left: rename or remove it, or cancel and delete this entry and say vmflow orphans adopt or delete ${target_name}/${target_project}/${name}`,
  };
}

/** The networks of its NICs, as far as the inventory knows them. */
async function networksOf(
  { inventories }: BatchDeps,
  source: string,
  { nics }: InstanceRecord,
): Promise<NetworkRecord[]> {
  const { networks } = await inventories.of(source);
  return nics.flatMap(({ uuid }) => networks.get(uuid) ?? []);
}
