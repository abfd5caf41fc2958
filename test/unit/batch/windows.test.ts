import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { MigrationWindow } from '../../../workflows/domain/batch/records.ts';
import {
  begun,
  chooseWindow,
  ended,
  explainNoWindow,
  fits,
  inTime,
  isFull,
  locked,
  nextInstant,
  predictWindow,
  validWindows,
  windowState,
  type WindowChoice,
  type WindowQuestion,
} from '../../../workflows/domain/batch/windows.ts';
import { clock, window } from './window-builders.ts';

const minute = 60_000;
const w1 = window('W1', '22:00', '23:00', { lockout: '22:40' });
const always = window('always');

const moments: readonly [at: number, begun: boolean, locked: boolean, ended: boolean, state: string][] = [
  [clock('21:59'), false, false, false, 'ahead'],
  [clock('22:00'), false, false, false, 'ahead'],
  [clock('22:00') + 1, true, false, false, 'open'],
  [clock('22:40'), true, false, false, 'open'],
  [clock('22:40') + 1, true, true, false, 'locked'],
  [clock('23:00'), true, true, false, 'locked'],
  [clock('23:00') + 1, true, true, true, 'over'],
];
for (const [at, ...expected] of moments) {
  test(`a window from 22:00 to 23:00, locked at 22:40, is ${expected[3]} at ${new Date(at).toISOString()}`, () => {
    assert.deepEqual([begun(w1, at), locked(w1, at), ended(w1, at), windowState(w1, at)], expected);
  });
}

test('a window without start has begun, one without end never ends', () => {
  assert.deepEqual([begun(always, 0), ended(always, 1e15), locked(always, 1e15)], [true, false, false]);
});

const fitting: readonly [title: string, of: MigrationWindow, bootMin: number, at: number, expected: boolean][] = [
  ['just enough before it begins', window('w', '22:00', '23:00'), 58.99, clock('21:00'), true],
  ['exactly as long as the window with the reserve', window('w', '22:00', '23:00'), 59, clock('21:00'), false],
  ['46 of 60 minutes at its start', w1, 45, clock('22:00'), true],
  ['an end reached to the millisecond', window('w', '22:00', '23:00'), 0, clock('22:59'), false],
  ['a millisecond more than the reserve', window('w', '22:00', '23:00'), 0, clock('22:59') - 1, true],
  ['no boot time in a window of one minute', window('w', '22:00', '22:01'), 0, clock('21:00'), false],
  ['at the lockout', w1, 0, clock('22:40'), true],
  ['after the lockout', w1, 0, clock('22:40') + 1, false],
  ['after the end', w1, 0, clock('23:30'), false],
  ['a window without end, however long it takes', window('w', '22:00'), 1e6, clock('22:30'), true],
  ['a window without anything', always, 1e6, clock('22:30'), true],
  ['a window that ends before it begins', window('w', '23:00', '22:00'), 0, clock('20:00'), false],
  ['a lockout without end', window('w', '22:00', undefined, { lockout: '22:30' }), 0, clock('22:10'), false],
  ['a lockout after the end', window('w', '22:00', '23:00', { lockout: '23:30' }), 0, clock('22:10'), false],
  ['times that are none', { name: 'w', start: 'soon', end: 'later', capacity: 0 }, 0, clock('22:10'), false],
];
for (const [title, of, bootMin, at, expected] of fitting) {
  test(`${title}: ${expected ? 'fits' : 'does not fit'}`, () => assert.equal(fits(of, bootMin * minute, at), expected));
}

test('valid are those that are not over and whose times make sense', () => {
  const all = [window('over', '20:00', '21:00'), w1, always, window('odd', '23:00', '22:00')];
  assert.deepEqual(validWindows(all, clock('21:30')), [w1, always]);
});

test('the earliest start wins, then the earliest end, then the name; how the list is ordered says nothing', () => {
  const order = [always, window('a', '22:00', '23:00'), window('b', '22:00', '23:00'), window('c', '22:00', '23:30')];
  for (const list of [order, order.toReversed()]) assert.deepEqual(list.toSorted(inTime), order);
  assert.equal(predictWindow(order.slice(1).toReversed(), 0, clock('21:00'))?.name, 'a');
});

const w2 = window('W2', '02:00', '05:00', { day: 2 });
const one = window('W1', '22:00', '23:00', { capacity: 1 });
const choices: readonly [title: string, question: Partial<WindowQuestion>, at: string, expected: string][] = [
  ['1: what it has it keeps, though the window is full', { windows: [one], assigned: { window: 'W1' } }, '22:30', 'W1'],
  [
    '1: what it has it keeps, though the window is locked',
    { windows: [w1], assigned: { window: 'W1' } },
    '22:50',
    'W1',
  ],
  ['1: a window that is over belongs to nobody', { windows: [w1, w2], assigned: { window: 'W1' } }, '23:01', 'W2'],
  ['1: the empty window never ends', { windows: [w1], assigned: {}, isConstraintFull: true }, '23:30', 'empty'],
  ['3: a full constraint is no window now', { windows: [w1], isConstraintFull: true }, '22:10', 'none'],
  ['3: a full constraint is no empty window either', { windows: [], isConstraintFull: true }, '22:10', 'none'],
  ['4: no windows defined is the empty window', { windows: [] }, '22:10', 'empty'],
  ['5: the one that is open', { windows: [w2, w1] }, '22:10', 'W1'],
  ['5: a full one is passed over', { windows: [one, w2] }, '22:10', 'W2'],
  ['5: one that is too short is passed over', { windows: [w1, w2], minBootMs: 55 * minute }, '22:10', 'W2'],
  ['5: one that is locked is passed over', { windows: [w1, w2] }, '22:41', 'W2'],
  ['6: defined but full is not undefined', { windows: [one] }, '22:10', 'none'],
  ['6: defined but over is not undefined', { windows: [w1] }, '23:10', 'none'],
];
for (const [title, question, at, expected] of choices) {
  test(`choice of a window, rule ${title}`, () => {
    const held = new Map([['W1', 1]]);
    const choice = chooseWindow({ windows: [], held, minBootMs: 0, isConstraintFull: false, ...question }, clock(at));
    assert.equal(nameOf(choice), expected);
  });
}

function nameOf(choice: WindowChoice): string {
  return choice.kind === 'window' ? choice.window.name : choice.kind;
}

const explanations: readonly [windows: readonly MigrationWindow[], bootMin: number, at: string, text: RegExp][] = [
  [
    [one, w2],
    0,
    '22:10',
    /^window W1 is full \(1 of 1\) until a VM in it is done or it ends at .*23:00.*; window W2 begins at .*02:00/,
  ],
  [[one], 0, '22:10', /; wait for a place or add a window to the batch$/],
  [
    [window('W1', undefined, undefined, { capacity: 1 })],
    0,
    '22:10',
    /is full \(1 of 1\) until a VM in it is done; wait/,
  ],
  [[w1], 0, '22:50', /^window W1 takes nobody since its lockout at .*22:40.*; add a window to the batch$/],
  [[w1], 55, '22:10', /^window W1 is too short: 56 min are needed before its end at .*23:00.*; add a window/],
  [[w1], 0, '23:10', /^all windows of the batch are over: add one/],
  [[w1], 0, '22:10', /^window W1 is open$/],
  [
    [w1, ...['1', '2', '3', '4'].map((n) => window(n, `0${n}:00`, `0${n}:30`, { day: 2 }))],
    0,
    '21:00',
    /; 2 more after that$/,
  ],
];
for (const [windows, bootMin, at, text] of explanations) {
  test(`at ${at} with ${windows.map(({ name }) => name).join(', ')} it is said: ${text.source}`, () => {
    assert.match(explainNoWindow(windows, bootMin * minute, clock(at), new Map([['W1', 1]])), text);
  });
}

const span = fc.integer({ min: 0, max: 600 }).map((minutes) => clock('20:00') + minutes * minute);
const time = fc.option(
  span.map((ms) => new Date(ms).toISOString()),
  { nil: undefined },
);
const anyWindow = fc
  .record({ name: fc.constantFrom('a', 'b', 'c'), start: time, end: time, lockout: time, capacity: fc.nat(2) })
  .map(({ start, end, lockout, ...rest }): MigrationWindow => ({
    ...rest,
    ...(start === undefined ? {} : { start }),
    ...(end === undefined ? {} : { end }),
    ...(lockout === undefined ? {} : { lockout }),
  }));
const someWindows = fc.array(anyWindow, { maxLength: 4 });
const boots = [0, 7 * minute, 45 * minute];

test('nothing changes before the next instant', () => {
  const answers = (windows: readonly MigrationWindow[], now: number): unknown => [
    windows.map((one) => windowState(one, now)),
    boots.map((boot) => windows.map((one) => fits(one, boot, now))),
    boots.map((boot) => predictWindow(windows, boot, now)?.name),
  ];
  fc.assert(
    fc.property(someWindows, span, fc.nat(1_000), (windows, now, share) => {
      const next = nextInstant(windows, now, boots);
      assert.ok(next === undefined || next > now);
      const until = next ?? clock('20:00') + 1e9;
      for (const then of [until - 1, now + Math.floor(((until - 1 - now) * share) / 1_000)])
        assert.deepEqual(answers(windows, then), answers(windows, now));
    }),
    { numRuns: 2_000 },
  );
});

test('each begin, lockout and end is an instant, just when it counts', () => {
  const seen: number[] = [];
  for (let now: number | undefined = clock('21:00'); now !== undefined; now = nextInstant([w1], now)) seen.push(now);
  const { start, lockout, lastBegin, end } = {
    start: clock('22:00') + 1,
    lockout: clock('22:40') + 1,
    lastBegin: clock('22:59'),
    end: clock('23:00') + 1,
  };
  assert.deepEqual(seen.slice(1), [start, lockout, lastBegin, end]);
  assert.equal(nextInstant([always], 0), undefined);
});

test('a predicted window has a place and is long enough, and no earlier one has', () => {
  fc.assert(
    fc.property(someWindows, span, fc.constantFrom(...boots), fc.nat(2), (windows, now, boot, count) => {
      const held = new Map(['a', 'b', 'c'].map((name) => [name, count]));
      const isGood = (one: MigrationWindow): boolean => fits(one, boot, now) && !isFull(one, held);
      const found = predictWindow(windows, boot, now, held);
      assert.deepEqual(found, windows.filter(isGood).toSorted(inTime)[0]);
      assert.deepEqual(found, predictWindow(windows.toReversed(), boot, now, held));
    }),
  );
});
