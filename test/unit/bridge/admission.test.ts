import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { vmopOf } from '../../../activities/vmop/objects.ts';
import { admission, type Admission } from '../../../workers/bridge/admission.ts';
import type { RunPolicy, VmFacts, VmPhase } from '../../../workflows/contracts/vmop.ts';
import { decide } from '../../../workflows/domain/vmop/decide.ts';
import { kind, kinds, vmop, type Parts } from './builders.ts';

const facts = (phase: VmPhase, runPolicy: RunPolicy = 'Manual'): VmFacts => ({ uid: 'vm', phase, runPolicy });

interface Newcomer {
  readonly name?: string;
  readonly namespace?: string;
  readonly vm?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
}

function ask(
  word: string,
  older: readonly (readonly [string, Parts])[],
  vm?: VmFacts,
  { name = 'new', namespace = 'shop', vm: virtualMachineName = 'db-0', nodeSelector }: Newcomer = {},
): Admission {
  const migrate = nodeSelector === undefined ? {} : { migrate: { nodeSelector } };
  return admission({
    newcomer: { namespace, name, spec: { ...kind(word), virtualMachineName, ...migrate } },
    operations: older.map(([title, parts]) => vmopOf(vmop(title, parts))),
    ...(vm === undefined ? {} : { vm }),
  });
}

const words = (answer: Admission): string => (answer.allowed ? 'allowed' : `${answer.code} ${answer.message}`);

test('vmop/A21 for every pair the webhook says what the rule of execution says', () => {
  let accepted = 0;
  for (const older of kinds)
    for (const newer of kinds) {
      const answer = ask(newer, [['older', { kind: older, phase: 'InProgress' }]], facts('Running'));
      const rule = decide([{ ...kind(older), name: 'older', uid: 'uid-older' }], kind(newer), 'db-0', facts('Running'));
      assert.equal(answer.allowed, rule.kind !== 'reject', `${older}, then ${newer}`);
      if (answer.allowed) accepted += 1;
      else assert.equal(answer.message, rule.kind === 'reject' ? rule.message : '');
    }
  assert.equal(kinds.length ** 2, 121);
  assert.equal(accepted, 22);
});

describe('an operation that is active', () => {
  for (const phase of [undefined, 'Pending', 'InProgress', 'Terminating'])
    test(`counts in phase ${phase ?? '(none)'}`, () => {
      const answer = ask('Stop', [['older', { kind: 'Stop!', ...(phase === undefined ? {} : { phase }) }]]);
      assert.equal(
        words(answer),
        '403 operation "older" (Stop, forced) is still active for VirtualMachine "db-0"; Stop cannot supersede it and it should finish first',
      );
    });

  test('counts while its object is being deleted', () => {
    assert.equal(ask('Start', [['older', { phase: 'InProgress', deleting: true }]]).allowed, false);
  });

  for (const phase of ['Completed', 'Failed', 'Superseded'])
    test(`is over in phase ${phase}, also while its object is being deleted`, () => {
      assert.equal(ask('Start', [['older', { phase, deleting: true }]]).allowed, true);
    });

  const elsewhere: readonly (readonly [string, Parts, Newcomer])[] = [
    ['of another VM', { vm: 'db-1' }, {}],
    ['of a VM whose name differs in case', { vm: 'DB-0' }, {}],
    ['in another namespace', { namespace: 'other' }, {}],
    ['of the same name, which will be answered with "already exists"', {}, { name: 'older' }],
  ];
  for (const [what, parts, newcomer] of elsewhere)
    test(`${what} is no rival`, () => {
      assert.equal(ask('Start', [['older', { phase: 'InProgress', ...parts }]], undefined, newcomer).allowed, true);
    });

  test('is named: the first one that can not be taken over', () => {
    const older = [
      ['move', { kind: 'Migrate', phase: 'InProgress' }],
      ['last-word', { kind: 'Stop!' }],
    ] as const;
    assert.match(words(ask('Restart', older)), /^403 operation "last-word" \(Stop, forced\) /);
  });
});

describe('a VM that does not fit', () => {
  const move: readonly (readonly [string, Parts])[] = [['move', { kind: 'Migrate', phase: 'InProgress' }]];
  const table: readonly (readonly [string, Admission['allowed'], () => Admission])[] = [
    ['its run policy rules out a take-over: refused', false, () => ask('Stop', move, facts('Running', 'AlwaysOn'))],
    [
      'its run policy rules it out and nothing is active: fails later',
      true,
      () => ask('Stop', [], facts('Running', 'AlwaysOn')),
    ],
    ['its phase does not fit a take-over: may fit later', true, () => ask('Stop', move, facts('Terminating'))],
    ['its phase does not fit and nothing is active: fails later', true, () => ask('Start', [], facts('Running'))],
    ['it is missing: fails later', true, () => ask('Stop', [])],
    ['it is missing or unreadable during a take-over', true, () => ask('Stop', move)],
    ['it is migrating: a take-over may', true, () => ask('Stop', move, facts('Migrating'))],
  ];
  for (const [what, allowed, act] of table) test(what, () => assert.equal(act().allowed, allowed));

  test('says which policy', () => {
    assert.match(words(ask('Stop', move, facts('Running', 'AlwaysOn'))), /"db-0": its run policy is AlwaysOn/);
  });
});

describe('a node selector', () => {
  const good: readonly Readonly<Record<string, string>>[] = [
    {},
    { zone: '' },
    { 'kubernetes.io/hostname': 'node-a.example', a_b: 'X.y-1' },
    { ['a'.repeat(63)]: 'b'.repeat(63) },
  ];
  for (const nodeSelector of good)
    test(`is fine: ${JSON.stringify(nodeSelector).slice(0, 60)}`, () => {
      assert.equal(ask('Migrate', [], undefined, { nodeSelector }).allowed, true);
    });

  const bad: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [{ '': 'x' }, /"" is no name/],
    [{ '-a': 'x' }, /"-a" is no name/],
    [{ 'a b': 'x' }, /"a b" is no name/],
    [{ 'a/b/c': 'x' }, /"a\/b\/c" is no name/],
    [{ '/b': 'x' }, /"\/b" is no name/],
    [{ 'Upper.io/b': 'x' }, /is no name/],
    [{ ['a'.repeat(64)]: 'x' }, /is no name/],
    [{ zone: 'a b' }, /"a b" is no value for the label "zone"/],
    [{ zone: '-' }, /is no value/],
    [{ zone: 'b'.repeat(64) }, /is no value/],
  ];
  for (const [nodeSelector, message] of bad)
    test(`is refused: ${JSON.stringify(nodeSelector).slice(0, 60)}`, () => {
      const answer = ask('Migrate', [['older', { phase: 'InProgress' }]], undefined, { nodeSelector });
      assert.match(words(answer), /^403 /);
      assert.match(words(answer), message);
      assert.ok(!answer.allowed && answer.incumbent === undefined);
    });
});
