import { given } from './effective.ts';
import { isLive } from './entry.ts';
import { isSameJson } from './stable-json.ts';
import type { BatchSpec, BatchStatus, Constraint, EntryStatus, InstanceOverrides } from './records.ts';

/** What an edit must not change, and why. Windows have rules of their own. */
export interface EditProblem {
  /** Into the batch as it is to be, such as `constraints[1]`. */
  readonly path: string;
  readonly message: string;
}

/** How the entries of a batch stand when it is edited. */
export interface EditSituation {
  readonly status: BatchStatus;
  /** An entry is Blocked, Waiting or Creating. */
  readonly hasEarlyEntries: boolean;
  /** Names of the constraints, of before and after the edit, that committed entries match. */
  readonly committedConstraints: readonly string[];
  /** Of the instances whose overrides change (`changedOverrides`); those without an entry are left out. */
  readonly statuses: Readonly<Record<string, EntryStatus>>;
}

/** Table of the specification §2.7: everything may change while the batch is Defined, later only what nobody relies on. */
export function editProblems(previous: BatchSpec, next: BatchSpec, situation: EditSituation): EditProblem[] {
  const renamed = previous.name === next.name ? [] : [renaming(previous)];
  if (situation.status === 'Defined') return renamed;
  return [
    ...renamed,
    ...fixed(previous, next),
    ...(situation.hasEarlyEntries ? placementProblems(previous, next) : []),
    ...constraintProblems(previous.constraints, next.constraints, situation.committedConstraints),
    ...changedOverrides(previous, next).flatMap((uuid) =>
      overrideProblems(
        previous.overrides[uuid],
        next.overrides[uuid],
        situation.statuses[uuid],
        `overrides["${uuid}"]`,
      ),
    ),
  ];
}

/** Instances about which the two say something different. */
export function changedOverrides(previous: BatchSpec, next: BatchSpec): string[] {
  const uuids = new Set([...Object.keys(previous.overrides), ...Object.keys(next.overrides)]);
  return [...uuids].filter((uuid) => !isSameJson(previous.overrides[uuid] ?? {}, next.overrides[uuid] ?? {}));
}

/** What the target is made of: fixed while an entry relies on it. */
const fixedOverrides = ['name', 'os_type', 'distribution', 'distribution_version', 'architecture'] as const;

/** Rules of the specification §2.6; `status` = of the entry of this instance, absent: it has none. */
export function overrideProblems(
  previous: InstanceOverrides = {},
  next: InstanceOverrides = {},
  status: EntryStatus | undefined,
  path = 'overrides',
): EditProblem[] {
  if (status === undefined || !isLive({ status })) return [];
  const advice = `its entry is ${status}: cancel it, change this, then retry it`;
  const changed = fixedOverrides.filter((field) => given(previous[field]) !== given(next[field]));
  const isDisabledNow = next.disable_migration === true && previous.disable_migration !== true;
  return [
    ...changed.map((field) => ({ path: `${path}.${field}`, message: `can't change while the VM migrates; ${advice}` })),
    ...(isDisabledNow
      ? [{ path: `${path}.disable_migration`, message: `can't be switched on while the VM migrates; ${advice}` }]
      : []),
  ];
}

function renaming({ name }: BatchSpec): EditProblem {
  return { path: 'name', message: `a batch keeps its name: apply this one as a new batch and delete "${name}"` };
}

/** The members were chosen, and their targets are made, by these. */
function fixed(previous: BatchSpec, next: BatchSpec): EditProblem[] {
  const parts: readonly (readonly [path: string, before: unknown, after: unknown])[] = [
    ['include_expression', previous.include_expression, next.include_expression],
    ['defaults.placement', previous.defaults.placement, next.defaults.placement],
    ['defaults.migration_network', previous.defaults.migration_network, next.defaults.migration_network],
    ...orderParts(previous, next),
  ];
  return parts
    .filter(([, before, after]) => !isSameJson(before, after))
    .map(([path]) => ({
      path,
      message: 'can only change while the batch is Defined: reset the batch first, or make another one',
    }));
}

/** Who waits for whom was settled when the members were chosen. */
function orderParts(
  previous: BatchSpec,
  next: BatchSpec,
): readonly (readonly [path: string, before: unknown, after: unknown])[] {
  return changedOverrides(previous, next).flatMap((uuid) =>
    (['group', 'depends_on'] as const).map(
      (field) =>
        [`overrides["${uuid}"].${field}`, previous.overrides[uuid]?.[field], next.overrides[uuid]?.[field]] as const,
    ),
  );
}

function placementProblems(previous: BatchSpec, next: BatchSpec): EditProblem[] {
  const parts: readonly (readonly [path: string, before: unknown, after: unknown])[] = [
    ['placement_rules', previous.placement_rules, next.placement_rules],
    ['config.placement_scriptlet', previous.config.placement_scriptlet, next.config.placement_scriptlet],
  ];
  return parts
    .filter(([, before, after]) => !isSameJson(before, after))
    .map(([path]) => ({
      path,
      message:
        "can't change while VMs are Blocked, Waiting or being created: cancel these, change this, then retry them",
    }));
}

/** By position: the last one that matches applies, so the order counts. */
function constraintProblems(
  previous: readonly Constraint[],
  next: readonly Constraint[],
  committed: readonly string[],
): EditProblem[] {
  const length = Math.max(previous.length, next.length);
  return Array.from({ length }, (_, i) => i).flatMap((i) => {
    const [before, after] = [previous[i], next[i]];
    if (isSameJson(before, after)) return [];
    const held = [before, after].find((one) => one !== undefined && committed.includes(one.name));
    if (held === undefined) return [];
    const message = `can't change while VMs in their downtime count for constraint "${held.name}": wait until they are done`;
    return [{ path: `constraints[${i}]`, message }];
  });
}
