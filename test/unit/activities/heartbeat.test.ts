import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import { beating, whileBeating } from '../../../activities/heartbeat.ts';

/** The environment, and the details of each heartbeat that it has got. */
function environment(): { env: MockActivityEnvironment; beats: unknown[] } {
  const env = new MockActivityEnvironment();
  const beats: unknown[] = [];
  env.on('heartbeat', (details) => beats.push(details));
  return { env, beats };
}

test('what is done at once and has nothing to show sends no heartbeat: each is a write on the server', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { env, beats } = environment();
  const { now } = beating({ now: () => Promise.resolve('done') });
  assert.equal(await env.run(now), 'done');
  t.mock.timers.tick(10_000);
  assert.deepEqual(beats, []);
});

test('what has something to show is heard at once and every second with its newest details, and no longer than it works', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { env, beats } = environment();
  let sent = 0;
  await env.run(() =>
    whileBeating(
      () => ({ sent }),
      () => {
        for (sent = 1; sent <= 3; sent += 1) t.mock.timers.tick(1_000);
        return Promise.resolve();
      },
    ),
  );
  t.mock.timers.tick(10_000);
  assert.deepEqual(beats, [{ sent: 0 }, { sent: 1 }, { sent: 2 }, { sent: 3 }]);
});

test('an activity with nothing to show beats with its name and answers as before', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { env, beats } = environment();
  const { double } = beating({
    double: (n: number) => {
      t.mock.timers.tick(1_000);
      return Promise.resolve(2 * n);
    },
  });
  assert.equal(await env.run(double, 4), 8);
  assert.deepEqual(beats, [{ doing: 'double' }]);
});
