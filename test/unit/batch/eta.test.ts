import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { eta, withSample, type EtaSample } from '../../../workflows/domain/batch/eta.ts';
import { clock, window } from './window-builders.ts';

const minute = 60_000;

/** So much done after each minute. */
function perMinute(...done: readonly number[]): EtaSample[] {
  return done.map((one, index) => ({ at: index * minute, done: one }));
}

test('nothing is said before two samples, nor while nothing was done', () => {
  assert.equal(eta({ samples: [], total: 10, now: 0 }), undefined);
  assert.equal(eta({ samples: perMinute(5), total: 10, now: minute }), undefined);
  assert.equal(eta({ samples: perMinute(5, 5, 5), total: 10, now: 2 * minute }), undefined);
});

test('from two samples on it is a range around the pace', () => {
  const found = eta({ samples: perMinute(0, 10), total: 100, now: minute });
  assert.deepEqual(found, { earliest: 7 * minute, latest: 19 * minute });
});

test('more samples of a steady pace make it narrower', () => {
  const samples = perMinute(...Array.from({ length: 20 }, (_, index) => index));
  const { earliest = 0, latest = 0 } = eta({ samples, total: 119, now: 19 * minute }) ?? {};
  assert.ok(earliest > 110 * minute && earliest < 119 * minute && latest > 119 * minute && latest < 130 * minute);
});

test('a sample of a clock that goes ahead makes nothing faster', () => {
  const samples = perMinute(0, 10);
  const [behind, level] = [minute / 2, minute].map((now) => eta({ samples, total: 100, now })!.earliest! - now);
  assert.equal(behind, level);
});

test('what is done is done now', () => {
  assert.deepEqual(eta({ samples: perMinute(0, 10), total: 10, now: 5 * minute }), {
    earliest: 5 * minute,
    latest: 5 * minute,
  });
});

test('a change of pace widens it: the pace of late counts as well as that of all', () => {
  const steady = eta({ samples: perMinute(0, 10, 20, 30, 40), total: 100, now: 4 * minute })!;
  const slower = eta({ samples: perMinute(0, 13, 26, 38, 40), total: 100, now: 4 * minute })!;
  assert.equal(slower.earliest, steady.earliest);
  assert.ok(slower.latest! > steady.latest! * 3);
});

test('while nothing moves it moves away', () => {
  const samples = perMinute(0, 10, 20);
  const later = [2, 3, 10, 100].map((now) => eta({ samples, total: 100, now: now * minute })!);
  for (const [index, { earliest, latest }] of later.entries()) {
    const before = later[index - 1];
    if (before !== undefined) assert.ok(earliest! > before.earliest! && latest! > before.latest!);
  }
});

test('where nothing was done of late there is no latest time', () => {
  const { earliest, latest } = eta({ samples: perMinute(0, 10, 10), total: 100, now: 2 * minute })!;
  assert.ok(earliest! > 2 * minute);
  assert.equal(latest, undefined);
});

const night = [window('W1', '22:00', '23:00'), window('W2', '02:00', '03:00', { day: 2 })];
const inWindow = (...done: readonly number[]): EtaSample[] =>
  done.map((one, index) => ({ at: clock('22:00') + index * minute, done: one }));

test('only time in windows counts: what is not done in one is done in the next', () => {
  const found = eta({ samples: inWindow(0, 1), total: 61, now: clock('22:01'), windows: night.toReversed() });
  assert.deepEqual(found, { earliest: clock('22:41') });
  const more = eta({ samples: inWindow(0, 2), total: 182, now: clock('22:01'), windows: night });
  assert.deepEqual(more, { earliest: clock('02:01', 2) });
});

test('the time between windows says nothing about the pace', () => {
  const samples = inWindow(0, 1, 2, 3, 4);
  const [before, after] = [clock('23:00'), clock('02:00', 2)].map((now) =>
    eta({ samples, total: 6, now, windows: night })!,
  );
  assert.deepEqual(after, before);
  assert.ok(before!.earliest! > clock('02:00', 2));
});

test('where the windows end before it can be done there is no time at all', () => {
  assert.deepEqual(eta({ samples: inWindow(0, 1), total: 1_000, now: clock('22:01'), windows: night }), {});
});

test('a window without end is time enough; samples from outside of windows measure nothing', () => {
  const open = [window('W', '22:00')];
  assert.ok(eta({ samples: inWindow(0, 1), total: 1_000, now: clock('22:01'), windows: open })!.latest !== undefined);
  const outside = perMinute(0, 1).map(({ at, done }) => ({ at: clock('20:00') + at, done }));
  assert.equal(eta({ samples: outside, total: 10, now: clock('20:10'), windows: night }), undefined);
});

test('samples are kept in time, twenty at most; one that has fallen back begins anew', () => {
  const all = perMinute(...Array.from({ length: 30 }, (_, index) => index));
  const kept = all.reduce<EtaSample[]>(withSample, []);
  assert.deepEqual(kept, all.slice(10));
  for (const at of [1, 29 * minute]) assert.deepEqual(withSample(kept, { at, done: 99 }), kept);
  assert.equal(withSample(perMinute(0, 5), { at: 2 * minute, done: 5 }).length, 3, 'a standstill is measured too');
  assert.deepEqual(withSample(kept, { at: 99 * minute, done: 3 }), [{ at: 99 * minute, done: 3 }]);
});

test('the earliest is never after the latest, nor before now', () => {
  const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 600_000 }), fc.nat(100)), { maxLength: 30 });
  fc.assert(
    fc.property(steps, fc.nat(3_000), fc.nat(600_000), fc.boolean(), (given, left, idle, hasWindows) => {
      let sample: EtaSample = { at: clock('22:00'), done: 0 };
      let samples = [sample];
      for (const [ms, more] of given) {
        sample = { at: sample.at + ms, done: sample.done + more };
        samples = withSample(samples, sample);
      }
      const now = sample.at + idle;
      const found = eta({ samples, total: sample.done + left, now, ...(hasWindows ? { windows: night } : {}) });
      if (found?.earliest !== undefined) assert.ok(found.earliest >= now);
      if (found?.latest !== undefined) assert.ok(found.earliest !== undefined && found.latest >= found.earliest);
      if (found !== undefined && !hasWindows) assert.notEqual(found.earliest, undefined);
    }),
    { numRuns: 2_000 },
  );
});
