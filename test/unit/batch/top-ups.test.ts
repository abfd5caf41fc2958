import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nextTopUp, type TopUpQuestion } from '../../../workflows/domain/batch/top-ups.ts';
import { clock } from './window-builders.ts';

const minute = 60_000;

type Row = readonly [
  title: string,
  question: {
    readonly interval: number;
    readonly limit: number;
    readonly last: string;
    readonly took?: number;
    readonly window?: string;
    readonly now?: string;
  },
  expected: string | undefined,
];

const b = { interval: 30, limit: 10, window: '01:00' };
const rows: readonly Row[] = [
  ['example B: as usual, an interval after the last', { ...b, last: '00:05' }, '00:35'],
  ['example B: the next would be too near the end, so it is the final one', { ...b, last: '00:37' }, '00:50'],
  ['example B: the final one is done', { ...b, last: '00:52' }, undefined],
  ['example C: one and not a row of them', { interval: 60, limit: 10, window: '01:00', last: '00:05' }, '00:50'],
  ['example D: the interval is the limit', { interval: 10, limit: 10, window: '01:00', last: '00:45' }, '00:50'],
  ['example D: none after', { interval: 10, limit: 10, window: '01:00', last: '00:52' }, undefined],
  ['no window', { interval: 30, limit: 10, last: '00:05' }, '00:35'],
  ['no window, long overdue', { interval: 30, limit: 10, last: '00:05', now: '01:20' }, '01:20'],
  ['just so long before the final one that both fit', { ...b, last: '00:10' }, '00:40'],
  ['a minute later', { ...b, last: '00:11' }, '00:50'],
  ['the last ended when the final one would begin', { ...b, last: '00:50' }, undefined],
  ['overdue, and early enough', { ...b, last: '00:00', now: '00:38' }, '00:38'],
  ['overdue, and just before the final one', { ...b, last: '00:00', now: '00:45' }, '00:50'],
  ['the final one is late', { ...b, last: '00:37', now: '00:57' }, '00:57'],
  ['copies take as long as the limit, so the final one begins earlier', { ...b, last: '00:16', took: 10 }, '00:40'],
  ['copies take nearly as long as the limit', { ...b, last: '00:16', took: 9.9 }, '00:50'],
  ['copies take long, and the last is not a limit old then', { ...b, last: '00:20', took: 30 }, '00:30'],
  ['copies take long, and the last has just ended', { ...b, last: '00:35', took: 30 }, '00:50'],
  ['copies take longer than all that is left', { ...b, last: '00:10', took: 300 }, '00:20'],
  ['the window has begun: the commit comes first', { ...b, last: '00:52', now: '01:00' }, '01:30'],
  ['the window has begun and the last copy is old', { ...b, last: '00:20', now: '01:01' }, '01:30'],
  ['it waits for a place in the window', { ...b, last: '01:33', now: '01:40' }, '02:03'],
];
for (const [title, { interval, limit, last, took = 1, window, now }, expected] of rows) {
  test(`top-up, ${title}: ${expected ?? 'none'}`, () => {
    const next = nextTopUp({
      now: clock(now ?? last),
      intervalMs: interval * minute,
      limitMs: limit * minute,
      lastEnd: clock(last),
      lastTookMs: took * minute,
      ...(window === undefined ? {} : { windowStart: clock(window) }),
    });
    assert.equal(next, expected === undefined ? undefined : clock(expected));
  });
}

interface Life extends Omit<TopUpQuestion, 'now'> {
  readonly windowStart: number;
  readonly began: number;
  readonly took: readonly number[];
  /** How late each begins: no slot was free. */
  readonly late: readonly number[];
}

const life = fc
  .record({
    limitMs: fc.integer({ min: 1, max: 60 }),
    more: fc.integer({ min: 0, max: 120 }),
    untilWindow: fc.integer({ min: 1, max: 1_000 }),
    lastTookMs: fc.integer({ min: 1, max: 300 }),
    idle: fc.nat(60),
    took: fc.array(fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 200 })), {
      minLength: 300,
      maxLength: 300,
    }),
    late: fc.array(fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(90)), { minLength: 30, maxLength: 30 }),
  })
  .map(({ limitMs, more, untilWindow, lastTookMs, idle, took, late }): Life => {
    const intervalMs = limitMs + more;
    return { intervalMs, limitMs, lastEnd: 0, lastTookMs, windowStart: untilWindow, began: idle, took, late };
  });

/** Begins of all top-ups before the window. */
function starts({ intervalMs, limitMs, windowStart, began, took, late, ...first }: Life): number[] {
  const all: number[] = [];
  let { lastEnd, lastTookMs } = first;
  let now = began;
  for (let round = 0; ; round = (round + 1) % 30) {
    const ask = (moment: number): number | undefined =>
      nextTopUp({ now: moment, intervalMs, limitMs, lastEnd, lastTookMs, windowStart });
    const planned = ask(now);
    if (planned === undefined) break;
    assert.ok(planned >= now);
    assert.equal(ask(planned), planned, 'what is planned is done when its time comes');
    now = planned + late[round]!;
    const next = ask(now);
    if (next === undefined || now >= windowStart) break;
    if (next > now) continue;
    all.push(now);
    lastTookMs = took[round]!;
    now += lastTookMs;
    lastEnd = now;
  }
  return all.filter((start) => start < windowStart);
}

test('top-ups begin at least a limit apart, and only one begins in the last limit before the window', () => {
  fc.assert(
    fc.property(life, (one) => {
      const all = starts(one);
      for (const [index, start] of all.entries())
        if (index > 0) assert.ok(start - all[index - 1]! >= one.limitMs, `begins at ${all.join(', ')}`);
      const late = all.filter((start) => start >= one.windowStart - one.limitMs);
      assert.ok(late.length <= 1, `begins at ${all.join(', ')}`);
    }),
    { numRuns: 5_000 },
  );
});

test('when the window begins the last copy was begun at most a limit before, unless copies take longer than that', () => {
  fc.assert(
    fc.property(life, (given) => {
      const one = { ...given, took: given.took.map(() => 0), lastTookMs: 0, late: given.late.map(() => 0) };
      const last = starts(one).at(-1) ?? one.lastEnd;
      assert.ok(one.began >= one.windowStart || one.windowStart - last <= one.limitMs);
    }),
    { numRuns: 2_000 },
  );
});
