import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  afterCall,
  defaultLimits,
  emptyGate,
  placeInQueue,
  type Gate,
  type GateCall,
  type SlotRequest,
} from '../../../workflows/domain/hibernate/slots.ts';

const wish = (set: string, source = 'a', target = 'b'): SlotRequest => ({
  set,
  source,
  target,
  workflowId: `migrate/${set}`,
});

/** The gate after all calls, and who was let in at each. */
function after(calls: readonly GateCall[], limits = defaultLimits): { gate: Gate; granted: string[][] } {
  const granted: string[][] = [];
  let gate = emptyGate;
  for (const call of calls) {
    const step = afterCall(gate, call, limits);
    gate = step.gate;
    granted.push(step.granted.map(({ set }) => set));
  }
  return { gate, granted };
}
const ask = (...wishes: SlotRequest[]): GateCall[] => wishes.map((request) => ({ kind: 'request', request }));

test('never more than the limit per source, per target and in all', () => {
  const perSource = after(ask(wish('1', 'a', 'b'), wish('2', 'a', 'c'), wish('3', 'a', 'd')));
  assert.deepEqual(perSource.granted, [['1'], ['2'], []]);
  const perTarget = after(ask(wish('1', 'a', 'z'), wish('2', 'b', 'z'), wish('3', 'c', 'z')));
  assert.deepEqual(perTarget.granted, [['1'], ['2'], []]);
  const overall = after(ask(...['1', '2', '3', '4', '5'].map((n) => wish(n, `s${n}`, `t${n}`))));
  assert.deepEqual(overall.granted.at(-1), []);
});

test('one that waits for its node does not keep a later one from its own', () => {
  const { granted, gate } = after(ask(wish('1'), wish('2'), wish('3'), wish('4', 'x', 'y')));
  assert.deepEqual(granted, [['1'], ['2'], [], ['4']]);
  assert.equal(placeInQueue(gate, '3'), 0);
});

test('who came first goes first when a slot is free', () => {
  const { granted } = after([...ask(wish('1'), wish('2'), wish('3'), wish('4')), { kind: 'release', set: '1' }]);
  assert.deepEqual(granted.at(-1), ['3']);
});

test('one that is parked does not count until it moves again, then it is in beyond the limit', () => {
  const { granted, gate } = after([
    ...ask(wish('1'), wish('2'), wish('3')),
    { kind: 'park', set: '1' },
    { kind: 'unpark', set: '1' },
  ]);
  assert.deepEqual(granted[3], ['3']);
  assert.equal(gate.holders.filter(({ parked }) => !parked).length, 3);
  assert.deepEqual(afterCall(gate, { kind: 'request', request: wish('5') }, defaultLimits).granted, []);
});

test('whoever has begun is in, whatever the limit; asking again changes nothing but is answered', () => {
  const { gate, granted } = after([
    ...ask(wish('1'), wish('2')),
    { kind: 'claim', request: wish('3') },
    ...ask(wish('1'), wish('4'), wish('4', 'x', 'y')),
  ]);
  assert.deepEqual(granted, [['1'], ['2'], [], ['1'], [], ['4']]);
  assert.deepEqual(gate.holders.map(({ set }) => set).sort(), ['1', '2', '3', '4']);
});

test('what the cluster shows replaces what the gate has forgotten', () => {
  const begun = [wish('1'), wish('9')];
  const { gate, granted } = after([...ask(wish('1'), wish('2'), wish('3')), { kind: 'reconcile', begun, over: ['2'] }]);
  assert.deepEqual(gate.holders.map(({ set }) => set).sort(), ['1', '9']);
  assert.deepEqual(granted.at(-1), []);
  const empty = after([{ kind: 'reconcile', begun: [], over: ['1', '2', '9'] }]);
  assert.deepEqual(empty.gate, emptyGate);
});

test('requests alone never exceed a limit, nobody is held twice, and a free slot is never kept from one who fits', () => {
  const set = fc.constantFrom('1', '2', '3', '4', '5', '6');
  const node = fc.constantFrom('a', 'b', 'c');
  const call: fc.Arbitrary<GateCall> = fc.oneof(
    fc.record({
      kind: fc.constant('request' as const),
      request: fc.record({ set, source: node, target: node, workflowId: set }),
    }),
    fc.record({ kind: fc.constant('release' as const), set }),
  );
  fc.assert(
    fc.property(fc.array(call, { maxLength: 40 }), (calls) => {
      const limits = { overall: 3, perSource: 2, perTarget: 1 };
      // Of one that is in already only what it began with counts.
      const steady = calls.filter(
        (one, index) =>
          one.kind !== 'request' ||
          calls
            .slice(0, index)
            .every((earlier) => earlier.kind !== 'request' || earlier.request.set !== one.request.set),
      );
      const { gate } = after(steady, limits);
      const count = (by: 'source' | 'target', name: string): number =>
        gate.holders.filter((one) => one[by] === name).length;
      assert.ok(gate.holders.length <= 3);
      for (const name of ['a', 'b', 'c']) assert.ok(count('source', name) <= 2 && count('target', name) <= 1);
      const sets = [...gate.holders, ...gate.queue].map((one) => one.set);
      assert.equal(new Set(sets).size, sets.length);
      const fits = gate.queue.filter(
        ({ source, target }) => gate.holders.length < 3 && count('source', source) < 2 && count('target', target) < 1,
      );
      assert.deepEqual(fits, []);
    }),
    { numRuns: 1_000 },
  );
});
