import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { Intake, type IntakeOptions } from '../../../workers/bridge/intake.ts';
import { nextStep } from '../../../workers/bridge/next-step.ts';
import type { VmopRef } from '../../../workflows/contracts/vmop.ts';
import { stays, waitFor } from '../../support/wait-for.ts';
import { fakeWatch, vmop, type FakeWatch } from './builders.ts';

type Call = `${'submit' | 'deleted'} ${string}`;

/** Coordinators that write down what they are told and fail or wait as the test says. */
class ScriptedCoordinators {
  readonly told: Call[] = [];
  readonly attempts: Call[] = [];
  answer: (call: Call, op: VmopRef) => Promise<void> = () => Promise.resolve();
  underWay = 0;
  mostUnderWay = 0;

  submit = (op: VmopRef): Promise<void> => this.#tell('submit', op);
  deleted = (op: VmopRef): Promise<void> => this.#tell('deleted', op);

  async #tell(what: 'submit' | 'deleted', op: VmopRef): Promise<void> {
    const call: Call = `${what} ${op.name}`;
    this.attempts.push(call);
    this.underWay += 1;
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay);
    try {
      await this.answer(call, op);
      this.told.push(call);
    } finally {
      this.underWay -= 1;
    }
  }
}

interface Rig {
  readonly watch: FakeWatch;
  readonly coordinators: ScriptedCoordinators;
  readonly intake: Intake;
  readonly log: string[];
  readonly hears: (...calls: readonly Call[]) => Promise<void>;
  readonly hearsNothingMore: () => Promise<void>;
}

const rigs: Rig[] = [];
afterEach(async () => {
  await Promise.all(rigs.splice(0).map(({ intake }) => intake.stop()));
});

function rig(options: Partial<IntakeOptions> = {}): Rig {
  const watch = fakeWatch();
  const coordinators = new ScriptedCoordinators();
  const log: string[] = [];
  const write =
    (level: string) =>
    (_fields: unknown, message?: string): void =>
      void log.push(`${level} ${message ?? ''}`);
  const intake = new Intake({
    watch,
    coordinators,
    log: { info: write('info'), warn: write('warn') },
    backoff: { shortestMs: 5, longestMs: 40 },
    ...options,
  });
  const made: Rig = {
    ...{ watch, coordinators, intake, log },
    async hears(...calls) {
      await waitFor(calls.join(', '), () => coordinators.told.length >= calls.length);
      assert.deepEqual(coordinators.told, calls);
    },
    hearsNothingMore: async () => {
      const { length } = coordinators.attempts;
      await stays('silent', () => coordinators.attempts.length === length && intake.pending === 0, 150);
    },
  };
  rigs.push(made);
  return made;
}

const down = (): Promise<never> => Promise.reject(new Error('no connection'));

describe('what a coordinator is told next', () => {
  const open = { isTerminal: false, isDeleting: false };
  const deleting = { isTerminal: false, isDeleting: true };
  const over = { isTerminal: true, isDeleting: false };
  const table = [
    ['a new one', open, 'nothing', false, 'submit'],
    ['one that it knows', open, 'submitted', false, undefined],
    ['a new one that is being deleted', deleting, 'nothing', false, 'submit'],
    ['one that it knows and is being deleted', deleting, 'submitted', false, 'opDeleted'],
    ['one of which it knows that it is being deleted', deleting, 'deleted', false, undefined],
    ['one that is gone before it was told', open, 'nothing', true, 'opDeleted'],
    ['one that it knows and is gone', open, 'submitted', true, 'opDeleted'],
    ['one of which it knows, and is gone', deleting, 'deleted', true, undefined],
    ['one that is over', over, 'nothing', false, undefined],
    ['one that is over and gone', over, 'submitted', true, undefined],
  ] as const;
  for (const [what, vmop_, told, isGone, expected] of table)
    test(`${what}: ${expected ?? 'nothing'}`, () => assert.equal(nextStep({ vmop: vmop_, told, isGone }), expected));
});

describe('what is there at first', () => {
  test('is told in the order of acceptance, then of age, then of names', async () => {
    const { watch, hears } = rig();
    await watch.sync(
      vmop('c', { createdAt: '2026-01-01T00:00:02Z' }),
      vmop('b', { createdAt: '2026-01-01T00:00:01Z' }),
      vmop('a', { createdAt: '2026-01-01T00:00:01Z' }),
      vmop('late-but-second', { createdAt: '2026-01-01T00:00:09Z', seq: 2, phase: 'Pending' }),
      vmop('late-but-first', { createdAt: '2026-01-01T00:00:09Z', seq: 1, phase: 'InProgress' }),
      vmop('seen', { createdAt: '2026-01-01T00:00:09Z', phase: 'Pending' }),
    );
    await hears('submit late-but-first', 'submit late-but-second', 'submit seen', 'submit a', 'submit b', 'submit c');
  });

  test('is not told when it is over', async () => {
    const { watch, hearsNothingMore, coordinators } = rig();
    await watch.sync(
      vmop('a', { phase: 'Completed' }),
      vmop('b', { phase: 'Failed' }),
      vmop('c', { phase: 'Superseded' }),
    );
    await hearsNothingMore();
    assert.deepEqual(coordinators.attempts, []);
  });
});

describe('changes', () => {
  test('of one that was told are not told again', async () => {
    const { watch, hears, hearsNothingMore } = rig();
    await watch.sync(vmop('a'));
    await hears('submit a');
    watch.store.put(vmop('a', { version: '2', phase: 'Pending' }));
    watch.store.put(vmop('a', { version: '3', phase: 'InProgress' }));
    await hearsNothingMore();
  });

  test('a deletion is told once, and the end after it is not', async () => {
    const { watch, hears, hearsNothingMore } = rig();
    await watch.sync(vmop('a'));
    await hears('submit a');
    watch.store.put(vmop('a', { version: '2', deleting: true, phase: 'InProgress' }));
    await hears('submit a', 'deleted a');
    watch.store.put(vmop('a', { version: '3', deleting: true, phase: 'Terminating' }));
    watch.store.remove(vmop('a', { version: '4', deleting: true, phase: 'Terminating' }));
    await hearsNothingMore();
  });

  test('one that is gone without a warning is told', async () => {
    const { watch, hears, hearsNothingMore } = rig();
    await watch.sync(vmop('a'));
    await hears('submit a');
    watch.store.remove(vmop('a', { version: '2', phase: 'Pending' }));
    await hears('submit a', 'deleted a');
    await hearsNothingMore();
  });

  test('one that was over is gone in silence', async () => {
    const { watch, hears, hearsNothingMore } = rig();
    await watch.sync(vmop('a'));
    await hears('submit a');
    watch.store.put(vmop('a', { version: '2', phase: 'Completed' }));
    watch.store.remove(vmop('a', { version: '3', phase: 'Completed' }));
    await hearsNothingMore();
  });

  test('one that is created again under its name is another', async () => {
    const { watch, hears } = rig();
    await watch.sync(vmop('a'));
    await hears('submit a');
    watch.store.put(vmop('a', { uid: 'second', version: '9' }));
    await hears('submit a', 'deleted a', 'submit a');
  });
});

describe('a coordinator that does not answer', () => {
  test('is tried until it does, in order, and hears only what is still true', async () => {
    const { watch, coordinators, hears, hearsNothingMore, intake } = rig();
    coordinators.answer = down;
    await watch.sync(
      vmop('a', { createdAt: '2026-01-01T00:00:01Z' }),
      vmop('b', { createdAt: '2026-01-01T00:00:02Z' }),
    );
    watch.store.put(vmop('c', { createdAt: '2026-01-01T00:00:03Z' }));
    await waitFor('some attempts', () => coordinators.attempts.length > 4);
    assert.deepEqual(new Set(coordinators.attempts), new Set(['submit a']));
    watch.store.put(vmop('b', { version: '2', phase: 'Failed' }));
    watch.store.put(vmop('c', { version: '2', deleting: true, createdAt: '2026-01-01T00:00:03Z' }));
    assert.equal(intake.pending, 2);
    coordinators.answer = () => Promise.resolve();
    await hears('submit a', 'submit c', 'deleted c');
    await hearsNothingMore();
  });

  test('does not hold up the other VMs', async () => {
    const { watch, coordinators } = rig({ sideBySide: 2 });
    coordinators.answer = (_call, { vmName }) => (vmName === 'stuck' ? down() : Promise.resolve());
    const others = Array.from({ length: 30 }, (_, i) => vmop(`op-${i}`, { vm: `vm-${i}` }));
    await watch.sync(vmop('s', { vm: 'stuck' }), ...others);
    await waitFor('the others', () => coordinators.told.length === 30);
    assert.ok(coordinators.mostUnderWay <= 2);
  });

  test('is said once, and once that it is over', async () => {
    const { watch, coordinators, log } = rig();
    coordinators.answer = down;
    await watch.sync(vmop('a', { vm: 'x' }), vmop('b', { vm: 'y' }));
    await waitFor('some attempts', () => coordinators.attempts.length > 6);
    coordinators.answer = () => Promise.resolve();
    await waitFor('both', () => coordinators.told.length === 2);
    await waitFor('the end of the outage', () => log.length === 2);
    assert.match(log.join('\n'), /^warn Operations can not be handed .*\ninfo Coordinators answer again$/s);
  });

  test('is forgotten with its operation: the outage does not last for ever', async () => {
    const { watch, coordinators, log, intake } = rig();
    coordinators.answer = down;
    await watch.sync(vmop('a'));
    await waitFor('an attempt', () => coordinators.attempts.length > 1);
    watch.store.put(vmop('a', { version: '2', phase: 'Completed' }));
    await waitFor('the end of the outage', () => log.length === 2);
    assert.equal(intake.pending, 0);
  });

  test('answers again: all that wait are told at once', async () => {
    const { watch, coordinators } = rig({ backoff: { shortestMs: 5, longestMs: 60_000 } });
    coordinators.answer = down;
    const many = Array.from({ length: 20 }, (_, i) => vmop(`op-${i}`, { vm: `vm-${i}` }));
    await watch.sync(...many);
    await waitFor('pauses of many minutes', () => coordinators.attempts.length > 20 * 8);
    coordinators.answer = () => Promise.resolve();
    watch.store.put(vmop('new', { vm: 'new' }));
    await waitFor('all', () => coordinators.told.length === 21);
  });
});

describe('a resync', () => {
  test('tells again of those that nobody took in, and of no others', async () => {
    const { watch, hears, hearsNothingMore, intake } = rig();
    await watch.sync(vmop('a', { vm: 'x' }), vmop('b', { vm: 'y', phase: 'Pending' }));
    await hears('submit a', 'submit b');
    intake.resync();
    await hears('submit a', 'submit b', 'submit a');
    await hearsNothingMore();
  });

  test('comes by itself', async () => {
    const { watch, coordinators } = rig({ resyncMs: 20 });
    await watch.sync(vmop('a'));
    await waitFor('a repetition', () => coordinators.told.length > 2);
  });
});

test('after the stop nothing is told, and what was under way has ended', async () => {
  const { watch, coordinators, intake } = rig();
  let release = (): void => undefined;
  coordinators.answer = () => new Promise<void>((resolve) => (release = resolve));
  await watch.sync(vmop('a'), vmop('b'));
  await waitFor('the first call', () => coordinators.underWay === 1);
  const stopped = intake.stop();
  watch.store.put(vmop('c', { vm: 'other' }));
  release();
  await stopped;
  assert.deepEqual(coordinators.told, ['submit a']);
  await stays('silent', () => coordinators.attempts.length === 1, 100);
});
