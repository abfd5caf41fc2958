import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { MigrationWindow } from '../../../workflows/domain/batch/records.ts';
import { windowsProblems, type PreviousWindows } from '../../../workflows/domain/batch/window-problems.ts';
import { clock, window } from './window-builders.ts';

const now = clock('21:00');
const w1 = window('W1', '22:00', '23:00', { lockout: '22:40', capacity: 2 });
const w2 = window('W2', '02:00', '05:00', { day: 2 });
const past = window('past', '18:00', '19:00');
const held: PreviousWindows = { windows: [past, w1, w2], assigned: ['W1'] };

type Row = readonly [
  title: string,
  windows: readonly MigrationWindow[],
  problems: readonly (readonly [path: string, text: RegExp])[],
  previous?: PreviousWindows,
];

const rows: readonly Row[] = [
  ['no windows', [], []],
  ['two good ones', [w1, w2], []],
  ['one that may begin when the other ends', [w1, window('W2', '23:00', '23:30')], []],
  ['the same time for start, lockout and end', [window('W', '22:00', '22:00', { lockout: '22:00' })], []],
  ['nothing but an end', [window('W', undefined, '22:00')], []],
  [
    'an end before the start',
    [w2, window('W1', '23:00', '22:00')],
    [['migration_windows[1].end', /^window W1 ends at .*22:00.*, before it starts at .*23:00/]],
  ],
  [
    'a lockout without end',
    [window('W', '22:00', undefined, { lockout: '22:30' })],
    [['migration_windows[0].lockout', /has a lockout and no end/]],
  ],
  [
    'a lockout before the start',
    [window('W', '22:00', '23:00', { lockout: '21:59' })],
    [['migration_windows[0].lockout', /is not within it/]],
  ],
  [
    'a lockout after the end',
    [window('W', '22:00', '23:00', { lockout: '23:01' })],
    [['migration_windows[0].lockout', /is not within it/]],
  ],
  [
    'a lockout after a start that is the end',
    [window('W', '22:00', '22:00', { lockout: '22:01' })],
    [['migration_windows[0].lockout', /is not within it/]],
  ],
  ['a window that is over', [past], [['migration_windows[0].end', /^window past ended at .*19:00.*later end/]]],
  ['a window that is just ending', [window('W', '20:00', '21:00')], []],
  [
    'no whole number as capacity',
    [{ ...w1, capacity: 1.5 }],
    [['migration_windows[0].config.capacity', /capacity of window W1 is no whole number/]],
  ],
  ['a negative capacity', [{ ...w1, capacity: -1 }], [['migration_windows[0].config.capacity', /no whole number/]]],
  [
    'a day that there is not',
    [{ name: 'W', start: '2030-02-30T22:00:00Z', capacity: 0 }],
    [['migration_windows[0].start', /^the start of window W is no time: "2030-02-30T22:00:00Z"/]],
  ],
  [
    'a time without zone and one that is none',
    [{ name: 'W', start: '2030-02-03T22:00:00', end: 'later', capacity: -1 }],
    [
      ['migration_windows[0].start', /is no time/],
      ['migration_windows[0].end', /is no time/],
      ['migration_windows[0].config.capacity', /no whole number/],
    ],
  ],
  ['a name twice', [w1, { ...w2, name: 'W1' }], [['migration_windows[1].name', /another window W1/]]],
  [
    'the same times twice',
    [w1, w2, { ...w1, name: 'W3', capacity: 5 }],
    [['migration_windows[2]', /^windows W1 and W3 have the same times/]],
  ],
  [
    'windows that overlap',
    [window('late', '22:30', '23:30'), window('early', '22:00', '22:31')],
    [['migration_windows[1]', /^windows early and late overlap: early ends at .*22:31.* and late starts at .*22:30/]],
  ],
  [
    'a window within another that has neither start nor end',
    [window('always'), w1],
    [['migration_windows[1]', /^windows always and W1 overlap: always has no end and W1 starts/]],
  ],
  ['the same times with another lockout', [w1, window('W3', '22:00', '23:00')], [['migration_windows[1]', /overlap/]]],
  ['a past window kept as it was', [past, w1], [], held],
  ['a past window changed', [{ ...past, capacity: 1 }, w1], [['migration_windows[0].end', /^window past ended/]], held],
  ['a past window under another name', [{ ...past, name: 'p' }, w1], [['migration_windows[0].end', /ended/]], held],
  ['a past window prolonged', [{ ...past, end: w1.start! }, w1], [], held],
  ['windows that nobody holds left out and changed', [w1, { ...w2, start: w2.end!, capacity: 1 }], [], held],
  ['a held window left out', [w2], [['migration_windows', /^window W1 can't be removed or renamed/]], held],
  [
    'a held window renamed',
    [{ ...w1, name: 'W9' }],
    [['migration_windows', /^window W1 can't be removed or renamed/]],
    held,
  ],
  ['a held window left as it was', [w1], [], held],
  ['a held window that grows', [window('W1', '21:30', '23:59', { capacity: 3 })], [], held],
  ['a held window without any limits', [window('W1')], [], held],
  [
    'a held window that shrinks everywhere',
    [window('W1', '22:01', '22:59', { capacity: 1 })],
    [
      ['migration_windows[0].start', /^VMs hold a place in window W1: its start may only move earlier than .*22:00/],
      ['migration_windows[0].end', /its end may only move later than .*23:00/],
      ['migration_windows[0].config.capacity', /its capacity may only grow from 2/],
    ],
    held,
  ],
  [
    'limits for a held window that had none',
    [window('always', '22:00', '23:00', { capacity: 9 })],
    [
      ['migration_windows[0].start', /earlier than ever/],
      ['migration_windows[0].end', /later than never/],
      ['migration_windows[0].config.capacity', /unlimited/],
    ],
    { windows: [window('always')], assigned: ['always'] },
  ],
  ['a held window that is over and as it was', [past], [], { windows: [past], assigned: ['past'] }],
];

for (const [title, windows, expected, previous] of rows) {
  test(`${title}: ${expected.length === 0 ? 'accepted' : expected.map(([path]) => path).join(', ')}`, () => {
    const found = windowsProblems(windows, now, previous);
    const texts = found.map(({ path, message }) => `${path}: ${message}`).join('\n');
    assert.deepEqual(
      found.map(({ path }) => path),
      expected.map(([path]) => path),
      texts,
    );
    for (const [index, [, text]] of expected.entries()) assert.match(found[index]!.message, text);
  });
}

test('what is accepted never overlaps, in whichever order it is given', () => {
  const quarter = fc.nat(40).map((quarters) => clock('21:15') + quarters * 900_000);
  const some = fc.array(fc.tuple(quarter, fc.integer({ min: 1, max: 8 })), { maxLength: 4 });
  fc.assert(
    fc.property(some, (spans) => {
      const windows = spans.map(([start, quarters], index) => ({
        name: `w${index}`,
        start: new Date(start).toISOString(),
        end: new Date(start + quarters * 900_000).toISOString(),
        capacity: 0,
      }));
      const covered = spans.flatMap(([start, quarters]) =>
        Array.from({ length: quarters }, (_, index) => start + index * 900_000),
      );
      const isApart = new Set(covered).size === covered.length;
      assert.equal(windowsProblems(windows, now).length === 0, isApart);
      assert.equal(windowsProblems(windows.toReversed(), now).length === 0, isApart);
    }),
    { numRuns: 1_000 },
  );
});
