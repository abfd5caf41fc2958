import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { startKubernetes } from '../../stack/kubernetes.ts';
import { waitFor } from '../../support/wait-for.ts';
import { connect } from '../kubernetes/builders.ts';

test('the agents as a process announce their nodes, say how to make them fail, and end when asked to', async () => {
  const kubernetes = await startKubernetes();
  const cluster = connect(kubernetes, 'vmflow');
  const main = fileURLToPath(new URL('../../sim/node-agent/main.ts', import.meta.url));
  const env = {
    ...process.env,
    KUBECONFIG: kubernetes.kubeconfig('nodeAgent'),
    NODE_AGENT_REGISTRY: 'http://127.0.0.1:1',
    NODE_AGENT_NODES: 'node-x,node-y',
  };
  const agents = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    let said = '';
    agents.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await waitFor('the agents', () => said.includes('Node agents ready: node-x, node-y'));
    assert.match(said, /test\/agent-save-fails.*test\/agent-silent/);
    const nodes = await cluster.list(resources.node);
    assert.deepEqual(nodes.map(({ metadata }) => metadata.name).sort(), ['node-x', 'node-y']);
    agents.kill('SIGTERM');
    const [code] = (await once(agents, 'exit')) as [number | null];
    assert.equal(code, 0);
  } finally {
    agents.kill('SIGKILL');
    await cluster.close();
    await kubernetes.stop();
  }
});
