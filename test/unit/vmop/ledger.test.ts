import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Ledger } from '../../../workflows/vmop/coordinator-state.ts';
import type { VmopRef } from '../../../workflows/contracts/vmop.ts';
import { objectName, problemWithRequest } from '../../../workflows/domain/vmop/vm-request.ts';

const ref = (uid: string): VmopRef => ({
  namespace: 'n',
  name: `op-${uid}`,
  uid,
  vmName: 'a',
  type: 'Stop',
  createdAt: '2026-01-01T00:00:00.000Z',
});

test('the same operation gets the same number however often it comes, also after continue-as-new', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 40 }), fc.nat(39), (uids, cut) => {
      let ledger = new Ledger(undefined);
      const numbers = new Map<number, number>();
      uids.forEach((uid, place) => {
        if (place === cut) ledger = new Ledger(ledger.snapshot);
        const seq = ledger.accept({ op: ref(`${uid}`) });
        assert.equal(seq, numbers.get(uid) ?? seq);
        numbers.set(uid, seq);
      });
      assert.equal(new Set(numbers.values()).size, numbers.size);
    }),
  );
});

test('a coordinator that starts from nothing numbers above everything it finds, and keeps the order that was given', () => {
  const ledger = new Ledger(undefined);
  ledger.adopt(
    [
      { ...ref('b'), seq: 7, deleted: false },
      { ...ref('new'), deleted: false },
    ],
    12,
  );
  assert.deepEqual(
    ledger.active.map(({ uid, seq }) => [uid, seq]),
    [
      ['b', 7],
      ['new', 13],
    ],
  );
  assert.equal(ledger.accept({ op: ref('b') }), 7);
  assert.equal(ledger.accept({ op: ref('later') }), 14);
});

test('an operation that lost its workflow is decided again under its number; one that waits already is not disturbed', () => {
  const ledger = new Ledger(undefined);
  const seq = ledger.accept({ op: ref('a') });
  ledger.update('a', { stage: 'running' });
  assert.deepEqual(
    ledger.active.map(({ stage }) => stage),
    ['running'],
  );
  assert.equal(ledger.accept({ op: ref('a'), again: true }), seq);
  assert.deepEqual([ledger.queued?.uid, ledger.queued?.again], ['a', true]);
});

test('what a fenced operation leaves counts until the one that took over is over', () => {
  const ledger = new Ledger(undefined);
  ledger.accept({ op: ref('old') });
  ledger.accept({ op: ref('new') });
  ledger.update('new', { supersedes: ['old'] });
  ledger.end({ uid: 'old', fenced: true });
  assert.deepEqual(
    ledger.active.map(({ uid }) => uid),
    ['old', 'new'],
  );
  ledger.end({ uid: 'new' });
  assert.deepEqual(ledger.active, []);
});

test('what one that ended early was to take over and has not stays active', () => {
  const ledger = new Ledger(undefined);
  for (const uid of ['first', 'second', 'new']) ledger.accept({ op: ref(uid) });
  ledger.update('new', { supersedes: ['first', 'second'] });
  ledger.end({ uid: 'new', leftOver: ['second'] });
  assert.deepEqual(
    ledger.active.map(({ uid }) => uid),
    ['second'],
  );
});

test('names of objects fit into what the API takes, migration included', () => {
  for (const vmName of ['a', 'x'.repeat(253), `${'y'.repeat(220)}.z`]) {
    const name = objectName(vmName, { type: 'Restart', force: true }, 'abcd1234');
    assert.ok(name.length <= 248, name);
    assert.match(name, /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
  }
});

const bad: readonly [title: string, request: unknown, text: RegExp][] = [
  ['nothing', undefined, /a request is/],
  ['no spec', { by: 'x' }, /a request is/],
  ['an unknown type', { spec: { type: 'Explode' }, by: 'x' }, /choose one of Restart|choose one of Start/],
  ['a forced start', { spec: { type: 'Start', force: true }, by: 'x' }, /can't|cannot be forced/],
  ['a force that is a word', { spec: { type: 'Stop', force: 'yes' }, by: 'x' }, /true or false/],
  ['a node for a stop', { spec: { type: 'Stop', migrate: {} }, by: 'x' }, /for Migrate only/],
  ['nobody', { spec: { type: 'Stop' } }, /say who asks/],
  ['a name that is none', { spec: { type: 'Stop' }, by: 'x', name: 'Not a name' }, /is no name/],
];
for (const [title, request, text] of bad) {
  test(`a request with ${title} is refused`, () => assert.match(problemWithRequest(request) ?? '', text));
}

test('a good request is not refused', () => {
  assert.equal(problemWithRequest({ spec: { type: 'Stop', force: true }, by: 'alice', name: 'stop-1' }), undefined);
});
