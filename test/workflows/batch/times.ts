import type { MigrationWindow } from '../../../workflows/domain/batch/records.ts';

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

/** From and to are milliseconds after `base`. */
export function aWindow(
  name: string,
  base: number,
  [from, to]: readonly [number, number],
  more: { readonly capacity?: number; readonly lockout?: number } = {},
): MigrationWindow {
  const at = (ms: number): string => new Date(base + ms).toISOString();
  const { capacity = 0, lockout } = more;
  return { name, start: at(from), end: at(to), capacity, ...(lockout === undefined ? {} : { lockout: at(lockout) }) };
}
