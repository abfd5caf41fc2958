/** Times are ISO 8601 in UTC, spans are milliseconds. Nothing here reads a clock. */

/** Milliseconds from one moment to another; 0 when the first is the later one or is no time at all. */
export function elapsedMs(since: string, now: string): number {
  const span = Date.parse(now) - Date.parse(since);
  return span > 0 ? span : 0;
}

export function after(moment: string, ms: number): string {
  return new Date(Date.parse(moment) + ms).toISOString();
}

/** The later of two moments. One that is no time at all counts as never. */
export function latest(a: string, b: string): string {
  return Date.parse(b) > Date.parse(a) || Number.isNaN(Date.parse(a)) ? b : a;
}

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90s`, `10m`, `1h30m` in milliseconds; undefined for what is no such span. A bare number is none: its unit would be a guess. */
export function spanMs(text: string): number | undefined {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map(([whole]) => whole).join('') !== text) return undefined;
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * unitMs[unit as keyof typeof unitMs], 0);
}
