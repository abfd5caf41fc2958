import type { MigrationWindow } from './records.ts';
import { spanOf } from './windows.ts';

/** When something will be done, from what was measured and from nothing else. Times are epoch milliseconds. */

/** So much was done at that time: bytes, VMs. */
export interface EtaSample {
  readonly at: number;
  readonly done: number;
}

/** So many are kept: what was measured long ago says little about now. */
const keptSamples = 20;

/** A newer part of the measurements is looked at by itself, so that a change of pace shows. */
const recentShare = 1 / 4;

/** The samples with one more. One that has fallen back began anew: what was measured before counts no more. */
export function withSample(samples: readonly EtaSample[], sample: EtaSample): EtaSample[] {
  const last = samples.at(-1);
  if (last === undefined || sample.done < last.done) return [sample];
  if (sample.at <= last.at) return [...samples];
  return [...samples, sample].slice(-keptSamples);
}

export interface EtaQuestion {
  readonly samples: readonly EtaSample[];
  readonly total: number;
  readonly now: number;
  /** Only in these anything is done. Empty or absent: at any time. */
  readonly windows?: readonly MigrationWindow[];
}

/** A time is absent where the windows end before, the latest also where nothing was done of late. */
export interface Eta {
  readonly earliest?: number;
  readonly latest?: number;
}

/**
 * From the pace overall and the pace of late, the wider apart the fewer samples there are. Both count the time since the last sample:
 * while nothing moves the answer moves away. Undefined before two samples, and while nothing was done at all.
 */
export function eta({ samples, total, now, windows = [] }: EtaQuestion): Eta | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || samples.length < 2) return undefined;
  if (last.done >= total) return { earliest: now, latest: now };
  const steps = samples.length - 1;
  const middle = samples[steps - Math.max(1, Math.floor(steps * recentShare))] ?? first;
  const until = Math.max(now, last.at);
  const paces = [first, middle].flatMap(({ at, done }) => {
    const ms = workedMs(windows, at, until);
    return ms > 0 ? [(last.done - done) / ms] : [];
  });
  const [slow, fast] = [Math.min(...paces), Math.max(...paces)];
  if (paces.length === 0 || fast <= 0) return undefined;
  const doubt = 1 / (1 + steps);
  const left = total - last.done;
  const earliest = momentAfter(windows, now, left / (fast * (1 + doubt)));
  const latest = slow > 0 ? momentAfter(windows, now, left / (slow * (1 - doubt))) : undefined;
  return { ...(earliest === undefined ? {} : { earliest }), ...(latest === undefined ? {} : { latest }) };
}

/** The same in ISO 8601. */
export interface EtaTimes {
  readonly earliest?: string;
  readonly latest?: string;
}

export function etaTimes({ earliest, latest }: Eta): EtaTimes {
  const iso = (time: number): string => new Date(time).toISOString();
  return {
    ...(earliest === undefined ? {} : { earliest: iso(earliest) }),
    ...(latest === undefined ? {} : { latest: iso(latest) }),
  };
}

/** How much of a time lies in the windows. */
function workedMs(windows: readonly MigrationWindow[], from: number, to: number): number {
  if (windows.length === 0) return to - from;
  return windows
    .map(spanOf)
    .map(({ start, end }) => Math.max(0, Math.min(end, to) - Math.max(start, from)))
    .reduce((sum, ms) => sum + ms, 0);
}

/** When so much time in windows will have passed. Undefined: the windows end before. */
function momentAfter(windows: readonly MigrationWindow[], from: number, ms: number): number | undefined {
  if (windows.length === 0) return Math.round(from + ms);
  let left = ms;
  for (const { start, end } of windows.map(spanOf).sort((a, b) => a.start - b.start)) {
    const begin = Math.max(start, from);
    if (begin + left <= end) return Math.round(begin + left);
    left -= Math.max(0, end - begin);
  }
  return undefined;
}
