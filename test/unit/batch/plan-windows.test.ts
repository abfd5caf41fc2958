import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  countStates,
  planWindows,
  troubleFirst,
  type Candidate,
} from '../../../activities/lookup/batch/plan-windows.ts';
import type { Constraint, MigrationWindow } from '../../../workflows/domain/batch/records.ts';
import { aBatch } from './record-builders.ts';

const now = Date.parse('2026-03-01T12:00:00Z');
const hourMs = 3_600_000;

function window(name: string, start: number, end: number, over: Partial<MigrationWindow> = {}): MigrationWindow {
  const at = (hour: number): string => new Date(now + hour * hourMs).toISOString();
  return { name, start: at(start), end: at(end), capacity: 0, ...over };
}

function vm(name: string, over: Partial<Candidate> = {}): Candidate {
  return { uuid: `u-${name}`, name, source: 'vc1', location: `/${name}`, state: 'planned', minBootMs: 0, ...over };
}

function constraint(over: Partial<Constraint> = {}): Constraint {
  return {
    ...{ name: 'web', description: '', include_expression: 'true', max_concurrent_instances: 1 },
    min_instance_boot_time: 0,
    ...over,
  };
}

const plan = (
  vms: readonly Candidate[],
  windows: readonly MigrationWindow[],
  constraints: readonly Constraint[] = [],
) => planWindows(vms, aBatch({ migration_windows: windows, constraints }), now);

describe('a plan of windows', () => {
  test('without windows everybody goes at any time', () => {
    const { vms, windows } = plan([vm('a'), vm('b', { state: 'blocked' })], []);
    assert.deepEqual(
      vms.map(({ state, window: of }) => [state, of]),
      [
        ['planned', undefined],
        ['blocked', undefined],
      ],
    );
    assert.deepEqual(windows, []);
  });

  test('fills the earliest window first, in natural order of names, and leaves who has trouble out', () => {
    const { vms, windows } = plan(
      [vm('web-10'), vm('web-9'), vm('db', { state: 'taken', why: 'w' }), vm('web-11')],
      [window('second', 5, 9), window('first', 1, 4, { capacity: 2 })],
    );
    assert.deepEqual(
      vms.map(({ name, window: of }) => [name, of]),
      [
        ['db', undefined],
        ['web-9', 'first'],
        ['web-10', 'first'],
        ['web-11', 'second'],
      ],
    );
    assert.deepEqual(
      windows.map(({ name, vms: count }) => [name, count]),
      [
        ['first', 2],
        ['second', 1],
      ],
    );
  });

  test("one that needs longer than every window lasts doesn't fit, whoever else goes", () => {
    const { vms } = plan([vm('db', { minBootMs: 5 * hourMs })], [window('one', 1, 4), window('two', 5, 9)]);
    assert.deepEqual(
      [vms[0]?.state, vms[0]?.why],
      ['does-not-fit', 'needs 5 h 1 min, the longest window has 4 h 0 min left'],
    );
  });

  test('a window that is open has only the rest of it, one after its lockout nothing', () => {
    const { vms } = plan([vm('db', { minBootMs: 2 * hourMs })], [window('open', -3, 1)]);
    assert.equal(vms[0]?.why, 'needs 2 h 1 min, the longest window has 1 h 0 min left');
    const lockout = new Date(now - hourMs).toISOString();
    const late = plan([vm('a')], [window('open', -3, 1, { lockout })]);
    assert.deepEqual([late.vms[0]?.state, late.windows[0]?.vms], ['does-not-fit', 0]);
  });

  test('windows that are over are told apart from ones that are short', () => {
    const { vms, windows } = plan([vm('a')], [window('past', -4, -2)]);
    assert.deepEqual([vms[0]?.state, vms[0]?.why], ['does-not-fit', 'all windows are over: add one to the batch']);
    assert.deepEqual(windows, []);
  });

  test('who fits but finds every place taken has no place', () => {
    const { vms } = plan([vm('a'), vm('b')], [window('one', 1, 4, { capacity: 1 })]);
    assert.deepEqual(
      vms.map(({ state }) => state),
      ['planned', 'no-place'],
    );
  });

  test('a window tells what the longest needs and which constraint holds its VMs back', () => {
    const { windows } = plan(
      [
        vm('a', { constraint: 'web', minBootMs: hourMs }),
        vm('b', { constraint: 'web' }),
        vm('c', { constraint: 'db' }),
      ],
      [window('one', 1, 4)],
      [constraint(), constraint({ name: 'db' }), constraint({ name: 'any', max_concurrent_instances: 0 })],
    );
    assert.deepEqual([windows[0]?.longestMs, windows[0]?.notes], [hourMs, ['2 go 1 at a time (constraint "web")']]);
  });

  test('trouble comes first, each kind by name; counts add up', () => {
    const states = ['planned', 'taken', 'blocked', 'does-not-fit', 'no-place'] as const;
    const vms = states.map((state, i) => ({ ...vm(`vm-${i}`), state, neededMs: 0 }));
    assert.deepEqual(
      troubleFirst(vms).map(({ state }) => state),
      ['no-place', 'does-not-fit', 'blocked', 'taken', 'planned'],
    );
    assert.deepEqual(countStates(vms), { planned: 1, 'no-place': 1, 'does-not-fit': 1, blocked: 1, taken: 1 });
  });

  test('no window is ever overfilled, and nobody who is planned is without one', () => {
    const some = fc.array(
      fc.record({ boot: fc.integer({ min: 0, max: 6 }), state: fc.constantFrom('planned', 'blocked') }),
      {
        maxLength: 12,
      },
    );
    const capacities = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(some, capacities, (wishes, places) => {
        const windows = places.map((capacity, i) => window(`w${i}`, 1 + i * 5, 4 + i * 5, { capacity }));
        const candidates = wishes.map(({ boot, state }, i) =>
          vm(`vm-${i}`, { minBootMs: boot * hourMs, state: state as Candidate['state'] }),
        );
        const { vms, windows: planned } = plan(candidates, windows);
        assert.equal(vms.length, candidates.length);
        for (const { capacity, vms: count } of planned) assert.ok(capacity === 0 || count <= capacity);
        for (const one of vms) assert.equal(one.window !== undefined, one.state === 'planned');
      }),
    );
  });
});
