import type { WrittenWindow } from '../../activities/schemas/batch-file.ts';
import type { MigrationWindow } from '../../workflows/domain/batch/records.ts';

/** When a window is, for people. */
export interface WindowTimes {
  /** In the zone that it was written in. */
  readonly local: string;
  readonly utc: string;
}

/** `written`: as the file has it; without one the local time is that of UTC. */
export async function windowTimes(
  { start, end, lockout }: Pick<MigrationWindow, 'start' | 'end' | 'lockout'>,
  written: WrittenWindow = {},
): Promise<WindowTimes> {
  const { spanText } = await import('../../activities/schemas/zoned-time.ts');
  const utc = (time: string | undefined) => (time === undefined ? undefined : { utc: time, zone: 'UTC' });
  const inUtc = { start: utc(start), end: utc(end), lockout: utc(lockout) };
  return { local: spanText({ ...inUtc, ...written }), utc: spanText(inUtc) };
}
