import { detectOs } from './os.ts';
import type { InstanceOverrides, InstanceRecord } from './records.ts';

/**
 * The instance as the batch wants it. What an override leaves empty (no text, zero) is the record's; `config` merges key by
 * key, and an empty value there is one.
 */
export function effectiveInstance(instance: InstanceRecord, overrides: InstanceOverrides = {}): InstanceRecord {
  return {
    ...instance,
    name: effectiveName(instance, overrides),
    cpus: given(overrides.cpus) ?? instance.cpus,
    memory: given(overrides.memory) ?? instance.memory,
    architecture: given(overrides.architecture) ?? instance.architecture,
    config: { ...instance.config, ...overrides.config },
    ...detectOs(instance, overrides),
  };
}

/** The name of the target instance. */
export function effectiveName({ name }: Pick<InstanceRecord, 'name'>, overrides: InstanceOverrides = {}): string {
  return given(overrides.name) ?? name;
}

/**
 * Whether the target is to run at the end, by the power of the source. Also for a source that turns out to run later: it raises
 * what was said before, nothing but `stopped_after_migration` lowers it.
 */
export function runsAtTheEnd(isSourceRunning: boolean, overrides: InstanceOverrides = {}): boolean {
  if (overrides.stopped_after_migration === true) return false;
  return isSourceRunning || overrides.started_after_migration === true;
}

/** The value of an override, undefined where it says nothing. */
export function given<T extends string | number>(value: T | undefined): T | undefined {
  return value === '' || value === 0 ? undefined : value;
}

/** 1–63 letters, digits and `-`, none of these at the ends, not digits alone. */
export function isHostName(name: string): boolean {
  return /^(?!\d+$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(name);
}

/** The name at the source without what host names don't have. May come out empty or otherwise no host name. */
export function deriveName(sourceName: string): string {
  return sourceName.replaceAll(/[^A-Za-z0-9-]/g, '');
}

/**
 * What names of ours and of targets look like: 1–64 characters as people count them, a letter or digit at both ends, none with a
 * meaning in URLs and shells between.
 */
export function isApiName(name: string): boolean {
  return /^[\p{L}\p{N}](?:[^\s\p{Cc}$?&+"'`*/]*[\p{L}\p{N}])?$/u.test(name) && [...name].length <= 64;
}
