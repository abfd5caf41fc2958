import { condition, defineQuery, proxyActivities, setHandler } from '@temporalio/workflow';

const { record } = proxyActivities<{ record(path: string): Promise<void> }>({ startToCloseTimeout: '10s' });

/** Goes one way or the other by the clock, and can be asked. */
export async function byTheClock(): Promise<string> {
  setHandler(defineQuery<string>('state'), () => 'told');
  const until = Date.now() + 4_000;
  await condition(() => false, 4_000);
  const path = Date.now() >= until ? 'in time' : 'too early';
  await record(path);
  return path;
}
