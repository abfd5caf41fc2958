import type { Meter } from '../meter.ts';
import { duration, string, time } from '../type.ts';
import { fixed, type FunctionRule } from './function-rule.ts';
import { textOf } from '../value.ts';

export const timeFunctions: Readonly<Record<string, FunctionRule>> = {
  now: fixed('now()', [], time, (_args, meter) => meter.now),
  date: fixed("date('2026-01-31' or '2026-01-31T10:00:00Z')", [string], time, ([text], meter) =>
    dateOf(textOf(text), meter),
  ),
  duration: fixed("duration('1h30m')", [string], duration, ([text], meter) => durationOf(textOf(text), meter)),
};

const day = /^\d{4}-\d{2}-\d{2}$/;
const dayAndTime = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})?$/;

/** Without an offset it is UTC. */
function dateOf(text: string, meter: Meter): number {
  const hasOffset = /(?:Z|[+-]\d{2}:\d{2})$/.test(text);
  const isTime = dayAndTime.test(text);
  const ms = isTime || day.test(text) ? Date.parse(isTime && !hasOffset ? `${text}Z` : text) : Number.NaN;
  // The parser makes 2 March of 30 February.
  const isDay = new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate() === Number(text.slice(8, 10));
  if (Number.isNaN(ms) || !isDay)
    meter.fail('runtime', `"${text.slice(0, 50)}" is no date such as 2026-01-31 or 2026-01-31T10:00:00Z`);
  return ms;
}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

const part = /(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)/y;

function durationOf(text: string, meter: Meter): number {
  const [, sign = '', rest = ''] = /^([+-]?)(.{0,50})$/s.exec(text) ?? [];
  let total = 0;
  part.lastIndex = 0;
  while (part.lastIndex < rest.length) {
    const [, amount, unit = ''] = part.exec(rest) ?? [];
    if (amount === undefined) break;
    total += Number(amount) * (unitMs[unit] ?? 0);
  }
  const isWhole = rest === '0' || (rest !== '' && part.lastIndex === rest.length);
  if (!isWhole) meter.fail('runtime', `"${text.slice(0, 50)}" is no duration such as 90m or 1h30m`);
  return sign === '-' ? -total : total;
}
