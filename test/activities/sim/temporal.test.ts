import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, Connection } from '@temporalio/client';
import { startTemporal, type TemporalServer } from '../../stack/temporal.ts';
import { searchKeys } from '../../../workflows/contracts/attributes.ts';

async function attributeNames(connection: Connection, server: TemporalServer): Promise<string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: server.namespace });
  return Object.keys(customAttributes).filter((name) => name.startsWith('Op'));
}

test('a killed Temporal server comes back on the same address with what it knew', async (t) => {
  const server = await startTemporal({ dbFile: true });
  t.after(() => server.stop());
  const connection = await Connection.connect({ address: server.address });
  t.after(() => connection.close());
  const { workflow } = new Client({ connection, namespace: server.namespace });
  const expected = Object.values(searchKeys).map(({ name }) => name);
  assert.deepEqual((await attributeNames(connection, server)).sort(), [...expected].sort());

  const handle = await workflow.start('anything', { workflowId: 'survivor', taskQueue: 'nobody' });
  const killed = server.pid();
  await server.kill();
  await server.restart();
  assert.notEqual(server.pid(), killed);
  assert.equal((await handle.describe()).status.name, 'RUNNING');
});

test('a bare one has no search attributes of ours and serves the Web UI when asked', async (t) => {
  const server = await startTemporal({ bare: true, ui: true });
  t.after(() => server.stop());
  const connection = await Connection.connect({ address: server.address });
  t.after(() => connection.close());
  assert.deepEqual(await attributeNames(connection, server), []);
  assert.equal((await fetch(server.uiUrl ?? '')).status, 200);
  await assert.rejects(server.restart(), /keeps nothing/);
});
