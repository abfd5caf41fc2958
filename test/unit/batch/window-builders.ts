import type { MigrationWindow } from '../../../workflows/domain/batch/records.ts';

/** Epoch milliseconds of a time of day, on the first of the days that the tests play on. */
export function clock(time: string, day = 1): number {
  return Date.parse(`2030-01-0${day}T${time.length === 5 ? `${time}:00` : time}Z`);
}

export function at(time: string, day = 1): string {
  return new Date(clock(time, day)).toISOString();
}

export function window(
  name: string,
  start?: string,
  end?: string,
  { lockout, capacity = 0, day = 1 }: { lockout?: string; capacity?: number; day?: number } = {},
): MigrationWindow {
  return {
    name,
    capacity,
    ...(start === undefined ? {} : { start: at(start, day) }),
    ...(end === undefined ? {} : { end: at(end, day) }),
    ...(lockout === undefined ? {} : { lockout: at(lockout, day) }),
  };
}
