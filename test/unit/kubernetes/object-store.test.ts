import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createObjectStore, type ObjectStore } from '../../../activities/kubernetes/object-store.ts';
import type { KubeObject } from '../../../activities/kubernetes/port.ts';

function vm(name: string, uid: string, resourceVersion = '1', namespace = 'shop'): KubeObject {
  return { metadata: { name, namespace, uid, resourceVersion, creationTimestamp: '2026-01-01T00:00:00Z' } };
}

/** What listeners hear, as `type name uid version`. */
function heardFrom(store: ObjectStore): string[] {
  const heard: string[] = [];
  store.subscribe(({ type, object: { metadata } }) =>
    heard.push(`${type} ${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`),
  );
  return heard;
}

const noFailure = (error: unknown): never => assert.fail(String(error));

describe('changes', () => {
  const table: readonly (readonly [what: string, act: (store: ObjectStore) => void, heard: readonly string[]])[] = [
    ['a new object', (store) => store.put(vm('b', 'u2')), ['added b u2 1']],
    ['a newer version', (store) => store.put(vm('a', 'u1', '2')), ['modified a u1 2']],
    ['the same version', (store) => store.put(vm('a', 'u1')), []],
    ['the end', (store) => store.remove(vm('a', 'u1', '9')), ['deleted a u1 9']],
    ['the end of one that is not known', (store) => store.remove(vm('b', 'u2')), []],
    ['the late end of a predecessor', (store) => store.remove(vm('a', 'u0')), []],
    ['another object of the same name', (store) => store.put(vm('a', 'u2', '5')), ['deleted a u1 1', 'added a u2 5']],
    ['a list without it', (store) => store.replace([]), ['deleted a u1 1']],
    ['a list with it', (store) => store.replace([vm('a', 'u1')]), []],
    ['a list with a later version', (store) => store.replace([vm('a', 'u1', '2')]), ['modified a u1 2']],
    [
      'a list with another object of the same name',
      (store) => store.replace([vm('a', 'u2', '2'), vm('b', 'u3')]),
      ['deleted a u1 1', 'added a u2 2', 'added b u3 1'],
    ],
    ['the same name elsewhere', (store) => store.put(vm('a', 'u2', '1', 'other')), ['added a u2 1']],
  ];
  for (const [what, act, expected] of table) {
    test(what, () => {
      const store = createObjectStore(noFailure);
      store.put(vm('a', 'u1'));
      const heard = heardFrom(store);
      act(store);
      assert.deepEqual(heard, expected);
    });
  }
});

describe('listeners', () => {
  test('find the new state when they are told', () => {
    const store = createObjectStore(noFailure);
    store.put(vm('a', 'u1'));
    const seen: unknown[] = [];
    store.subscribe(({ type }) => seen.push([type, store.get('shop', 'a')?.metadata.uid]));
    store.put(vm('a', 'u2'));
    assert.deepEqual(seen, [
      ['deleted', undefined],
      ['added', 'u2'],
    ]);
    assert.deepEqual(store.items().length, 1);
  });

  test('that fail are reported, and the others are told', () => {
    const failures: unknown[] = [];
    const store = createObjectStore((error) => failures.push(error));
    store.subscribe(() => {
      throw new Error('mine');
    });
    const heard = heardFrom(store);
    store.put(vm('a', 'u1'));
    assert.deepEqual(heard, ['added a u1 1']);
    assert.match(String(failures[0]), /mine/);
  });

  test('stop one by one, even if the same function was given twice', () => {
    const store = createObjectStore(noFailure);
    let calls = 0;
    const listener = (): void => void (calls += 1);
    const stop = store.subscribe(listener);
    store.subscribe(listener);
    stop();
    stop();
    store.put(vm('a', 'u1'));
    assert.equal(calls, 1);
  });
});
