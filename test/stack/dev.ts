import { join } from 'node:path';
import { sampleDisk, sampleOva } from './sample-ova.ts';
import { startStack } from './stack.ts';

/** `npm run dev`: a living installation to look at, until Ctrl-C. */
console.error(
  'Starting Temporal with its Web UI, a vCenter simulator and both workers (the first time the tools are built: about 4 minutes).',
);
const stack = await startStack({ wellKnownPorts: true });
const { bytes, origin } = await sampleDisk(join(stack.dir, 'disk'));
const first = await sampleOva(join(stack.dir, 'ova', 'rescue-1.0.ova'), '1.0', bytes);
const second = await sampleOva(join(stack.dir, 'ova', 'rescue-2.0.ova'), '2.0', bytes);
const prefix = `TEMPORAL_ADDRESS=${stack.temporal.address} VMFLOW_UI_URL=${stack.temporal.uiUrl ?? ''} npx vmflow`;

console.log(`
Everything is up.

  Web UI      ${stack.temporal.uiUrl ?? ''}/namespaces/${stack.temporal.namespace}/workflows
  Temporal    ${stack.temporal.address}, namespace ${stack.temporal.namespace}
  vCenter     ${stack.vcsim.url} (simulator), called "main" by the workers
  OVAs        ${first.path}
              ${second.path}
              (${origin})

Try, in another terminal:

  alias vmflow='${prefix}'
  vmflow doctor
  vmflow template update rescue --ova ${first.path} --create --vcenter main --datacenter DC0 --cluster DC0_C0 --datastore LocalDS_0 --network 'VM Network' --wait
  vmflow template update rescue --ova ${second.path} --keep 1h --wait
  vmflow template get rescue
  vmflow template rollback rescue

Ctrl-C ends all of it.`);

await new Promise<void>((resolve) => {
  process.once('SIGINT', resolve);
  process.once('SIGTERM', resolve);
});
console.error('\nStopping.');
await stack.stop();
process.exit(0);
