import { spanMs } from '../workflows/domain/time.ts';
import { usageError } from './errors.ts';

/** `90s`, `10m`, `1h30m` → milliseconds. A bare number is refused: its unit would be a guess. */
export function parseDuration(text: string, flag: string): number {
  const ms = spanMs(text);
  if (ms !== undefined) return ms;
  throw usageError(`${flag}: "${text}" is no duration`, 'write it with its unit: 90s, 10m, 2h, 1h30m, 7d');
}

/** The two largest units: `18 min`, `2 h 5 min`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${String(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes < 10 ? join(minutes, 'min', seconds % 60, 's') : `${String(minutes)} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? join(hours, 'h', minutes % 60, 'min') : join(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function join(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${String(large)} ${largeUnit}` : `${String(large)} ${largeUnit} ${String(small)} ${smallUnit}`;
}
