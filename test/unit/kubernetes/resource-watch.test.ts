import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { resourceWatch, type WatchSource } from '../../../activities/kubernetes/resource-watch.ts';
import { silent, type ClusterLog } from '../../../activities/kubernetes/log.ts';
import { WatchRefused, type WatchEvent } from '../../../activities/kubernetes/transport.ts';

function vm(name: string, uid: string, resourceVersion: string): KubeObject {
  return { metadata: { name, namespace: 'shop', uid, resourceVersion, creationTimestamp: '2026-01-01T00:00:00Z' } };
}

type Follow = (onEvent: (event: WatchEvent) => void) => Promise<void>;
const forever = (): Promise<void> => new Promise(() => undefined);

/** A source that does one thing after the other, records what is asked of it, and says when the script has been played. */
function scripted(lists: readonly (readonly KubeObject[] | Error)[], follows: readonly Follow[]) {
  const asked: string[] = [];
  const at: number[] = [];
  const [leftLists, leftFollows] = [[...lists], [...follows]];
  let played: () => void = () => undefined;
  const done = new Promise<void>((resolve) => (played = resolve));
  const source: WatchSource = {
    name: 'VirtualMachine',
    list() {
      asked.push('list');
      at.push(performance.now());
      const next = leftLists.shift();
      if (leftLists.length === 0 && leftFollows.length === 0) played();
      if (next === undefined) return forever() as Promise<never>;
      return next instanceof Error
        ? Promise.reject(next)
        : Promise.resolve({ items: next, resourceVersion: `list${lists.length - leftLists.length}` });
    },
    follow(version, onEvent, signal) {
      asked.push(version);
      const aborted = new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      );
      const next = leftFollows.shift();
      if (leftLists.length === 0 && leftFollows.length === 0) setImmediate(played);
      return Promise.race([aborted, (next ?? forever)(onEvent)]);
    },
  };
  return { source, asked, at, done };
}

function recordingLog(): ClusterLog & { readonly lines: string[] } {
  const lines: string[] = [];
  const line = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
  return { lines, warn: line, debug: () => undefined };
}

describe('a watch', () => {
  test('lists, then goes on from where the server ended it, bookmarks included', async () => {
    const { source, asked, done } = scripted(
      [[vm('a', 'u1', '1')]],
      [
        (onEvent) => {
          onEvent({ type: 'MODIFIED', object: vm('a', 'u1', '7') });
          return Promise.resolve();
        },
        (onEvent) => {
          onEvent({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } });
          return Promise.resolve();
        },
        forever,
      ],
    );
    const watch = resourceWatch(source, silent);
    await watch.ready;
    await done;
    watch.stop();
    assert.deepEqual(asked, ['list', 'list1', '7', '9']);
    assert.equal(watch.get('shop', 'a')?.metadata.resourceVersion, '7');
    assert.equal(watch.items().length, 1);
  });

  const gone = { kind: 'Status', code: 410 };
  for (const [what, follow] of [
    ['whose version is refused as too old', () => Promise.reject(new WatchRefused(410))],
    [
      'that is told that its version is too old',
      (onEvent) => {
        onEvent({ type: 'ERROR', object: gone });
        return Promise.resolve();
      },
    ],
    ['that is lost', () => Promise.reject(new Error('terminated'))],
    ['that is refused', () => Promise.reject(new WatchRefused(403))],
  ] satisfies readonly (readonly [string, Follow])[]) {
    test(`${what} lists again and tells the difference`, async () => {
      const { source, asked, done } = scripted(
        [
          [vm('a', 'u1', '1'), vm('b', 'u2', '2')],
          [vm('a', 'u9', '8'), vm('c', 'u3', '9')],
        ],
        [follow, forever],
      );
      const watch = resourceWatch(source, silent);
      const heard: string[] = [];
      watch.subscribe(({ type, object }) => heard.push(`${type} ${object.metadata.uid}`));
      await done;
      watch.stop();
      assert.deepEqual(asked, ['list', 'list1', 'list', 'list2']);
      assert.deepEqual(heard.slice(2), ['deleted u2', 'deleted u1', 'added u9', 'added u3']);
    });
  }

  test('of an API server that does not answer asks seldom, warns once and is ready when there is a list', async () => {
    const failure = new Error('connect ECONNREFUSED');
    const { source, at, done } = scripted([failure, failure, failure, []], [forever]);
    const log = recordingLog();
    const watch = resourceWatch(source, log);
    await watch.ready;
    await done;
    watch.stop();
    const pauses = at.slice(1).map((time, index) => Math.round(time - (at[index] ?? 0)));
    for (const pause of pauses) assert.ok(pause >= 390, `lists ${pauses.join(', ')} ms apart`);
    assert.equal(log.lines.length, 1);
    assert.match(log.lines[0] ?? '', /was lost.*VirtualMachine.*ECONNREFUSED/);
  });

  test('that the server ends at once again and again does not ask more than a few times a second', async () => {
    const { source, at, asked, done } = scripted(
      [[], []],
      [() => Promise.resolve(), () => Promise.resolve(), () => Promise.reject(new WatchRefused(410)), forever],
    );
    const watch = resourceWatch(source, silent);
    await done;
    watch.stop();
    assert.deepEqual(asked, ['list', 'list1', 'list1', 'list1', 'list', 'list2']);
    assert.ok((at[1] ?? 0) - (at[0] ?? 0) >= 1_100, `six requests within ${(at[1] ?? 0) - (at[0] ?? 0)} ms`);
  });

  test('that is stopped before its first list says so to whoever waits, and asks nothing more', async () => {
    const { source, asked } = scripted([], []);
    const watch = resourceWatch(source, silent);
    watch.stop();
    await assert.rejects(watch.ready, /closed before its first list/);
    assert.deepEqual(asked, ['list']);
  });
});
