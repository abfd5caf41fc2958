import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  afterNews,
  constraintViews,
  decideCommits,
  emptyCommits,
  forgetClosed,
  mostHolders,
  nextCommitInstant,
  windowViews,
  type CommitDecision,
  type CommitRules,
  type Commits,
  type CommitWish,
} from '../../../workflows/domain/batch/commits.ts';
import { at, clock, window } from './window-builders.ts';

const minute = 60_000;

function wish(uuid: string, more: Partial<CommitWish> = {}): CommitWish {
  return { uuid, name: uuid, token: 't', readySince: at('21:00'), minBootMs: 0, cutover: false, ...more };
}

function rules(more: Partial<CommitRules> = {}): CommitRules {
  return { windows: [], constraints: [], isPaused: false, ...more };
}

/** A batch on a clock: says who goes into which window. */
class Table {
  decision: CommitDecision = { commits: emptyCommits, granted: [], waiting: [] };
  readonly #rules: CommitRules;

  constructor(given: CommitRules) {
    this.#rules = given;
  }

  at(now: number, requests: readonly CommitWish[] = [], released: readonly string[] = []): string[] {
    const heard = afterNews(this.decision.commits, { requests, released });
    this.decision = decideCommits(heard, this.#rules, now);
    return this.decision.granted.map(({ uuid, window: given }) => `${uuid} → ${given?.name ?? 'no window'}`);
  }

  get waiting(): string[] {
    return this.decision.waiting.map(({ uuid, predicted }) => `${uuid} (${predicted?.name ?? 'none'})`);
  }

  why(uuid: string): string {
    return this.decision.waiting.find((one) => one.uuid === uuid)?.why ?? '';
  }
}

test('whoever waits for others of the batch lets those behind it go, unless a person wants it now', () => {
  const orderWait = (uuid: string): string | undefined => (uuid === 'web' ? 'db must be finished' : undefined);
  const table = new Table(rules({ orderWait }));
  assert.deepEqual(table.at(clock('21:30'), [wish('web'), wish('x')]), ['x → no window']);
  assert.equal(table.why('web'), 'db must be finished');
  assert.deepEqual(table.at(clock('21:31'), [wish('web', { cutover: true })]), ['web → no window']);
});

test('example A: windows, capacity, lockout, boot time', () => {
  const table = new Table(
    rules({
      windows: [
        window('W1', '22:00', '23:00', { lockout: '22:40', capacity: 2 }),
        window('W2', '02:00', '05:00', { day: 2 }),
      ],
      constraints: [
        { name: 'c1', max_concurrent_instances: 1 },
        { name: 'c2', max_concurrent_instances: 0 },
      ],
    }),
  );
  const c2 = { constraint: 'c2', minBootMs: 45 * minute };
  const c1 = { constraint: 'c1' };
  const ready = [wish('a'), wish('b', c2), wish('c', c2), wish('d', c1), wish('e', c1)];

  assert.deepEqual(table.at(clock('21:30'), ready), []);
  assert.deepEqual(table.waiting, ['a (W1)', 'b (W1)', 'c (W1)', 'd (W1)', 'e (W1)']);

  assert.deepEqual(table.at(clock('22:00')), [], 'it begins after its start');
  assert.deepEqual(table.at(clock('22:00') + 1), ['a → W1', 'b → W1']);
  assert.deepEqual(table.waiting, ['c (W2)', 'd (W2)', 'e (W2)']);
  assert.match(table.why('c'), /^window W1 is full \(2 of 2\) until .*; window W2 begins at .*02:00/);

  assert.deepEqual(table.at(clock('22:12'), [], ['a']), ['c → W1']);
  assert.deepEqual(table.waiting, ['d (W2)', 'e (W2)']);

  assert.deepEqual(table.at(clock('22:31'), [], ['b']), ['d → W1']);
  assert.match(table.why('e'), /^constraint c1 allows 1 at once/);

  assert.deepEqual(table.at(clock('22:40') + 1), []);
  assert.deepEqual(
    table.decision.commits.holders.map(({ uuid, window: held }) => `${uuid} ${held ?? ''}`),
    ['c W1', 'd W1'],
  );

  assert.deepEqual(table.at(clock('22:52'), [], ['d']), []);
  assert.deepEqual(table.waiting, ['e (W2)']);
  assert.match(table.why('e'), /^window W1 takes nobody since its lockout at .*22:40/);

  assert.deepEqual(table.at(clock('23:00'), [wish('c', c2)], ['c']), []);
  assert.deepEqual(table.waiting, ['c (W2)', 'e (W2)']);
  assert.deepEqual(table.at(clock('02:00', 2) + 1), ['c → W2', 'e → W2']);
});

test('case/66: of 20 that are ready in the same second, a window with one place takes one at a time', () => {
  const table = new Table(rules({ windows: [window('W1', '22:00', '23:00', { capacity: 1 })] }));
  const ready = Array.from({ length: 20 }, (_, index) => wish(`vm${String(index).padStart(2, '0')}`));
  assert.deepEqual(table.at(clock('22:10'), ready.toReversed()), ['vm00 → W1']);
  assert.equal(table.waiting.length, 19);
  assert.deepEqual(table.at(clock('22:10') + 1, ready), ['vm00 → W1'], 'asking again gives nobody a place');
  for (const { uuid } of ready.slice(1)) {
    const before = table.decision.commits.holders[0]!.uuid;
    assert.deepEqual(table.at(clock('22:20'), [], [before]), [`${uuid} → W1`]);
  }
});

test('case/80: one that is canceled while it waits is skipped, and nothing is left of it', () => {
  const table = new Table(rules({ windows: [window('W1', '22:00', '23:00', { capacity: 1 })] }));
  table.at(clock('21:00'), [wish('a'), wish('b'), wish('c')]);
  assert.deepEqual(table.at(clock('21:30'), [], ['a']), []);
  assert.deepEqual(table.waiting, ['b (W1)', 'c (W1)']);
  assert.deepEqual(table.at(clock('22:01')), ['b → W1']);
  assert.deepEqual(table.at(clock('22:02')), []);
  assert.deepEqual(table.at(clock('22:03'), [], ['b', 'c']), []);
  assert.deepEqual(table.decision.commits, emptyCommits);
});

test('who has been ready longest goes first, then the name, then the uuid; without a readable time last', () => {
  const ready = [
    wish('5', { readySince: 'some day' }),
    wish('4', { name: 'z' }),
    wish('3', { name: 'a' }),
    wish('2', { name: 'a' }),
    wish('1', { name: 'zz', readySince: at('20:59') }),
  ];
  for (const requests of [ready, ready.toReversed()]) {
    const granted = new Table(rules()).at(clock('22:00'), requests);
    assert.equal(granted.map((text) => text[0]).join(''), '12345');
  }
});

test('without windows everybody may begin; one that asks again is told again and holds one place', () => {
  const table = new Table(rules({ constraints: [{ name: 'c', max_concurrent_instances: 1 }] }));
  assert.deepEqual(table.at(1, [wish('a', { constraint: 'c' })]), ['a → no window']);
  assert.deepEqual(table.at(2, [wish('a', { constraint: 'c' })]), ['a → no window']);
  assert.equal(table.decision.commits.holders.length, 1);
  assert.deepEqual(table.at(3), [], 'it is not told without asking');
});

test('what an entry holds it keeps through lockout, full window, full constraint and pause, and is told again', () => {
  const given = rules({
    windows: [window('W1', '22:00', '23:00', { capacity: 1, lockout: '22:30' })],
    constraints: [{ name: 'c', max_concurrent_instances: 1 }],
  });
  const { commits } = decideCommits(
    afterNews(emptyCommits, { requests: [wish('a', { constraint: 'c' })], released: [] }),
    given,
    clock('22:10'),
  );
  const asking = afterNews(commits, { requests: [wish('a', { constraint: 'c' })], released: [] });
  const again = decideCommits(asking, { ...given, isPaused: true }, clock('22:45'));
  assert.deepEqual(again, { commits, granted: [{ uuid: 'a', token: 't', window: given.windows[0] }], waiting: [] });
  const later = decideCommits(asking, given, clock('23:00') + 1);
  assert.deepEqual([later.granted, later.commits.holders], [[], []]);
  assert.match(later.waiting[0]!.why, /all windows of the batch are over/);
});

test('with another token the entry has begun anew: what it held is over', () => {
  const table = new Table(rules({ windows: [window('W1', '22:00', '23:00', { capacity: 1 })] }));
  assert.deepEqual(table.at(clock('22:01'), [wish('b'), wish('a', { readySince: at('20:00') })]), ['a → W1']);
  assert.deepEqual(table.at(clock('22:02'), [wish('a', { token: 'new' })]), ['a → W1']);
  assert.deepEqual(
    table.decision.commits.holders.map(({ token }) => token),
    ['new'],
  );
});

test('a cutover needs no window, but limits hold, and it takes no place in a window', () => {
  const table = new Table(
    rules({
      windows: [window('W1', '22:00', '23:00', { capacity: 1 })],
      constraints: [{ name: 'c', max_concurrent_instances: 1 }],
    }),
  );
  const now = { constraint: 'c', cutover: true };
  assert.deepEqual(table.at(clock('20:00'), [wish('a', now), wish('b', now)]), ['a → no window']);
  assert.match(table.why('b'), /^constraint c allows 1/);
  assert.deepEqual(table.at(clock('22:10'), [wish('x')]), ['x → W1']);
  assert.deepEqual(table.at(clock('22:11'), [wish('y', { cutover: true })], ['a']), ['b → no window', 'y → no window']);
});

test('one that waits may come to want a cutover: it keeps its turn', () => {
  const table = new Table(rules({ windows: [window('W1', '22:00', '23:00')] }));
  assert.deepEqual(table.at(clock('20:00'), [wish('a')]), []);
  assert.deepEqual(table.at(clock('20:01'), [wish('a', { cutover: true })]), ['a → no window']);
});

test('a stopped batch lets nobody begin, and goes on when resumed', () => {
  const heard = afterNews(emptyCommits, { requests: [wish('a'), wish('b', { cutover: true })], released: [] });
  const stopped = decideCommits(heard, rules({ isPaused: true }), 1);
  assert.deepEqual([stopped.granted, stopped.commits], [[], heard]);
  assert.match(stopped.waiting[0]!.why, /stopped: resume it/);
  assert.equal(decideCommits(stopped.commits, rules(), 2).granted.length, 2);
});

test('a constraint at its maximum keeps nobody else from going, nor does one that fits no window', () => {
  const table = new Table(
    rules({
      windows: [window('W1', '22:00', '23:00')],
      constraints: [
        { name: 'one', max_concurrent_instances: 1 },
        { name: 'any', max_concurrent_instances: 0 },
      ],
    }),
  );
  const granted = table.at(clock('22:10'), [
    wish('a', { constraint: 'one' }),
    wish('b', { constraint: 'one' }),
    wish('c', { minBootMs: 60 * minute }),
    wish('d', { constraint: 'any' }),
    wish('e', { constraint: 'any' }),
  ]);
  assert.deepEqual(granted, ['a → W1', 'd → W1', 'e → W1']);
  assert.match(table.why('c'), /^window W1 is too short: 61 min/);
});

test('one whose constraint was taken out waits until it says which one counts now', () => {
  const table = new Table(rules());
  assert.deepEqual(table.at(1, [wish('a', { constraint: 'old' })]), []);
  assert.match(table.why('a'), /^constraint old was taken out of the batch/);
  assert.deepEqual(table.at(2, [wish('a')]), ['a → no window']);
});

test(`no more than ${mostHolders} of a batch are in their downtime at once, and what is remembered of them is small`, () => {
  const id = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  const ready = Array.from({ length: mostHolders + 1 }, (_, index) =>
    wish(id(index), { token: id(index), constraint: 'by-source' }),
  );
  const table = new Table(rules({ constraints: [{ name: 'by-source', max_concurrent_instances: 0 }] }));
  assert.equal(table.at(1, ready).length, mostHolders);
  assert.match(table.why(id(mostHolders)), /^1000 VMs of the batch are in their downtime/);
  assert.ok(JSON.stringify(table.decision.commits).length < 250_000);
  assert.deepEqual(table.at(2, [], [id(7)]), [`${id(mostHolders)} → no window`]);
});

test('names that objects have by nature are names like others', () => {
  const table = new Table(
    rules({
      windows: [window('constructor', '22:00', '23:00', { capacity: 1 })],
      constraints: [{ name: 'toString', max_concurrent_instances: 1 }],
    }),
  );
  assert.deepEqual(table.at(clock('22:10'), [wish('__proto__', { constraint: 'toString' })]), [
    '__proto__ → constructor',
  ]);
});

test('what is released and what nobody knows leaves no trace; wishes of the same news come after releases', () => {
  assert.deepEqual(afterNews(emptyCommits, { requests: [], released: ['x'] }), emptyCommits);
  const heard = afterNews(emptyCommits, { requests: [wish('a')], released: ['a'] });
  assert.deepEqual(
    heard.requests.map(({ uuid }) => uuid),
    ['a'],
  );
  assert.deepEqual(forgetClosed(heard, ['a', 'x']), emptyCommits);
});

test('the views count who holds what', () => {
  const given = rules({
    windows: [window('W1', '22:00', '23:00', { capacity: 2 }), window('W2', '23:30', '23:50')],
    constraints: [
      { name: 'c', max_concurrent_instances: 5 },
      { name: 'd', max_concurrent_instances: 0 },
    ],
  });
  const table = new Table(given);
  table.at(clock('22:10'), [wish('a', { constraint: 'c' }), wish('b')]);
  const { commits } = table.decision;
  assert.deepEqual(
    windowViews(commits, given.windows, clock('22:10')).map(({ name, held, state }) => [name, held, state]),
    [
      ['W1', 2, 'open'],
      ['W2', 0, 'ahead'],
    ],
  );
  assert.deepEqual(constraintViews(commits, given.constraints), [
    { name: 'c', max: 5, held: 1 },
    { name: 'd', max: 0, held: 0 },
  ]);
});

test('it is decided again when a window begins, and when one gets too short for somebody who waits', () => {
  const given = rules({ windows: [window('W1', '22:00', '23:00')] });
  const heard = afterNews(emptyCommits, { requests: [wish('a', { minBootMs: 50 * minute })], released: [] });
  assert.equal(nextCommitInstant(heard, given, clock('21:00')), clock('22:00') + 1);
  assert.equal(nextCommitInstant(heard, given, clock('22:01')), clock('22:09'));
  assert.equal(nextCommitInstant(emptyCommits, given, clock('22:01')), clock('22:59'));
  assert.equal(nextCommitInstant(heard, rules(), clock('22:01')), undefined);
});

const uuids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const windows = [
  window('W1', '20:10', '21:00', { capacity: 2, lockout: '20:50' }),
  window('W2', '21:10', '22:00', { capacity: 1 }),
  window('W3', '22:10', '23:00'),
];
const constraints = [
  { name: 'one', max_concurrent_instances: 1 },
  { name: 'two', max_concurrent_instances: 2 },
  { name: 'any', max_concurrent_instances: 0 },
];

type Event =
  | { readonly kind: 'ask'; readonly wish: CommitWish }
  | { readonly kind: 'release'; readonly uuid: string }
  | { readonly kind: 'later'; readonly minutes: number }
  | { readonly kind: 'pause'; readonly on: boolean };

/** Each entry has one constraint for life. */
const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        index: fc.nat(uuids.length - 1),
        token: fc.constantFrom('t', 't', 't', 'u'),
        ready: fc.nat(50),
        boot: fc.constantFrom(0, 0, 20, 45),
        cutover: fc.constantFrom(false, false, false, false, true),
      })
      .map(({ index, token, ready, boot, cutover }): Event => {
        const constraint = [undefined, 'one', 'two', 'any'][index % 4];
        const readySince = new Date(clock('19:00') + ready * 1_000).toISOString();
        const one = wish(uuids[index]!, { token, readySince, minBootMs: boot * minute, cutover });
        return { kind: 'ask', wish: constraint === undefined ? one : { ...one, constraint } };
      }),
  },
  { weight: 4, arbitrary: fc.constantFrom(...uuids).map((uuid): Event => ({ kind: 'release', uuid })) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 25 }).map((minutes): Event => ({ kind: 'later', minutes })) },
  { weight: 1, arbitrary: fc.constantFrom(true, false).map((on): Event => ({ kind: 'pause', on })) },
);
const someEvents = fc.array(anyEvent, { maxLength: 60, size: 'max' });
const someWindows = fc.subarray(windows);

function limitOf(name: string): number {
  return constraints.find((one) => one.name === name)?.max_concurrent_instances ?? 0;
}

function checkLimits({ holders }: Commits, given: readonly { name: string; capacity: number }[]): void {
  const count = (by: 'window' | 'constraint', name: string): number => holders.filter((one) => one[by] === name).length;
  for (const { name, capacity } of given)
    assert.ok(capacity === 0 || count('window', name) <= capacity, `${name} has ${count('window', name)}`);
  for (const { name, max_concurrent_instances: max } of constraints)
    assert.ok(max === 0 || count('constraint', name) <= max, `${name} has ${count('constraint', name)}`);
  assert.equal(new Set(holders.map(({ uuid }) => uuid)).size, holders.length);
}

test('whatever happens, no limit is exceeded, no grant and no wish is lost, and what is given back can be given again', () => {
  fc.assert(
    fc.property(someEvents, someWindows, (events, given) => {
      let commits: Commits = emptyCommits;
      let now = clock('20:00');
      let isPaused = false;
      /** What each entry believes, told by messages alone. */
      const wishing = new Set<string>();
      const holding = new Set<string>();
      for (const event of events) {
        if (event.kind === 'later') now += event.minutes * minute;
        if (event.kind === 'pause') isPaused = event.on;
        if (event.kind === 'ask') {
          commits = afterNews(commits, { requests: [event.wish], released: [] });
          wishing.add(event.wish.uuid);
          holding.delete(event.wish.uuid);
        }
        if (event.kind === 'release') {
          commits = afterNews(commits, { requests: [], released: [event.uuid] });
          wishing.delete(event.uuid);
          holding.delete(event.uuid);
        }
        const held = new Set(commits.holders.map(({ uuid }) => uuid));
        const decision = decideCommits(commits, { windows: given, constraints, isPaused }, now);
        commits = JSON.parse(JSON.stringify(decision.commits)) as Commits;
        checkLimits(commits, given);
        for (const { uuid, window: where } of decision.granted) {
          assert.ok(wishing.delete(uuid), 'only who wants to is told');
          holding.add(uuid);
          if (isPaused) assert.ok(held.has(uuid), 'a stopped batch lets nobody new begin');
          if (where !== undefined) assert.ok(Date.parse(where.start!) < now && now <= Date.parse(where.end!));
        }
        assert.deepEqual(new Set(commits.holders.map(({ uuid }) => uuid)), holding);
        assert.deepEqual(new Set(commits.requests.map(({ uuid }) => uuid)), wishing);
        assert.deepEqual(
          decision.waiting.map(({ uuid }) => uuid),
          commits.requests.map(({ uuid }) => uuid),
        );
        assert.ok(decision.waiting.every(({ why }) => why !== ''));
        const again = decideCommits(commits, { windows: given, constraints, isPaused }, now);
        assert.deepEqual([again.granted, again.commits], [[], commits], 'deciding twice decides nothing more');
      }
      const freed = decideCommits(
        forgetClosed(commits, [...holding]),
        { windows: [], constraints, isPaused: false },
        now,
      );
      if (wishing.size > 0) assert.notEqual(freed.granted.length, 0);
    }),
    { numRuns: 2_000 },
  );
});

test('nobody waits for a place that is free: whoever waits in an open window has a limit against it', () => {
  fc.assert(
    fc.property(someEvents, (events) => {
      const wishes = events.flatMap((event) => (event.kind === 'ask' ? [event.wish] : []));
      const open = [window('open', '20:00', '23:00', { capacity: 3 })];
      const heard = afterNews(emptyCommits, { requests: wishes, released: [] });
      const { commits } = decideCommits(heard, { windows: open, constraints, isPaused: false }, clock('20:10'));
      const isFull = commits.holders.filter(({ window: held }) => held === 'open').length >= 3;
      for (const { constraint, cutover } of commits.requests) {
        const held = commits.holders.filter((one) => one.constraint === constraint).length;
        const isAtMost = constraint !== undefined && limitOf(constraint) > 0 && held >= limitOf(constraint);
        assert.ok(isAtMost || (isFull && !cutover));
      }
    }),
    { numRuns: 1_000 },
  );
});
