import { randomUUID } from 'node:crypto';
import { baselineOf } from '../../workflows/domain/batch/baseline.ts';
import { emptyTarget, type Entry } from '../../workflows/domain/batch/entry.ts';
import { allowedBy, exclusionReason } from '../../workflows/domain/batch/exclusion.ts';
import { withoutGuestTools } from '../../workflows/domain/batch/guest-tools.ts';
import type { BatchSpec, Finding, InstanceRecord, NetworkRecord } from '../../workflows/domain/batch/records.ts';
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
  const exclusion = exclusionReason(instance, overrides, allowedBy(spec.config));
  const constraint = constraintOf({ spec, instance });
  const first = statusOf(
    spec,
    instance,
    exclusion?.reason !== 'disabled',
    exclusion?.text ?? ('problem' in placed ? notPlaced(placed) : undefined),
  );
  return {
    instance_uuid: instance.uuid,
    batch_name: spec.name,
    token: randomUUID(),
    status: first.status,
    message: first.message,
    ...(first.finding === undefined ? {} : { conflict: { ...first.finding, moment: 'M0', since: at } }),
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

type First = Pick<Entry, 'status' | 'message'> & { readonly finding?: Finding };

function statusOf(spec: BatchSpec, instance: InstanceRecord, isEnabled: boolean, obstacle: string | undefined): First {
  const finding = findingOf(spec, instance, isEnabled);
  if (finding !== undefined) return { status: 'Conflict', message: finding.message, finding };
  if (obstacle !== undefined) return { status: 'Blocked', message: obstacle };
  return { status: 'Waiting', message: 'Performing initial migration checks' };
}

/** What a person has to decide before anything is done for it; both at once where there are two. */
function findingOf(spec: BatchSpec, instance: InstanceRecord, isEnabled: boolean): Finding | undefined {
  const tools = isEnabled ? withoutGuestTools(instance, spec.config) : undefined;
  const silent =
    tools === undefined
      ? undefined
      : ({ code: 'NO_GUEST_TOOLS', message: tools.what, expected: 'running guest tools', found: 'none' } as const);
  if (spec.defaults.force_conflict_resolution) return silent;
  if (holds(spec.include_expression, instance, overridesOf(spec, instance.uuid))) return silent;
  const message = `Instance no longer matches batch expression: ${spec.include_expression} (it is at ${instance.location})`;
  return {
    code: 'EXPRESSION_MISMATCH',
    message: tools === undefined ? message : `${message}; ${tools.why}`,
    expected: spec.include_expression,
    found: instance.location,
  };
}
