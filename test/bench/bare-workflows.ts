import { condition, defineUpdate, proxyActivities, setHandler } from '@temporalio/workflow';

const { answer } = proxyActivities<{ answer(question: object): Promise<object> }>({ startToCloseTimeout: '60s' });

/** The smallest workflow that waits: what the SDK needs to keep one. */
export async function parked(): Promise<void> {
  await condition(() => false);
}

/** Waits, and answers updates. */
export async function answering(): Promise<void> {
  setHandler(defineUpdate<string, [object]>('poke'), () => 'poked');
  await condition(() => false);
}

/** Activities one after the other: a history as long as one likes. */
export async function asking(times: number): Promise<void> {
  for (let time = 0; time < times; time++) await answer({ time });
}
