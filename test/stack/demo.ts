import { say, mustSucceed } from './demo-cli.ts';
import { batchStory } from './demo-batch.ts';
import { templateStory } from './demo-template.ts';
import { setStory } from './demo-sets.ts';
import { vmStory } from './demo-vms.ts';
import { startStack } from './stack.ts';

/** `npm run demo`: the main jobs on real parts, with crashes in the middle. Exits 0 only when everything went as told. */
console.error(
  'vmflow demo: Temporal, a vCenter simulator, Kubernetes with a VM layer and node agents, a registry, an Incus simulator, workers and bridge are started here (the first time their tools are built: about 9 minutes, later seconds).',
);
const stack = await startStack({ wellKnownPorts: true, proxied: true });
try {
  say('Is everything there?');
  await mustSucceed(stack, ['doctor']);
  await templateStory(stack);
  await vmStory(stack);
  await setStory(stack);
  await batchStory(stack);
  console.log('\nThe demo went as told.');
} finally {
  await stack.stop();
}
process.exit(0);
