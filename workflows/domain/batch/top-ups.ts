/** When a running source is copied once more, so that little is left to copy once it is off. Times are epoch milliseconds. */

export interface TopUpQuestion {
  readonly now: number;
  /** Time from the end of one copy to the next. */
  readonly intervalMs: number;
  /** How old the last copy may be when the window begins; at most the interval. */
  readonly limitMs: number;
  /** End of the last copy that was complete. */
  readonly lastEnd: number;
  /** How long that copy took. */
  readonly lastTookMs: number;
  /** Start of the window in which it will be committed, as far as that is foreseen. Absent: none, or one without start. */
  readonly windowStart?: number;
}

/**
 * When the next top-up begins, never before `now`; undefined: none before the window. Starts before a window are at least a limit
 * apart, and only one is in the last limit before it. Once the window has begun the commit comes first: only who has waited for a
 * place in it for a whole interval is topped up again.
 */
export function nextTopUp(question: TopUpQuestion): number | undefined {
  const { now, intervalMs, limitMs, lastEnd, windowStart } = question;
  const due = Math.max(now, lastEnd + intervalMs);
  if (windowStart === undefined) return due;
  if (windowStart <= now) return Math.max(due, windowStart + intervalMs);
  if (lastEnd >= windowStart - limitMs) return undefined;
  const last = lastBefore(windowStart, question);
  return due <= last - limitMs ? due : Math.max(now, last);
}

/**
 * The last top-up before a window begins a limit before it. A copy that takes longer than that begins earlier, so that it is done
 * when the window begins: but not within a limit of the copy before, and not just before the usual time, or it could be done too
 * soon and be followed by another.
 */
function lastBefore(windowStart: number, { now, limitMs, lastEnd, lastTookMs }: TopUpQuestion): number {
  const usual = windowStart - limitMs;
  if (usual + lastTookMs < windowStart) return usual;
  const early = Math.max(now, usual - lastTookMs, lastEnd + limitMs);
  return early <= usual - limitMs ? early : usual;
}
