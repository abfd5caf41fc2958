import { sha256Hex } from '../sha256.ts';
import { effectiveName, given } from './effective.ts';
import { isOwnSnapshot } from './snapshot-names.ts';
import { stableJson } from './stable-json.ts';
import type { Baseline, InstanceOverrides, InstanceRecord } from './records.ts';

/** The VM as it is when it is placed. */
export function baselineOf(instance: InstanceRecord, overrides: InstanceOverrides = {}): Baseline {
  return {
    uuid: instance.uuid,
    name: effectiveName(instance, overrides),
    disks: instance.disks.map(({ name, capacity, shared, supported }) => ({ name, capacity, shared, supported })),
    properties: propertiesHash(instance, overrides),
  };
}

/**
 * One value for all that a placement may depend on besides uuid and disks: what the source says and what the batch says instead.
 * Left out is what changes without anybody's doing or by ours: power, host, our own snapshots, the time of the sync, how the
 * disks can be copied.
 */
export function propertiesHash(instance: InstanceRecord, overrides: InstanceOverrides = {}): string {
  const { location, name, description, os_template, os, os_description, cpus, memory } = instance;
  const { architecture, config, secure_boot, legacy_boot, tpm, nics } = instance;
  const snapshots = instance.snapshots.filter((snapshot) => !isOwnSnapshot(snapshot.name, instance.uuid));
  const source = [location, name, description, os_template, os, os_description, cpus, memory, architecture];
  const devices = [secure_boot, legacy_boot, tpm, nics, snapshots];
  return sha256Hex(stableJson([source, config, devices, saidInstead(overrides)]));
}

function saidInstead(overrides: InstanceOverrides): unknown[] {
  const { name, cpus, memory, architecture, os_type, distribution, distribution_version, config = {} } = overrides;
  const values = [name, cpus, memory, architecture, os_type, distribution, distribution_version];
  return [...values.map((value) => given(value) ?? null), config];
}
