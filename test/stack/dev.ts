import { join } from 'node:path';
import { setCordon } from './kubernetes-nodes.ts';
import type { Exit } from './processes.ts';
import { sampleDisk, sampleOva } from './sample-ova.ts';
import { sampleVms } from './sample-vms.ts';
import { sampleBatch } from './sample-batch.ts';
import { sampleSets } from './sample-sets.ts';
import { sampleConflict } from './sample-conflict.ts';
import { startStack } from './stack.ts';

/** `npm run dev`: a living installation to look at, until Ctrl-C. */
console.error(
  'Starting Temporal with its Web UI, a vCenter simulator, Kubernetes with a VM layer and node agents, a registry, an Incus simulator, workers and bridge (the first time the tools are built: about 9 minutes).',
);
const cordoned = 'node-d';
const stack = await startStack({ wellKnownPorts: true, nodes: ['node-a', 'node-b', 'node-c', cordoned] });
await setCordon(stack.kubernetes.admin, cordoned, true);
const { bytes, origin } = await sampleDisk(join(stack.dir, 'disk'));
const first = await sampleOva(join(stack.dir, 'ova', 'rescue-1.0.ova'), '1.0', bytes);
const second = await sampleOva(join(stack.dir, 'ova', 'rescue-2.0.ova'), '2.0', bytes);
const [{ namespace: vms }, { namespace: sets }] = await Promise.all([sampleVms(stack), sampleSets(stack)]);
const batch = await sampleBatch(stack, { withoutTools: 'proxy' });
const taken = await sampleConflict(stack);
const prefix = `TEMPORAL_ADDRESS=${stack.temporal.address} VMFLOW_UI_URL=${stack.temporal.uiUrl ?? ''} npx vmflow`;
const where = "--create --vcenter main --datacenter DC0 --cluster DC0_C0 --datastore LocalDS_0 --network 'VM Network'";

console.log(`
Everything is up.

  Web UI      ${stack.temporal.uiUrl ?? ''}/namespaces/${stack.temporal.namespace}/workflows
  Temporal    ${stack.temporal.address}, namespace ${stack.temporal.namespace}
  vCenter     ${stack.vcsim.url} (simulator), called "main" by the workers
  Kubernetes  ${stack.kubernetes.url}, KUBECONFIG=${stack.kubernetes.kubeconfig('operator')}
              VMs web-1, web-2 (running), db-1 (stopped), deaf-1 (ignores a shutdown) in namespace ${vms}
              sets shell, build, desk-1, desk-2, desk-3 on node-a in namespace ${sets}; nodes node-a, node-b, node-c, ${cordoned} (cordoned)
  Registry    ${stack.registry.url}
  Incus       ${stack.incus.url} (simulator), called "lab" by the workers
  Batch       ${batch.file}: twelve VMs in ${batch.folder}; no guest tools run in proxy
  OVAs        ${first.path}
              ${second.path}
              (${origin})
              for template rescue; somebody's VM is in the way of template ${taken}

Try, in another terminal:

  alias vmflow='${prefix}'
  vmflow doctor
  vmflow template update rescue --ova ${first.path} ${where} --wait
  vmflow template update rescue --ova ${second.path} --keep 1h --wait
  vmflow template get rescue
  vmflow template rollback rescue
  vmflow template update ${taken} --ova ${first.path} ${where} --wait
  vmflow template resolve ${taken} --decision destroy-foreign --wait

  vmflow vm list -n ${vms}
  vmflow start db-1 -n ${vms} --wait
  vmflow move web-1 -n ${vms} --wait
  vmflow stop deaf-1 -n ${vms}; vmflow stop deaf-1 -n ${vms} --force --yes --wait
  vmflow op list -n ${vms}

  vmflow set list -n ${sets}
  vmflow move shell --to node-b -n ${sets} --wait
  vmflow move shell --to ${cordoned} -n ${sets}; vmflow set get shell -n ${sets}; vmflow migrate abort shell -n ${sets} --wait
  vmflow hibernate build -n ${sets} --wait; vmflow wake build -n ${sets} --wait
  vmflow node drain node-a --max-parallel 2 --yes --wait; vmflow node status node-a

  vmflow batch plan -f ${batch.file}
  vmflow batch apply -f ${batch.file}; vmflow batch start ${batch.name}; vmflow batch watch ${batch.name}
  vmflow queue list --batch ${batch.name}; vmflow queue get proxy
  vmflow queue resolve proxy --decision recheck --wait

Ctrl-C ends all of it.`);

const stopped = new Promise<undefined>((resolve) => {
  process.once('SIGINT', () => resolve(undefined));
  process.once('SIGTERM', () => resolve(undefined));
});
const parts = new Map<string, Promise<Exit>>([
  ['Temporal', stack.temporal.exited()],
  ['the vCenter simulator', stack.vcsim.exited],
  ['the bridge', stack.bridge.exited],
  ['the VM layer', stack.vmLayer.exited],
  ['the node agents', stack.nodeAgents.exited],
  ...[...stack.workers].map(([kind, worker]): [string, Promise<Exit>] => [`the ${kind} worker`, worker.exited]),
]);
const ended = [...parts].map(async ([name, exited]) => {
  const { code, signal } = await exited;
  return `${name} ended by itself (${signal ?? `code ${code ?? '?'}`})`;
});
// Half an installation misleads whoever looks at it.
const surprise = await Promise.race([stopped, ...ended]);
console.error(surprise === undefined ? '\nStopping.' : `\n${surprise}. Stopping the rest.`);
await stack.stop();
process.exit(surprise === undefined ? 0 : 1);
