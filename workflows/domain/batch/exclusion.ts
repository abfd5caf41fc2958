import { effectiveInstance, given, isHostName } from './effective.ts';
import { hasBackgroundImport } from './entry.ts';
import type { BatchSpec, InstanceOverrides, InstanceRecord, RestrictionOverrides } from './records.ts';

export type ExclusionReason =
  | 'disabled'
  | 'name'
  | 'unknown-os'
  | 'no-architecture'
  | 'no-ipv4'
  | 'background-import-unverified'
  | 'background-import-unsupported'
  | 'unsupported-disk';

export interface Exclusion {
  readonly reason: ExclusionReason;
  /** What is in the way and what to do about it. */
  readonly text: string;
}

interface Rule {
  readonly reason: ExclusionReason;
  readonly holds: (vm: Subject) => boolean;
  readonly text: (vm: Subject) => string;
}

interface Subject {
  readonly instance: InstanceRecord;
  readonly overrides: InstanceOverrides;
  readonly allowed: RestrictionOverrides;
}

/** In the order in which they are told; what a person has lifted doesn't hold. */
const restrictions: readonly Rule[] = [
  {
    reason: 'name',
    holds: ({ instance }) => !isHostName(instance.name),
    text: ({ instance }) =>
      `"${instance.name}" can't be the name of the target: give the VM another one in the overrides of the batch (1 to 63 letters, digits and "-", not digits alone)`,
  },
  {
    reason: 'unknown-os',
    holds: ({ instance, overrides, allowed }) =>
      instance.os_type === 'linux' &&
      instance.distribution === 'other' &&
      !saysOs(overrides) &&
      !allowed.allow_unknown_os,
    text: ({ instance }) =>
      `the Linux distribution can't be told from "${instance.os === '' ? instance.os_template : instance.os}": set os_type or distribution in the overrides of the batch, or allow_unknown_os`,
  },
  {
    reason: 'no-architecture',
    holds: ({ instance }) => instance.architecture === '',
    text: () => 'the architecture is not known: set it in the overrides of the batch',
  },
  {
    reason: 'no-ipv4',
    holds: ({ instance: { nics }, allowed }) =>
      nics.length > 0 && nics.every(({ ipv4_address }) => ipv4_address === '') && !allowed.allow_no_ipv4,
    text: () =>
      'no NIC has an IPv4 address that the source knows: have the VM run with its guest tools until it reports one, or set allow_no_ipv4',
  },
  {
    reason: 'background-import-unverified',
    holds: ({ instance, allowed }) =>
      instance.background_import && !hasBackgroundImport(instance) && !allowed.allow_no_background_import,
    text: () => 'background import is being verified: the change tracking files of its disks are looked for again soon',
  },
  {
    reason: 'background-import-unsupported',
    holds: ({ instance, allowed }) => !instance.background_import && !allowed.allow_no_background_import,
    text: () =>
      'background import is not supported: switch change tracking on at the source, or set allow_no_background_import (all is copied while the VM is off) or without_change_tracking: compare',
  },
  {
    reason: 'unsupported-disk',
    holds: ({ instance: { disks } }) => disks.some(({ supported }) => !supported),
    text: ({ instance: { disks } }) =>
      `these disks can't be copied: ${disks
        .filter(({ supported }) => !supported)
        .map(({ name }) => name)
        .join(', ')} (raw-mapped, independent or shared); detach them, or set ignore_restrictions to leave them out`,
  },
];

/** What a batch lets pass. Who is copied ahead by comparing needs no change tracking. */
export function allowedBy({
  instance_restriction_overrides: allowed,
  without_change_tracking,
}: BatchSpec['config']): RestrictionOverrides {
  return without_change_tracking === 'compare' ? { ...allowed, allow_no_background_import: true } : allowed;
}

/** Why this VM may not migrate; undefined: it may. Pure and total. */
export function exclusionReason(
  instance: InstanceRecord,
  overrides: InstanceOverrides,
  allowed: RestrictionOverrides,
): Exclusion | undefined {
  if (overrides.disable_migration === true)
    return { reason: 'disabled', text: 'manually disabled: take disable_migration out of the overrides of the batch' };
  if (overrides.ignore_restrictions === true) return undefined;
  const vm: Subject = { instance: effectiveInstance(instance, overrides), overrides, allowed };
  const rule = restrictions.find(({ holds }) => holds(vm));
  return rule === undefined ? undefined : { reason: rule.reason, text: rule.text(vm) };
}

function saysOs({ os_type, distribution }: InstanceOverrides): boolean {
  return os_type !== undefined || given(distribution) !== undefined;
}
