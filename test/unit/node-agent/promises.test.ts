import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inOrder, type Entry, type Happening } from '../../sim/node-agent/timeline.ts';
import { violationsIn } from '../../support/set-timeline.ts';

const vm = 'vk-demo-web-0';
const owner = 'uid-1';

const booted = (id: string, node = 'node-a', more: { counter?: number; owner?: string; isMain?: boolean } = {}) =>
  ({ what: 'vm-started', vm, node, id, counter: 0, isMain: true, owner, ...more }) as const;
const restored = (id: string, counter: number, restoredFrom: string, node = 'node-b', of = owner) =>
  ({ what: 'vm-started', vm, node, id, counter, isMain: true, owner: of, restoredFrom }) as const;
const put = (digest: string, counter?: number, by = 'node-a') =>
  ({
    what: 'tag-put',
    vm,
    tag: 'hibernate',
    digest,
    owner,
    by,
    ...(counter === undefined ? {} : { counter }),
  }) as const;
const dropped = (reference = 'hibernate', by = 'vmflow') => ({ what: 'tag-deleted', vm, reference, by }) as const;
const stopped = (
  id: string,
  counter: number,
  why: 'hibernated' | 'deleted' | 'orphan' | 'died' = 'deleted',
  snapshot?: string,
) =>
  ({
    what: 'vm-stopped',
    vm,
    node: 'node-a',
    id,
    counter,
    why,
    ...(snapshot === undefined ? {} : { snapshot }),
  }) as const;
const givenUp = { what: 'state-given-up', vm, why: 'loss acknowledged' } as const;
const setDeleting = { what: 'set-deleting', set: 'demo/web', uid: owner, revision: 9 } as const;

function broken(...happenings: readonly Happening[]): string[] {
  const entries: Entry[] = happenings.map((happening, at) => ({ ...happening, at }));
  return violationsIn(entries).map(({ promise }) => promise);
}

const asleep = [booted('vm-1'), put('d1', 5), stopped('vm-1', 7, 'hibernated', 'd1')] as const;

describe('a history', () => {
  const kept: Readonly<Record<string, readonly Happening[]>> = {
    'of a straight move': [...asleep, restored('vm-2', 5, 'd1'), dropped()],
    'with a removal that failed: the tag is taken back and put again': [
      booted('vm-1'),
      put('d1', 5),
      dropped('hibernate', 'node-a'),
      put('d2', 9),
      stopped('vm-1', 10, 'hibernated', 'd2'),
      restored('vm-2', 9, 'd2'),
    ],
    'with a stale tag that is dropped while the VM lives': [booted('vm-1'), put('d1', 5), dropped(), dropped()],
    'of a set that is deleted': [
      booted('vm-1'),
      setDeleting,
      stopped('vm-1', 8),
      booted('vm-2', 'node-b', { owner: 'uid-2' }),
    ],
    'of a set that is deleted while its VM sleeps': [...asleep, setDeleting, dropped()],
    'with a loss that was acknowledged': [...asleep, givenUp, dropped(), booted('vm-2')],
    'of a VM that died': [booted('vm-1'), stopped('vm-1', 8, 'died'), booted('vm-2')],
    'of a sub-agent that is scaled down': [booted('vm-1', 'node-a', { isMain: false }), stopped('vm-1', 3)],
    'with the same snapshot put again by a person': [
      ...asleep,
      givenUp,
      dropped(),
      put('d1', 5),
      restored('vm-2', 5, 'd1'),
    ],
  };
  for (const [what, happenings] of Object.entries(kept))
    test(`${what} keeps its promises`, () => {
      assert.deepEqual(broken(...happenings), []);
    });

  const found: Readonly<Record<string, readonly [string, ...Happening[]]>> = {
    'a VM that is removed without a snapshot': ['P1', booted('vm-1'), stopped('vm-1', 8)],
    'a VM that is removed as an orphan': ['P1', booted('vm-1'), stopped('vm-1', 8, 'orphan')],
    'a tag that is dropped between the manifest and the removal': [
      'P1',
      booted('vm-1'),
      put('d1', 5),
      dropped(),
      stopped('vm-1', 7, 'hibernated', 'd1'),
    ],
    'a tag that is replaced before the removal': [
      'P1',
      booted('vm-1'),
      put('d1', 5),
      put('d2', 1),
      stopped('vm-1', 7, 'hibernated', 'd1'),
    ],
    'a VM that is removed while only an older tag is there': ['P1', booted('vm-1'), put('d1', 5), stopped('vm-1', 90)],
    'a tag that is dropped while the VM sleeps': ['P1', ...asleep, dropped()],
    'a digest that is deleted while the VM sleeps': ['P1', ...asleep, dropped('d1')],
    'something else under the tag while the VM sleeps': ['P1', ...asleep, put('d9', undefined, 'somebody')],
    'a fresh boot although there is a snapshot': ['P1', ...asleep, booted('vm-2')],
    'a second loss after one that was acknowledged': [
      'P1',
      ...asleep,
      givenUp,
      dropped(),
      booted('vm-2'),
      stopped('vm-2', 3),
    ],
    'an older state that is brought up': [
      'rollback',
      booted('vm-1'),
      put('d0', 2),
      put('d1', 5),
      stopped('vm-1', 7, 'hibernated', 'd1'),
      restored('vm-2', 2, 'd0'),
    ],
    'two VMs of one name': ['P2', booted('vm-1'), put('d1', 5), restored('vm-2', 5, 'd1')],
    'the state of another set': ['P4', ...asleep, restored('vm-2', 5, 'd1', 'node-b', 'uid-2')],
  };
  for (const [what, [promise, ...happenings]] of Object.entries(found))
    test(`with ${what} breaks ${promise === 'rollback' ? 'the order of states' : promise}`, () => {
      assert.deepEqual(broken(...happenings), [promise]);
    });
});

test('what watches tell late is put before what has a higher resource version', () => {
  const pod = (revision: number) =>
    ({ what: 'pod-created', pod: 'demo/web-0', uid: `${revision}`, revision, at: 0 }) as const;
  const tag = { ...dropped(), at: 0 };
  assert.deepEqual(inOrder([pod(1), pod(7), tag, pod(5), pod(8), pod(9)]), [
    pod(1),
    pod(5),
    pod(7),
    tag,
    pod(8),
    pod(9),
  ]);
});
