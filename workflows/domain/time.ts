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
