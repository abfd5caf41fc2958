import { canPlace } from '../../../workflows/domain/batch/can-place.ts';
import { effectiveName } from '../../../workflows/domain/batch/effective.ts';
import { withoutGuestTools } from '../../../workflows/domain/batch/guest-tools.ts';
import { allowedBy, exclusionReason } from '../../../workflows/domain/batch/exclusion.ts';
import type { BatchSpec, InstanceRecord, NetworkRecord } from '../../../workflows/domain/batch/records.ts';
import { effectiveInstance, runsAtTheEnd } from '../../../workflows/domain/batch/effective.ts';
import { migrationNetworkOf, overridesOf } from '../../batch/judge.ts';
import { toOperationError } from '../../failures.ts';
import { toTargetOperationError } from '../../incus/operation-error.ts';
import { determinePlacement, PlacementError, type DeterminedPlacement } from '../../placement/determine-placement.ts';
import type { TargetLooks } from '../../batch/target-looks.ts';

export interface Subject {
  readonly spec: BatchSpec;
  readonly instance: InstanceRecord;
  readonly networks: readonly NetworkRecord[];
}

/** Where a batch puts a VM, and everything that is in the way, in the order in which it would be told. */
export interface Outlook {
  readonly determined?: DeterminedPlacement;
  readonly obstacles: readonly string[];
}

export async function outlookOf(subject: Subject, looks: TargetLooks): Promise<Outlook> {
  const { spec, instance } = subject;
  const overrides = overridesOf(spec, instance.uuid);
  const exclusion = exclusionReason(instance, overrides, allowedBy(spec.config));
  const tools = withoutGuestTools(instance, spec.config);
  const excluded = [...(exclusion === undefined ? [] : [exclusion.text]), ...(tools === undefined ? [] : [tools.why])];
  try {
    const determined = await determinePlacement({
      ...subject,
      overrides,
      running: runsAtTheEnd(instance.running, overrides),
      now: new Date(),
    });
    return { determined, obstacles: [...excluded, ...(await atTarget(subject, determined, looks))] };
  } catch (err) {
    if (err instanceof PlacementError) return { obstacles: [...excluded, err.message] };
    throw err;
  }
}

/** A target that can't be asked is in the way of what goes there, nothing else. */
async function atTarget(
  { spec, instance }: Subject,
  { placement }: DeterminedPlacement,
  looks: TargetLooks,
): Promise<readonly string[]> {
  const instanceName = effectiveName(instance, overridesOf(spec, instance.uuid));
  const { nics } = effectiveInstance(instance, overridesOf(spec, instance.uuid));
  const migrationNetwork = migrationNetworkOf(spec, placement);
  try {
    const look = await looks.at(placement, { name: instanceName, uuid: instance.uuid });
    const question = { placement, instanceName, nics, ...look };
    const findings = canPlace(
      { ...question, ...(migrationNetwork === undefined ? {} : { migrationNetwork }) },
      'creation',
    );
    return findings.map(({ message }) => message);
  } catch (err) {
    const known = toTargetOperationError(err);
    if (known === undefined) throw err;
    return [toOperationError(known, []).message];
  }
}
