import { sha256Hex } from '../sha256.ts';

/** vSphere's limit for the name of a virtual machine, in characters. */
export const maxNameLength = 80;

export const defaultTempPrefix = 'mco-tmp';
export const defaultRollbackPrefix = 'mco-old';

/** Names of one swap in logical form: what consumers use, where the new OVA goes, where the old template waits. */
export interface SwapNames {
  readonly prod: string;
  readonly temp: string;
  readonly rollback: string;
}

export type NameProblem = 'NAME_TOO_LONG' | 'NAME_INVALID' | 'RESERVED_NAME' | 'PREFIX_INVALID';

/** The form in which vSphere stores an entity name: `%`, `/` and `\` escaped, `%` first. */
export function toWireName(name: string): string {
  return name.replaceAll('%', '%25').replaceAll('/', '%2f').replaceAll('\\', '%5c');
}

/** The logical form of a stored name; the two hex digits may have either case. */
export function fromWireName(wire: string): string {
  return wire.replaceAll(/%2f/gi, '/').replaceAll(/%5c/gi, '\\').replaceAll(/%25/g, '%');
}

/** Compares two stored names: exact, but for the case of the three escapes. */
export function sameWireName(a: string, b: string): boolean {
  const lower = (name: string): string => name.replaceAll(/%(2f|5c|25)/gi, (escape) => escape.toLowerCase());
  return lower(a) === lower(b);
}

/**
 * Temp and rollback names depend on the production name alone, so that a later run finds what an earlier one left.
 * 4 bytes collide sometimes: the marker, not the name, proves ownership.
 */
export function swapNames(
  prod: string,
  tempPrefix = defaultTempPrefix,
  rollbackPrefix = defaultRollbackPrefix,
): SwapNames {
  const hash = sha256Hex(prod).slice(0, 8);
  return { prod, temp: `${tempPrefix}-${hash}`, rollback: `${rollbackPrefix}-${hash}` };
}

/** Checks a production name and the two prefixes before anything is sent anywhere. */
export function checkNames(
  prod: string,
  tempPrefix = defaultTempPrefix,
  rollbackPrefix = defaultRollbackPrefix,
): { problem: NameProblem; message: string } | undefined {
  const prefixPattern = /^[a-z](?:[a-z0-9-]{0,14}[a-z0-9])?$/;
  for (const prefix of [tempPrefix, rollbackPrefix]) {
    if (!prefixPattern.test(prefix)) {
      return { problem: 'PREFIX_INVALID', message: `name prefix "${prefix}" must match ${prefixPattern.source}` };
    }
  }
  if (tempPrefix === rollbackPrefix) {
    return { problem: 'PREFIX_INVALID', message: `temp and rollback prefix are both "${tempPrefix}"` };
  }
  const longest = Math.max([...prod].length, [...toWireName(prod)].length);
  if (longest > maxNameLength) {
    return {
      problem: 'NAME_TOO_LONG',
      message: `template name "${prod}" has ${String(longest)} characters as vSphere stores it; the limit is ${String(maxNameLength)}`,
    };
  }
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  if (prod.length === 0 || prod !== prod.trim() || /[\u0000-\u001f\u007f-\u009f]/.test(prod)) {
    return {
      problem: 'NAME_INVALID',
      message: `template name "${prod}" is empty, padded with blanks or has control characters`,
    };
  }
  if ([tempPrefix, rollbackPrefix].some((prefix) => new RegExp(`^${prefix}-[0-9a-f]{8}$`).test(prod))) {
    return { problem: 'RESERVED_NAME', message: `template name "${prod}" has the form of a temp or rollback name` };
  }
  return undefined;
}
