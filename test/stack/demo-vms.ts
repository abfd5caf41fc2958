import { mustEnd, mustSucceed, say, vmflow } from './demo-cli.ts';
import { sampleVms } from './sample-vms.ts';
import type { Stack } from './stack.ts';

const exit = { refused: 5, superseded: 8 } as const;

/** Operations on VMs: what is called off, overtaken, refused, and a worker that dies in between. */
export async function vmStory(stack: Stack): Promise<void> {
  const { namespace } = await sampleVms(stack);
  const inShop = ['-n', namespace];

  say('VMs of a Kubernetes cluster');
  await mustSucceed(stack, ['vm', 'list', ...inShop]);
  await mustSucceed(stack, ['start', 'db-1', ...inShop, '--wait']);
  await mustSucceed(stack, ['move', 'web-1', ...inShop, '--wait']);

  say('A start that can never finish (no node fits) is called off by a stop');
  await mustSucceed(stack, ['start', 'homeless-1', ...inShop]);
  await mustSucceed(stack, ['stop', 'homeless-1', ...inShop, '--wait']);
  await mustSucceed(stack, ['vm', 'get', 'homeless-1', ...inShop]);

  say('A guest that ignores its shutdown: a start is refused meanwhile, with the reason');
  const stop = (await mustSucceed(stack, ['stop', 'deaf-1', ...inShop, '-o', 'name'])).trim();
  await mustEnd(stack, exit.refused, ['start', 'deaf-1', ...inShop]);

  say('The control worker is killed (SIGKILL) while that stop waits; then a forced stop overtakes it');
  console.log('… kill -9');
  await stack.workers.get('control')?.kill();
  await stack.startWorker('control');
  const watching = vmflow(stack, ['op', 'watch', stop], true);
  await mustSucceed(stack, ['stop', 'deaf-1', ...inShop, '--force', '--yes', '--wait']);
  const { code } = await watching;
  if (code !== exit.superseded) throw new Error(`who watched the overtaken stop got exit code ${code}`);
  console.log(`who watched the overtaken stop got exit code ${code}: superseded`);

  say('What happened');
  await mustSucceed(stack, ['op', 'list', ...inShop]);
  await mustSucceed(stack, ['vm', 'get', 'deaf-1', ...inShop]);
}
