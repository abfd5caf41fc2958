import { formatDuration } from '../durations.ts';

const steps = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Bytes in binary units with the unit written: `1.4 GiB`. */
export function formatBytes(bytes: number): string {
  const step = Math.min(steps.length - 1, bytes < 1024 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** step;
  return `${step === 0 || value >= 100 ? String(Math.round(value)) : value.toFixed(1)} ${steps[step] ?? 'B'}`;
}

export type TimeStyle = 'relative' | 'iso';

/** How times are shown to people: an age, or ISO in UTC. Empty for an absent time. */
export function formatTime(iso: string | undefined, style: TimeStyle, now: Date): string {
  if (iso === undefined) return '';
  if (style === 'iso') return iso;
  const ms = now.getTime() - Date.parse(iso);
  return ms < 0 ? `in ${formatDuration(-ms)}` : `${formatDuration(ms)} ago`;
}

/** For sentences: the time of day beside the age, or ISO. `14:02 (18 min)`. */
export function formatSince(iso: string, style: TimeStyle, now: Date): string {
  if (style === 'iso') return iso;
  return `${clock(iso, now)} (${formatDuration(Math.abs(now.getTime() - Date.parse(iso)))})`;
}

/** Local time of day with its zone; the date too when it is another day. */
function clock(iso: string, now: Date): string {
  const at = new Date(iso);
  const sameDay = at.toDateString() === now.toDateString();
  const two = (n: number): string => String(n).padStart(2, '0');
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return sameDay ? time : `${String(at.getFullYear())}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}
