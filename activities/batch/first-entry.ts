import { randomUUID } from 'node:crypto';
import { baselineOf } from '../../workflows/domain/batch/baseline.ts';
import { emptyTarget, type Entry } from '../../workflows/domain/batch/entry.ts';
import { exclusionReason } from '../../workflows/domain/batch/exclusion.ts';
import type { BatchSpec, InstanceRecord, NetworkRecord } from '../../workflows/domain/batch/records.ts';
import type { BatchDeps } from './deps.ts';
import { constraintOf, holds, notPlaced, overridesOf, placedBy } from './judge.ts';
import { verified } from './verified.ts';

/** The entry of a VM as its batch starts: M0. */
export async function firstEntry({
  deps,
  spec,
  instance: seen,
  networks,
}: {
  readonly deps: BatchDeps;
  readonly spec: BatchSpec;
  readonly instance: InstanceRecord;
  readonly networks: readonly NetworkRecord[];
}): Promise<Entry> {
  const at = new Date().toISOString();
  const instance = await verified(deps, seen.source, seen);
  const overrides = overridesOf(spec, instance.uuid);
  const placed = await placedBy({ spec, instance, networks }, instance.running);
  const exclusion = exclusionReason(instance, overrides, spec.config.instance_restriction_overrides);
  const constraint = constraintOf({ spec, instance });
  const first = statusOf(spec, instance, exclusion?.text ?? ('problem' in placed ? notPlaced(placed) : undefined));
  return {
    instance_uuid: instance.uuid,
    batch_name: spec.name,
    token: randomUUID(),
    ...first,
    ...(first.status === 'Conflict'
      ? {
          conflict: {
            code: 'EXPRESSION_MISMATCH' as const,
            message: first.message,
            expected: spec.include_expression,
            found: instance.location,
            moment: 'M0',
            since: at,
          },
        }
      : {}),
    stage: 'background',
    since: at,
    record: instance,
    overrides,
    baseline: baselineOf(instance, overrides),
    ...('placement' in placed ? { placement: placed.placement } : {}),
    source_power: { initial_running: instance.running },
    target: emptyTarget,
    attempt: 1,
    attempts: { create: 0, copy: 0, finalize: 0 },
    pass: 0,
    change_ids: {},
    resolve_count: 0,
    consented: false,
    ...(constraint === undefined ? {} : { constraint: constraint.name }),
    min_boot_ms: constraint?.min_instance_boot_time ?? 0,
    held: false,
    cutover: false,
    holds_place: false,
    timeline: [{ at, status: first.status, message: first.message }],
  };
}

function statusOf(
  spec: BatchSpec,
  instance: InstanceRecord,
  obstacle: string | undefined,
): Pick<Entry, 'status' | 'message'> {
  const overrides = overridesOf(spec, instance.uuid);
  if (!spec.defaults.force_conflict_resolution && !holds(spec.include_expression, instance, overrides))
    return {
      status: 'Conflict',
      message: `Instance no longer matches batch expression: ${spec.include_expression} (it is at ${instance.location})`,
    };
  if (obstacle !== undefined) return { status: 'Blocked', message: obstacle };
  return { status: 'Waiting', message: 'Performing initial migration checks' };
}
