import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Marker, Observation, ObservedVm } from '../../../workflows/domain/template/observation.ts';
import { isOurTemp, plan, type Action, type Plan, type Wanted } from '../../../workflows/domain/template/plan.ts';

const digest = 'd'.repeat(64);
const workflow = 'template-swap/main/DC0/vm/t';
const wanted: Wanted = {
  prodName: 't',
  version: '2',
  sha256: digest,
  opId: `${workflow}/run-2`,
  createIfMissing: false,
  replaceUnknownVersion: false,
  strictOwnership: true,
  recovery: 'forward-if-ready',
  adopted: [],
  givenUp: [],
  leaseTimeoutS: 300,
};

const vm = (ref: string, over: Partial<ObservedVm> = {}): ObservedVm => ({
  ref: { type: 'VirtualMachine', value: ref },
  name: ref,
  isTemplate: true,
  poweredOff: true,
  hasSnapshot: false,
  ...over,
});
const marker = (over: Partial<Marker> = {}): Marker => ({
  prod: 't',
  opId: `${workflow}/run-1`,
  version: '2',
  sha256: digest,
  state: 'ready',
  ...over,
});

const P = {
  '–': undefined,
  cur: vm('p', { version: '2', marker: marker() }),
  old: vm('p', { version: '1' }),
  unk: vm('p'),
  bad: vm('p', { version: '1', isTemplate: false }),
  on: vm('p', { version: '1', poweredOff: false }),
} as const;
const T = {
  '–': undefined,
  rdy: vm('n', { version: '2', marker: marker() }),
  'rdy-unflagged': vm('n', { version: '2', marker: marker(), isTemplate: false }),
  own: vm('n', { isTemplate: false, marker: marker({ state: 'importing', sha256: '' }) }),
  'own-other-version': vm('n', { version: '3', marker: marker({ version: '3' }) }),
  'fgn-on': vm('n', { poweredOff: false, marker: marker() }),
  'fgn-unmarked': vm('n', { version: '2' }),
  'fgn-other-prod': vm('n', { marker: marker({ prod: 'else' }) }),
  other: vm('n', {
    isTemplate: false,
    ageS: 20,
    marker: marker({ state: 'importing', opId: 'someone/else', sha256: '' }),
  }),
} as const;
const R = {
  '–': undefined,
  ok: vm('o', { version: '1', marker: marker({ version: '1' }) }),
  unproven: vm('o', { version: '1' }),
  'of-another': vm('o', { version: '1', marker: marker({ version: '1', prod: 'else' }) }),
  fgn: vm('o', { poweredOff: false }),
} as const;

type Expected =
  | readonly Action[]
  | 'done'
  | 'conflict temp'
  | 'conflict rollback'
  | 'other writer'
  | 'PROD_MISSING'
  | 'UNKNOWN_PROD_VERSION'
  | 'PROD_NOT_TEMPLATE';
type Line = readonly [
  row: string,
  p: keyof typeof P,
  t: keyof typeof T,
  r: keyof typeof R,
  expected: Expected,
  over?: Partial<Wanted>,
];

const swapIn: readonly Action[] = ['import', 'finalize', 'swap', 'destroyRollback'];
const replace = { replaceUnknownVersion: true };
const create = { createIfMissing: true };

/** Every row of the state table, in its order. */
const lines: readonly Line[] = [
  ['0', '–', '–', '–', 'PROD_MISSING'],
  ['0', '–', '–', '–', ['import', 'finalize', 'promote'], create],
  ['1', '–', '–', 'ok', ['restore']],
  ['2a', '–', 'rdy', '–', ['promote']],
  ['2a', '–', 'rdy-unflagged', '–', ['finalize', 'promote']],
  ['2b', '–', 'own', '–', ['destroyTemp']],
  ['3a', '–', 'rdy', 'ok', ['promote', 'destroyRollback']],
  ['3a', '–', 'rdy', 'ok', ['restore', 'swap', 'destroyRollback'], { recovery: 'back-first' }],
  ['3b', '–', 'own', 'ok', ['restore', 'destroyTemp', ...swapIn]],
  ['3b', '–', 'own-other-version', 'ok', ['restore', 'destroyTemp', ...swapIn]],
  ['4a', 'cur', '–', '–', 'done'],
  ['4b', 'old', '–', '–', swapIn],
  ['4c', 'unk', '–', '–', 'UNKNOWN_PROD_VERSION'],
  ['4c', 'unk', '–', '–', swapIn, replace],
  ['5a', 'cur', '–', 'ok', ['destroyRollback']],
  ['5b', 'old', '–', 'ok', ['destroyRollback', ...swapIn]],
  ['5c', 'unk', '–', 'ok', 'UNKNOWN_PROD_VERSION', replace],
  ['5c', 'unk', '–', 'fgn', 'UNKNOWN_PROD_VERSION'],
  ['6a', 'cur', 'rdy', '–', ['destroyTemp']],
  ['6a', 'cur', 'own', '–', ['destroyTemp']],
  ['6b', 'old', 'rdy', '–', ['finalize', 'swap', 'destroyRollback']],
  ['6b', 'old', 'rdy', '–', ['swap', 'destroyRollback'], { checked: 'n' }],
  ['6b', 'old', 'rdy-unflagged', '–', ['finalize', 'swap', 'destroyRollback']],
  ['6c', 'old', 'own', '–', ['destroyTemp', ...swapIn]],
  ['6d', 'unk', 'rdy', '–', 'UNKNOWN_PROD_VERSION'],
  ['6c', 'old', 'rdy', '–', ['destroyTemp', ...swapIn], { unfit: ['n'] }],
  ['6d', 'unk', 'rdy', '–', ['finalize', 'swap', 'destroyRollback'], replace],
  ['6d', 'unk', 'own', '–', ['destroyTemp', ...swapIn], replace],
  ['7a', 'cur', 'rdy', 'ok', ['destroyTemp', 'destroyRollback']],
  ['7b', 'old', 'rdy', 'ok', ['destroyRollback', 'finalize', 'swap', 'destroyRollback']],
  ['7c', 'old', 'own', 'ok', ['destroyTemp', 'destroyRollback', ...swapIn]],
  ['7d', 'unk', 'rdy', 'ok', 'UNKNOWN_PROD_VERSION', replace],
  ['8', 'bad', 'rdy', 'ok', 'PROD_NOT_TEMPLATE'],
  ['8', 'on', '–', '–', 'PROD_NOT_TEMPLATE'],
  ['9', 'cur', 'fgn-on', '–', 'done'],
  ['9', 'cur', 'fgn-unmarked', 'ok', ['destroyRollback']],
  ['9', 'cur', 'other', 'fgn', 'done'],
  ['10', '–', 'fgn-on', 'ok', ['restore']],
  ['10', 'old', 'fgn-on', '–', 'conflict temp'],
  ['10', 'old', 'fgn-unmarked', 'ok', 'conflict temp'],
  ['10', 'old', 'fgn-other-prod', 'fgn', 'conflict temp'],
  ['10', '–', 'fgn-on', '–', 'conflict temp'],
  ['10', 'old', 'other', '–', 'other writer'],
  ['1', '–', '–', 'unproven', ['restore']],
  ['3a', '–', 'rdy', 'unproven', ['promote', 'destroyRollback']],
  ['11', 'cur', '–', 'fgn', 'done'],
  ['11', 'cur', '–', 'unproven', 'done'],
  ['11', 'cur', '–', 'of-another', 'done'],
  ['12', 'old', '–', 'unproven', 'conflict rollback'],
  ['12', 'old', 'own', 'of-another', 'conflict rollback'],
  ['5a', 'cur', '–', 'unproven', ['destroyRollback'], { previous: 'o' }],
  ['5b', 'old', '–', 'unproven', ['destroyRollback', ...swapIn], { givenUp: ['o'] }],
  ['5b', 'old', '–', 'unproven', ['destroyRollback', ...swapIn], { strictOwnership: false }],
  ['11', 'cur', '–', 'of-another', 'done', { strictOwnership: false }],
  ['11', 'cur', 'own', 'fgn', ['destroyTemp']],
  ['12', '–', 'rdy', 'fgn', ['promote']],
  ['12', 'old', '–', 'fgn', 'conflict rollback'],
  ['12', 'old', 'rdy', 'fgn', 'conflict rollback'],
  ['12', '–', 'own', 'fgn', 'conflict rollback'],
];

function inShort(result: Plan): Expected {
  if (result.kind === 'go') return result.actions;
  if (result.kind === 'done') return 'done';
  if (result.kind === 'fail') return result.code;
  return result.code === 'OTHER_WRITER' ? 'other writer' : `conflict ${result.object}`;
}

const observation = (p?: ObservedVm, t?: ObservedVm, r?: ObservedVm): Observation => ({
  warnings: [],
  ...(p === undefined ? {} : { prod: p }),
  ...(t === undefined ? {} : { temp: t }),
  ...(r === undefined ? {} : { rollback: r }),
});

for (const [row, p, t, r, expected, over = {}] of lines) {
  test(`row ${row}: prod ${p}, temp ${t}, rollback ${r}${Object.keys(over).length === 0 ? '' : ` with ${JSON.stringify(over)}`}`, () => {
    const result = plan(observation(P[p], T[t], R[r]), { ...wanted, ...over });
    assert.deepEqual(inShort(result), expected);
    assert.equal(result.row, row);
  });
}

test('every combination of what can stand under the three names has a row', () => {
  for (const p of Object.values(P))
    for (const t of Object.values(T)) for (const r of Object.values(R)) plan(observation(p, t, r), wanted);
});

test('foreign objects are never acted upon, and a warning names them', () => {
  const result = plan(observation(P.cur, T['fgn-on'], R.fgn), wanted);
  assert.ok(result.kind === 'done' && result.warnings.length === 1);
});

test('without strict ownership an unmarked temp is a left-over of ours', () => {
  assert.deepEqual(inShort(plan(observation(P.old, T['fgn-unmarked']), { ...wanted, strictOwnership: false })), [
    'destroyTemp',
    ...swapIn,
  ]);
});

test('a person can adopt a temp as the new version, or give it up', () => {
  assert.deepEqual(inShort(plan(observation(P.old, T['fgn-unmarked']), { ...wanted, adopted: ['n'] })), [
    'finalize',
    'swap',
    'destroyRollback',
  ]);
  assert.deepEqual(inShort(plan(observation(P.old, T['fgn-unmarked']), { ...wanted, givenUp: ['n'] })), [
    'destroyTemp',
    ...swapIn,
  ]);
  assert.equal(
    inShort(plan(observation(P.old, T['fgn-on']), { ...wanted, adopted: ['n'], givenUp: ['n'] })),
    'conflict temp',
    'a powered-on VM stays foreign',
  );
});

test('a rollback that was given up is destroyed, but never becomes the template', () => {
  const notTemplate = vm('o', { isTemplate: false });
  const givenUp = { ...wanted, givenUp: ['o'] };
  assert.deepEqual(inShort(plan(observation(P.old, undefined, notTemplate), givenUp)), ['destroyRollback', ...swapIn]);
  assert.equal(inShort(plan(observation(undefined, undefined, notTemplate), givenUp)), 'conflict rollback');
});

test('the VM that this run imported goes on to be finished', () => {
  assert.deepEqual(inShort(plan(observation(P.old, T.own), { ...wanted, imported: 'n' })), [
    'finalize',
    'swap',
    'destroyRollback',
  ]);
});

test("another writer's import is ours once its lease must be over", () => {
  const stale = vm('n', { isTemplate: false, ageS: 400, marker: marker({ state: 'importing', opId: 'someone/else' }) });
  assert.deepEqual(inShort(plan(observation(P.old, stale), wanted)), ['destroyTemp', ...swapIn]);
});

test('the template that took its place proves whose the previous one is', () => {
  const replacing = vm('p', { version: '2', marker: marker({ replaces: 'o' }) });
  assert.deepEqual(inShort(plan(observation(replacing, undefined, R.unproven), wanted)), ['destroyRollback']);
  assert.equal(inShort(plan(observation(replacing, undefined, vm('x', { version: '1' })), wanted)), 'done');
});

test('an adopted temp that turned out not to be as wanted is a question again', () => {
  const adopted = { ...wanted, adopted: ['n'], unfit: ['n'] };
  assert.equal(inShort(plan(observation(P.old, T['fgn-unmarked']), adopted)), 'conflict temp');
});

test('only a temp of ours is removed after a failure', () => {
  assert.ok(isOurTemp(observation(P.old, T.own), wanted));
  assert.ok(!isOurTemp(observation(P.old, T['fgn-on']), wanted));
  assert.ok(!isOurTemp(observation(P.old), wanted));
});

// The model: what each action does to the three names.
interface World {
  readonly prod?: ObservedVm;
  readonly temp?: ObservedVm;
  readonly rollback?: ObservedVm;
}

const effects: Readonly<Record<Action, (world: World) => World>> = {
  restore: ({ rollback, ...rest }) => ({ ...rest, ...(rollback && { prod: rollback }) }),
  promote: ({ temp, ...rest }) => ({ ...rest, ...(temp && { prod: temp }) }),
  import: (world) => ({ ...world, temp: T.own }),
  finalize: (world) => ({
    ...world,
    ...(world.temp && {
      temp: vm(world.temp.ref.value, {
        version: '2',
        marker: marker(world.prod === undefined ? {} : { replaces: world.prod.ref.value }),
      }),
    }),
  }),
  swap: ({ prod, temp }) => ({ ...(temp && { prod: temp }), ...(prod && { rollback: prod }) }),
  destroyTemp: (world) => without(world, 'temp'),
  destroyRollback: (world) => without(world, 'rollback'),
};
/** A crash inside the swap: only the first rename happened. */
const halfSwap = ({ prod, ...rest }: World): World => ({ ...rest, ...(prod && { rollback: prod }) });

const asObservation = (world: World): Observation => ({ ...world, warnings: [] });
const isReady = (temp: ObservedVm | undefined): boolean => temp?.marker?.state === 'ready' && temp.version === '2';
const hasTemplate = ({ prod, temp, rollback }: World): boolean =>
  prod !== undefined || rollback !== undefined || isReady(temp);

const worlds = fc.record({
  prod: fc.constantFrom(P['–'], P.cur, P.old),
  temp: fc.constantFrom(T['–'], T.rdy, T['rdy-unflagged'], T.own, T['own-other-version']),
  rollback: fc.constantFrom(R['–'], R.ok),
});

test('from any state, with crashes after any action, the plan converges and never loses the template', () => {
  fc.assert(
    fc.property(
      worlds,
      fc.constantFrom('forward-if-ready' as const, 'back-first' as const),
      fc.infiniteStream(fc.boolean()),
      (start, recovery, crashes) => {
        let world = compact(start);
        const hadTemplate = hasTemplate(world);
        // Whether a crash wiped what the run knew about its own import.
        let imported: string | undefined;
        let checked: string | undefined;
        let previous: string | undefined;
        for (let round = 0; round < 40; round++) {
          const next = plan(asObservation(world), {
            ...wanted,
            recovery,
            createIfMissing: true,
            ...(imported === undefined ? {} : { imported }),
            ...(checked === undefined ? {} : { checked }),
            ...(previous === undefined ? {} : { previous }),
          });
          if (next.kind === 'done') break;
          if (next.kind !== 'go') assert.fail(`stuck in row ${next.row}`);
          const [action] = next.actions;
          const crashed = round < 20 && crashes.next().value === true;
          const before = world;
          world = crashed && action === 'swap' ? halfSwap(world) : effects[action](world);
          checked = crashed ? undefined : action === 'finalize' ? before.temp?.ref.value : checked;
          const setAside = action === 'swap' ? before.prod : action === 'promote' ? before.rollback : undefined;
          previous = crashed ? undefined : (setAside?.ref.value ?? previous);
          imported = crashed ? undefined : action === 'import' ? 'n' : imported;
          if (hadTemplate) assert.ok(hasTemplate(world), `nothing is left after ${action}`);
        }
        assert.deepEqual([world.prod?.version, world.temp, world.rollback], ['2', undefined, undefined]);
      },
    ),
    { numRuns: 2_000 },
  );
});

test('whatever makes the production name exist comes before anything that destroys', () => {
  for (const t of Object.values(T)) {
    for (const r of Object.values(R)) {
      const next = plan(observation(undefined, t, r), { ...wanted, createIfMissing: true });
      if (next.kind !== 'go' || r === undefined) continue;
      const firstDestroy = next.actions.findIndex((action) => action.startsWith('destroy'));
      const firstGive = next.actions.findIndex((action) => action === 'restore' || action === 'promote');
      assert.ok(firstGive >= 0 && (firstDestroy < 0 || firstGive < firstDestroy), next.actions.join());
    }
  }
});

function compact(world: {
  prod: ObservedVm | undefined;
  temp: ObservedVm | undefined;
  rollback: ObservedVm | undefined;
}): World {
  return Object.fromEntries(Object.entries(world).filter(([, value]) => value !== undefined));
}

function without(world: World, name: keyof World): World {
  return Object.fromEntries(Object.entries(world).filter(([key]) => key !== name));
}
