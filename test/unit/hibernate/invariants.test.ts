import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Luck } from './agent-model.ts';
import { said } from './builders.ts';
import { nodeNames, World, type Bugs, type NodeName } from './model.ts';

/** What can happen next, whoever does it. Plain data, so that a counterexample can be read. */
const events = {
  /** A turn whose action takes effect at once. */
  wholeTurn: (world: World) => {
    world.turn();
    world.apply(world.pending.length - 1);
  },
  turn: (world: World) => void world.turn(),
  lateAction: (world: World, index: number) => world.apply(index),
  crash: (world: World) => (world.pending = []),
  /** The node where the Pod is acts most: else nothing ever gets anywhere. */
  ownAgent: (world: World, luck: Luck) => {
    const at = nodeNames.find((name) => name === world.pod?.nodeName);
    if (at !== undefined) world.step(at, luck);
  },
  anyAgent: (world: World, [name, luck]: readonly [NodeName, Luck]) => world.step(name, luck),
  bind: (world: World, choice: number) => world.bind(choice),
  tick: (world: World) => world.tick(),
  retarget: (world: World, name: string) => world.retarget(name),
  abort: (world: World) => world.abort(),
  retry: (world: World) => (world.order = 'retry'),
  suspend: (world: World, suspended: boolean) => world.suspend(suspended),
  waitLong: (world: World) => world.waitLong(),
  registry: (world: World, state: World['registry']) => (world.registry = state),
  cordon: (world: World, name: string) => world.cordoned.delete(name) || world.cordoned.add(name),
  foreignTag: (world: World) => world.plantForeignTag(),
  cutOff: (world: World, name: NodeName) => world.toggleCutOff(name),
  /** What is remembered on the set is lost. */
  amnesia: (world: World) => world.forget(),
} as const;
type Event = { [K in keyof typeof events]: readonly [K, Parameters<(typeof events)[K]>[1]] }[keyof typeof events];
type Weighted = readonly (readonly [weight: number, arbitrary: fc.Arbitrary<Event>])[];

const node = fc.constantFrom(...nodeNames);
const certainLuck = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Luck>('ok') },
  { weight: 2, arbitrary: fc.constantFrom<Luck>('fails', 'crashes') },
);
const luck = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Luck>('ok') },
  { weight: 2, arbitrary: fc.constantFrom<Luck>('fails', 'lost') },
  { weight: 1, arbitrary: fc.constant<Luck>('crashes') },
);

function event<K extends keyof typeof events>(
  name: K,
  argument: fc.Arbitrary<Parameters<(typeof events)[K]>[1]>,
): fc.Arbitrary<Event> {
  return argument.map((value) => [name, value] as unknown as Event);
}
const nothing = fc.constant(undefined);

function withParts(how: fc.Arbitrary<Luck>, registry: fc.Arbitrary<World['registry']>): Weighted {
  return [
    [20, event('wholeTurn', nothing)],
    [3, event('turn', nothing)],
    [3, event('lateAction', fc.nat(3))],
    [2, event('crash', nothing)],
    [24, event('ownAgent', how)],
    [5, event('anyAgent', fc.tuple(node, how))],
    [5, event('bind', fc.nat(2))],
    [6, event('tick', nothing)],
    [3, event('retarget', fc.constantFrom(...nodeNames, ''))],
    [1, event('suspend', fc.constantFrom(true, false))],
    [1, event('abort', nothing)],
    [1, event('retry', nothing)],
    [1, event('waitLong', nothing)],
    [2, event('registry', registry)],
    [1, event('cordon', node)],
    [1, event('foreignTag', nothing)],
  ];
}
const usual = withParts(luck, fc.constantFrom('ok', 'ok', 'down', 'flaps'));
const cutOff: Weighted = [[2, event('cutOff', node)]];
const flapping: Weighted = [...usual, [20, event('registry', fc.constantFrom('ok', 'flaps'))]];
/** Restores that fail, answers that come late or never, and people who ask again and want something else. */
const troubled: Weighted = [
  ...usual,
  [10, event('ownAgent', fc.constantFrom<Luck>('fails', 'lost'))],
  [10, event('anyAgent', fc.tuple(node, fc.constant<Luck>('ok')))],
  [6, event('retry', nothing)],
  [4, event('retarget', node)],
  [6, event('turn', nothing)],
  [6, event('lateAction', fc.nat(3))],
];
/** A restore that fails, is asked for again and wanted elsewhere. */
const impatient: Weighted = [
  [6, event('ownAgent', fc.constantFrom<Luck>('ok', 'ok', 'fails'))],
  [4, event('anyAgent', fc.tuple(node, fc.constant<Luck>('ok')))],
  [6, event('wholeTurn', nothing)],
  [2, event('retry', nothing)],
  [2, event('bind', fc.nat(2))],
  [1, event('retarget', node)],
];
const amnesia: Weighted = [[1, event('amnesia', nothing)]];

function histories(parts: Weighted, maxLength = 200): fc.Arbitrary<Event[]> {
  const one = fc.oneof(...parts.map(([weight, arbitrary]) => ({ weight, arbitrary })));
  return fc.array(one, { minLength: 1, maxLength, size: 'max' });
}

/** Runs the events until something that must never happen has happened. */
function run(history: readonly Event[], bugs: Bugs = {}): World {
  const world = new World(bugs);
  for (const [name, argument] of history) {
    world.note(`> ${name} ${String(argument ?? '')}`);
    (events[name] as (world: World, argument: unknown) => void)(world, argument);
    world.check();
    if (world.broken !== undefined) break;
  }
  return world;
}

const whole = histories([...usual, ...cutOff]);
/** Begins on the way, so many rounds after somebody has asked for another node. */
function onTheWay([min, max]: readonly [number, number], parts: Weighted): fc.Arbitrary<Event[]> {
  const round: readonly Event[] = [
    ['wholeTurn', undefined],
    ['ownAgent', 'ok'],
    ['bind', 0],
  ];
  return fc
    .tuple(fc.integer({ min, max }), histories(parts, 60))
    .map(([rounds, history]): Event[] => [
      ['retarget', 'node-b'],
      ...Array.from({ length: rounds }, () => round).flat(),
      ...history,
    ]);
}
const anywhere = fc.oneof(whole, onTheWay([4, 25], troubled));
const forgetful = histories([...withParts(certainLuck, fc.constantFrom('ok', 'down')), ...amnesia]);

test('P1, P2, P4: no state is lost, no VM runs twice and nothing foreign is touched, whatever fails, is late or is lost', () => {
  fc.assert(
    fc.property(anywhere, (history) => {
      const world = run(history);
      assert.equal(world.broken, undefined, `${world.broken ?? ''}\n${world.trace.join('\n')}`);
    }),
    { numRuns: 3_000 },
  );
});

test('P1, P2, P4 also hold when the record is lost at any time, as long as agents and registry tell the truth', () => {
  fc.assert(
    fc.property(forgetful, (history) => {
      const world = run(history);
      assert.equal(world.broken, undefined, `${world.broken ?? ''}\n${world.trace.join('\n')}`);
    }),
    { numRuns: 2_000 },
  );
});

/** Everybody does what they should, until nothing is left to do. */
function settle(world: World): string[] {
  const rows: string[] = [];
  world.registry = 'ok';
  world.suspend(false);
  world.cordoned.clear();
  world.pending = [];
  for (const agent of world.agents.values()) agent.cutOff = false;
  if (world.tag?.foreign === true) world.tag = undefined;
  for (let round = 0; round < 400; round++) {
    for (const name of nodeNames) world.step(name, 'ok');
    world.bind(0);
    world.tick();
    const row = world.turn();
    rows.push(row);
    world.apply(world.pending.length - 1);
    world.check();
    if (row.includes('Timeout') || row.includes('MainAgentFailed')) world.order = 'retry';
    if (row.includes('Fenced')) world.nowMs += 60_000;
    // Only a new generation proves that an agent has seen the newest wish: any edit of the set makes one.
    if (round === 150) world.generation++;
    if (world.isSettled()) break;
  }
  return rows;
}

test('once all works again, every history ends with the VM live where it is wanted and nothing left over', () => {
  fc.assert(
    fc.property(anywhere, (history) => {
      const world = run(history);
      const rows = settle(world);
      assert.ok(
        world.isSettled() && world.broken === undefined,
        `${world.broken ?? 'it never settles'}: ${rows.slice(-12).join(', ')}\n${world.trace.join('\n')}\n${JSON.stringify(world.look(), null, 1)}`,
      );
    }),
    { numRuns: 1_500 },
  );
});

/** Rules of ours that are easy to get wrong, each left out: the property must notice. */
const planted: Readonly<Record<string, Bugs & { readonly histories?: fc.Arbitrary<Event[]> }>> = {
  'a tag is taken for the proof that the VM is gone': {
    seen: (o) =>
      o.pod?.hibernate === true && o.tag.state === 'present'
        ? { ...o, pod: { ...o.pod, lifecycle: said('hibernated', o.pod.stamp) } }
        : o,
  },
  'a VM without id is taken for gone': {
    seen: (o) =>
      o.pod?.hibernate === true && o.pod.vmId === ''
        ? { ...o, pod: { ...o.pod, lifecycle: said('hibernated', o.pod.stamp) } }
        : o,
  },
  'what the agent says about an older wish counts': {
    seen: (o) =>
      o.pod?.lifecycle === undefined
        ? o
        : { ...o, pod: { ...o.pod, lifecycle: { ...o.pod.lifecycle, observedGeneration: 1_000 } } },
  },
  'an id is taken for a running VM': {
    seen: (o) =>
      o.pod !== undefined && o.pod.vmId !== ''
        ? { ...o, pod: { ...o.pod, containerRunning: true, lifecycle: said('ready', 1_000) } }
        : o,
  },
  'a missing snapshot is nothing to wait for': {
    histories: onTheWay([13, 16], flapping),
    decided: (decision) =>
      decision.next.kind === 'hold' && decision.next.reason === 'SnapshotMissing'
        ? { ...decision, next: { kind: 'leave' } }
        : decision,
  },
  'writes are not guarded by the version of the Pod': { unguarded: true, histories: onTheWay([4, 16], troubled) },
  'the fence is left out': { settings: { fenceMs: 0 }, histories: onTheWay([13, 16], impatient) },
  'a foreign snapshot is as good as ours': {
    seen: (o) => (o.tag.state === 'present' ? { ...o, tag: { ...o.tag, createdAt: '2026-03-01T12:00:00Z' } } : o),
  },
};

for (const [bug, { histories: those = anywhere, ...bugs }] of Object.entries(planted)) {
  test(`the property notices it when ${bug}`, () => {
    const details = fc.check(
      fc.property(those, (history) => run(history, bugs).broken === undefined),
      { numRuns: 40_000, endOnFailure: true, seed: 7 },
    );
    assert.ok(details.failed, 'the planted bug was not found');
  });
}
