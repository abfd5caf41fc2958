import { proxyActivities } from '@temporalio/workflow';

const { answer } = proxyActivities<{ answer(question: object): Promise<object> }>({ startToCloseTimeout: '60s' });

/** The smallest workflow with one activity: what the SDK and the server cost by themselves. */
export async function bare(question: object): Promise<object> {
  return await answer(question);
}
