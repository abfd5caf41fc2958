import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  afterSlotCall,
  explainSlot,
  mostWaiting,
  noSlots,
  slotWaitInWords,
  type SlotCall,
  type SlotPriority,
  type Slots,
  type SlotWish,
} from '../../../workflows/domain/batch/slots.ts';

const limits: Record<string, number> = { vc1: 2, vc2: 1, tgt: 3, h1: 1, b1: 1, free: 0 };

function wish(
  holder: string,
  permits: string,
  priority: SlotPriority = 'first',
  more: Partial<SlotWish> = {},
): SlotWish {
  return {
    holder,
    token: 't',
    workflowId: `migration/${holder}`,
    priority,
    permits: permits.split(' ').map((name) => ({ name, limit: limits[name] ?? 0 })),
    ...more,
  };
}
const ask = (...given: Parameters<typeof wish>): SlotCall => ({ kind: 'ask', ask: wish(...given) });
const release = (holder: string, token = 't'): SlotCall => ({ kind: 'release', holder, token });

/** The slots after all calls, and who was let in at each. */
function after(calls: readonly SlotCall[], from: Slots = noSlots): { slots: Slots; granted: string[] } {
  let slots = from;
  const granted = calls.map((call) => {
    const step = afterSlotCall(slots, call);
    slots = step.slots;
    return step.granted.map(({ holder }) => holder).join(' ');
  });
  return { slots, granted };
}

const rows: readonly [title: string, calls: readonly SlotCall[], granted: readonly string[]][] = [
  ['as many as the limit', [ask('1', 'vc1'), ask('2', 'vc1'), ask('3', 'vc1')], ['1', '2', '']],
  ['0 is unlimited', [ask('1', 'free'), ask('2', 'free'), ask('3', 'free')], ['1', '2', '3']],
  ['who came first goes first', [ask('1', 'vc2'), ask('2', 'vc2'), ask('3', 'vc2'), release('1')], ['1', '', '', '2']],
  ['all permits at once or none', [ask('1', 'vc2'), ask('2', 'vc2 h1'), ask('3', 'h1')], ['1', '', '3']],
  ['a permit named twice is one place', [ask('1', 'vc2 vc2'), ask('2', 'vc2'), release('1')], ['1', '', '2']],
  ['other permits are not held up', [ask('1', 'vc2'), ask('2', 'vc2 tgt'), ask('3', 'vc1 tgt')], ['1', '', '3']],
  [
    'final before top-up before first, whoever came first',
    [
      ask('0', 'vc2'),
      ask('1', 'vc2', 'first'),
      ask('2', 'vc2', 'top-up'),
      ask('3', 'vc2', 'final'),
      release('0'),
      release('3'),
      release('2'),
    ],
    ['0', '', '', '', '3', '2', '1'],
  ],
  [
    'a release of somebody unknown, or with an old token, says nothing',
    [ask('1', 'vc2'), ask('2', 'vc2'), release('1', 'old'), release('9'), release('1')],
    ['1', '', '', '', '2'],
  ],
  ['a holder that asks again is told again', [ask('1', 'vc2'), ask('1', 'vc2'), ask('2', 'vc2')], ['1', '1', '']],
  [
    'one that waits and asks again keeps its turn',
    [ask('1', 'vc2'), ask('2', 'vc2'), ask('3', 'vc2'), ask('2', 'vc2'), release('1')],
    ['1', '', '', '', '2'],
  ],
  [
    'a new wish ends what the holder has, and takes its turn',
    [ask('1', 'vc2'), ask('2', 'vc2'), ask('1', 'vc2', 'first', { token: 'u' }), release('2')],
    ['1', '', '2', '1'],
  ],
  [
    'a new wish takes the place of the one before, also in another line',
    [
      ask('1', 'vc2'),
      ask('2', 'vc2'),
      ask('3', 'vc2'),
      ask('3', 'vc2', 'final', { token: 'u' }),
      release('3', 't'),
      release('1'),
    ],
    ['1', '', '', '', '', '3'],
  ],
  [
    'a wish that comes late says nothing',
    [
      ask('1', 'vc2', 'first', { token: 'new', askedAt: 2 }),
      ask('1', 'vc2', 'first', { token: 'old', askedAt: 1 }),
      ask('2', 'vc2'),
      release('1', 'new'),
    ],
    ['1', '', '', '2'],
  ],
  [
    'of two wishes of the same moment the later one counts',
    [
      ask('1', 'vc2', 'first', { token: 'a', askedAt: 1 }),
      ask('1', 'h1', 'first', { token: 'b', askedAt: 1 }),
      ask('2', 'vc2'),
    ],
    ['1', '1', '2'],
  ],
  [
    'who is over gives back what it holds, and is skipped where it waits',
    [
      ask('1', 'vc2'),
      ask('2', 'vc2'),
      ask('3', 'vc2'),
      { kind: 'reclaim', over: ['migration/1', 'migration/2', 'migration/9'] },
    ],
    ['1', '', '', '3'],
  ],
];
for (const [title, calls, granted] of rows) {
  test(`slots: ${title}`, () => assert.deepEqual(after(calls).granted, granted));
}

test('a limit that was raised lets more in; one that was lowered takes nothing from anybody', () => {
  const { slots } = after([ask('1', 'vc1'), ask('2', 'vc1'), ask('3', 'vc1')]);
  const withLimit = (holder: string, limit: number): SlotCall => ({
    kind: 'ask',
    ask: { ...wish(holder, 'vc1'), permits: [{ name: 'vc1', limit }] },
  });
  assert.deepEqual(after([withLimit('4', 3)], slots).granted, ['3']);
  assert.deepEqual(after([withLimit('4', 0)], slots).granted, ['3 4']);
  const lowered = after([withLimit('4', 1), release('1'), release('2')], slots);
  assert.deepEqual(lowered.granted, ['', '', '3']);
});

test('a limit that nobody needs any more is forgotten', () => {
  const { slots } = after([ask('1', 'vc1 h1'), ask('2', 'vc1'), ask('3', 'h1'), release('1'), release('3')]);
  assert.deepEqual(slots.limits, { vc1: 2 });
  assert.deepEqual(after([release('2')], slots).slots, noSlots);
});

test('what is about to be committed gets the permits it needs as they become free, before anything else takes them', () => {
  const { granted } = after([
    ask('1', 'vc2'),
    ask('2', 'h1'),
    ask('last', 'vc2 h1', 'final'),
    release('2'),
    ask('3', 'h1', 'top-up'),
    release('1'),
    release('last'),
  ]);
  assert.deepEqual(granted, ['1', '2', '', '', '', 'last', '3']);
});

test('it keeps one place of each and not more, and only the first of the line does', () => {
  const { granted } = after([
    ask('1', 'vc2'),
    ask('last', 'vc2 tgt', 'final'),
    ask('next', 'vc2 tgt', 'final'),
    ask('3', 'tgt'),
    ask('4', 'tgt'),
    ask('5', 'tgt'),
  ]);
  assert.deepEqual(granted, ['1', '', '', '3', '4', '']);
});

test('one that has others before it in one of its lines keeps nothing', () => {
  const { granted } = after([
    ask('1', 'vc2'),
    ask('2', 'h1'),
    ask('last', 'vc2', 'final'),
    ask('next', 'vc2 h1 tgt', 'final'),
    ask('3', 'tgt'),
    ask('4', 'tgt'),
    ask('5', 'tgt'),
  ]);
  assert.deepEqual(granted, ['1', '2', '', '', '3', '4', '5']);
});

test('case/82: one that waits is told apart from one that works, with what it waits for', () => {
  const { slots } = after([
    ask('1', 'vc1 tgt'),
    ask('2', 'vc1 tgt'),
    ask('3', 'tgt vc1 h1'),
    ask('4', 'tgt vc1'),
    ask('5', 'free'),
  ]);
  assert.deepEqual(explainSlot(slots, '3'), { permit: 'vc1', limit: 2, heldBy: ['1', '2'], ahead: 0 });
  assert.deepEqual(explainSlot(slots, '4'), { permit: 'vc1', limit: 2, heldBy: ['1', '2'], ahead: 1 });
  for (const holder of ['1', '5', 'nobody']) assert.equal(explainSlot(slots, holder), undefined);
  assert.equal(
    slotWaitInWords(explainSlot(slots, '4')!),
    'vc1 has no place free: 2 of 2 are taken, held by 1, 2; ahead of it: 1',
  );
  assert.match(
    slotWaitInWords({ permit: 'vc1', limit: 5, heldBy: ['a', 'b', 'c', 'd', 'e'], ahead: 0 }),
    /held by a, b, c and 2 more;/,
  );
  assert.match(slotWaitInWords({ permit: 'p', limit: 3, heldBy: ['a', 'b', 'c'], ahead: 0 }), /held by a, b, c;/);
});

test('one that waits for a place that is kept for another is told for whom', () => {
  const { slots } = after([ask('1', 'vc2'), ask('last', 'vc2 h1', 'final'), ask('2', 'h1')]);
  const wait = explainSlot(slots, '2');
  assert.deepEqual(wait, { permit: 'h1', limit: 1, heldBy: [], keptFor: 'last', ahead: 1 });
  assert.match(slotWaitInWords(wait), /^h1 has no place free: 0 of 1 are taken, one is kept for last; ahead of it: 1$/);
});

test('one that needs two permits is not passed for ever by those that need one', () => {
  let { slots } = after([ask('a0', 'vc2'), ask('b0', 'h1'), ask('both', 'vc2 h1')]);
  let rounds = 0;
  for (let isIn = false; !isIn && rounds < 200; rounds++) {
    // The next of each line is there before the one before it goes.
    const [a, b] = [`a${rounds}`, `b${rounds}`];
    const step = after([ask(`a${rounds + 1}`, 'vc2'), ask(`b${rounds + 1}`, 'h1'), release(a), release(b)], slots);
    slots = step.slots;
    isIn = step.granted.some((names) => names.split(' ').includes('both'));
  }
  assert.ok(rounds > 2 && rounds < 40, `it was in after ${rounds} rounds`);
});

test('only so many wait in each line; what is about to be committed always may', () => {
  const crowd = (priority: SlotPriority): SlotCall[] =>
    Array.from({ length: mostWaiting + 5 }, (_, index) => ask(`${priority}${index}`, 'vc2', priority));
  const { slots } = after([ask('0', 'vc2'), ...crowd('final'), ...crowd('first'), ...crowd('create')]);
  const count = (priority: SlotPriority): number => slots.waiting.filter((one) => one.priority === priority).length;
  assert.deepEqual([count('final'), count('first'), count('create')], [mostWaiting + 5, mostWaiting, mostWaiting]);
  assert.ok(JSON.stringify(slots).length < 1_000_000);
  const { slots: later } = after([release('0'), ask('first1004', 'vc2'), release('final0'), ask('0', 'vc2')], slots);
  assert.equal(later.holders[0]?.holder, 'final1');
});

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const order: readonly SlotPriority[] = ['final', 'top-up', 'first', 'create'];
const anyCall: fc.Arbitrary<SlotCall> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        holder: fc.constantFrom(...names),
        token: fc.constantFrom('t', 'u'),
        priority: fc.constantFrom(...order),
        permits: fc.subarray(['vc1', 'vc2', 'tgt', 'h1', 'free'], { minLength: 1 }),
      })
      .map(({ holder, token, priority, permits }) => ask(holder, permits.join(' '), priority, { token })),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(fc.constantFrom(...names), fc.constantFrom('t', 'u')).map((one) => release(...one)),
  },
  {
    weight: 1,
    arbitrary: fc
      .subarray(names)
      .map((over): SlotCall => ({ kind: 'reclaim', over: over.map((id) => `migration/${id}`) })),
  },
);
const someCalls = fc.array(anyCall, { maxLength: 60, size: 'max' });

function taken({ holders }: Slots, permit: string): number {
  return holders.filter(({ permits }) => permits.includes(permit)).length;
}

function isFree(slots: Slots, permit: string): boolean {
  const limit = limits[permit] ?? 0;
  return limit === 0 || taken(slots, permit) < limit;
}

/** Those that wait, in the order in which they are served. */
function line(slots: Slots): Slots['waiting'] {
  return order.flatMap((priority) => slots.waiting.filter((one) => one.priority === priority));
}

test('I5: no limit is ever exceeded, nobody is held twice, and everything that is given back can be given again', () => {
  fc.assert(
    fc.property(someCalls, (calls) => {
      let slots = noSlots;
      for (const call of calls) {
        const before = slots;
        const step = afterSlotCall(slots, call);
        slots = JSON.parse(JSON.stringify(step.slots)) as Slots;
        for (const permit of Object.keys(limits))
          assert.ok(limits[permit] === 0 || taken(slots, permit) <= limits[permit]!, permit);
        const all = [...slots.holders, ...slots.waiting].map(({ holder }) => holder);
        assert.equal(new Set(all).size, all.length);
        // Who is new among the holders has been told, and nobody else but who has asked again.
        const told = new Set(step.granted.map(({ holder, token }) => `${holder} ${token}`));
        const key = ({ holder, token }: { holder: string; token: string }): string => `${holder} ${token}`;
        const held = new Set(before.holders.map(key));
        const repeated = call.kind === 'ask' ? key(call.ask) : '';
        for (const one of slots.holders) assert.equal(told.has(key(one)), !held.has(key(one)) || key(one) === repeated);
        // Nobody that could be served waits, unless a place is kept for one before it.
        const waiting = line(slots);
        for (const one of waiting) {
          const wait = explainSlot(slots, one.holder)!;
          if (one.permits.every((permit) => isFree(slots, permit))) {
            const keeper = waiting.findIndex(({ holder }) => holder === wait.keptFor);
            assert.ok(keeper >= 0 && keeper < waiting.indexOf(one));
          }
        }
      }
      // Once all that hold are done, one after the other, nothing is left.
      for (let steps = 0; slots.holders.length > 0; steps++) {
        assert.ok(steps < 100);
        slots = afterSlotCall(slots, {
          ...release(slots.holders[0]!.holder),
          token: slots.holders[0]!.token,
        } as SlotCall).slots;
      }
      assert.deepEqual(slots, noSlots);
    }),
    { numRuns: 2_000 },
  );
});

test('I6: a permit that the first of the line needs and could have is never taken by others before it', () => {
  fc.assert(
    fc.property(someCalls, (calls) => {
      let slots = noSlots;
      for (const call of calls) {
        const first = line(slots)[0];
        const couldHave = first?.permits.filter((permit) => isFree(slots, permit)) ?? [];
        const { slots: next } = afterSlotCall(slots, call);
        const still = line(next)[0];
        if (first?.priority === 'final' && still?.holder === first.holder && still.token === first.token)
          for (const permit of couldHave) assert.ok(isFree(next, permit), `${permit} was taken from ${first.holder}`);
        slots = next;
      }
    }),
    { numRuns: 3_000 },
  );
});

test('I6: of those that need the same, never one of a lower line before one of a higher', () => {
  fc.assert(
    fc.property(someCalls, (calls) => {
      let slots = noSlots;
      for (const call of calls) {
        const step = afterSlotCall(slots, call);
        const isNew = new Set(step.granted.map(({ holder }) => holder));
        const served = step.slots.holders.filter(
          ({ holder }) => isNew.has(holder) && !slots.holders.some((one) => one.holder === holder),
        );
        for (const one of served)
          for (const other of step.slots.waiting)
            if (order.indexOf(other.priority) < order.indexOf(one.priority))
              assert.notDeepEqual([...other.permits].sort(), [...one.permits].sort());
        slots = step.slots;
      }
    }),
    { numRuns: 2_000 },
  );
});
