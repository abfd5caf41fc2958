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

/** What names in batches and at targets look like, for messages. */
export const apiNameRule =
  'a name has 1 to 64 characters, begins and ends with a letter or digit and has no blanks and none of $ ? & + " \' ` * /';

/** Characters are counted as people do, not in UTF-16 units. */
export function isApiName(name: string): boolean {
  // eslint-disable-next-line no-control-regex -- a name with control characters could not be shown
  if (/[\s$?&+"'`*/\u0000-\u001f\u007f-\u009f]/.test(name)) return false;
  return /^[A-Za-z0-9]/.test(name) && /[A-Za-z0-9]$/.test(name) && [...name].length <= 64;
}
