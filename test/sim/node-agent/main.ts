import { leisurely } from './settings.ts';
import { startNodeAgents } from './node-agents.ts';
import { faultAnnotations, silentAnnotation } from './switches.ts';

/**
 * The agents as a process of their own. `KUBECONFIG` says where, `NODE_AGENT_REGISTRY` the address of the registry,
 * `NODE_AGENT_NODES` the names of the nodes (default `node-a,node-b,node-c`).
 */
const kubeconfig = process.env['KUBECONFIG'];
if (kubeconfig === undefined)
  throw new Error('Set KUBECONFIG to the path of a kubeconfig of the user that plays the node agents.');
const url = process.env['NODE_AGENT_REGISTRY'];
if (url === undefined) throw new Error('Set NODE_AGENT_REGISTRY to the address of a registry: http://host:port.');
const names = (process.env['NODE_AGENT_NODES'] ?? 'node-a,node-b,node-c').split(',').map((name) => name.trim());

const room = { cpu: '4', memory: '16Gi', 'ephemeral-storage': '200Gi', pods: '8' };
const agents = await startNodeAgents({
  kubeconfig,
  nodes: Object.fromEntries(names.map((name) => [name, { room }])),
  registry: { url },
  settings: leisurely,
  onFailure: (error) => console.error(error.message),
});
console.log(
  `Node agents ready: ${names.join(', ')}. Annotate a Pod or a Node to make them fail: ${faultAnnotations.join(', ')}; a Node only: ${silentAnnotation}.`,
);
await new Promise<void>((resolve) => {
  process.once('SIGINT', resolve);
  process.once('SIGTERM', resolve);
});
await agents.stop();
