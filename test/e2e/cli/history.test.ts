import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { HistoryRecord } from '../../../activities/history/record.ts';
import { batchId } from '../../../workflows/contracts/ids.ts';
import type { SupervisedProcess } from '../../stack/processes.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import type { BatchUnderTest } from '../../support/batch-scenario.ts';
import { writeBridgeConfig } from '../../support/bridge-config.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startBridge } from '../../support/workers.ts';
import { vmflow, type ProcessResult } from './run-process.ts';

describe('the record of who did what', () => {
  let rig: BatchRig;
  let bridge: SupervisedProcess;
  let configPath: string;
  let file: string;

  before(async () => {
    rig = await BatchRig.start({ ownSource: true, ownTemporal: true });
    file = join(rig.dir, 'history.jsonl');
    configPath = await writeBridgeConfig(rig, { history: { file, everyMs: 200 } });
    bridge = await start();
  });
  after(async () => {
    await bridge.stop();
    await rig.stop();
  });

  /** A bridge without a cluster: all that it does is the record. */
  async function start(): Promise<SupervisedProcess> {
    const { address, namespace } = rig.temporal;
    return await startBridge({ address, namespace, taskQueue: rig.taskQueue, configPath });
  }

  async function cli(user: string, env: Readonly<Record<string, string>>, ...argv: readonly string[]): Promise<string> {
    const { address, namespace } = rig.temporal;
    const temporal = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, VMFLOW_TASK_QUEUE: rig.taskQueue };
    const result: ProcessResult = await vmflow(
      { ...temporal, VMFLOW_ACK_TIMEOUT: '60s', VMFLOW_USER: user, ...env },
      ...argv,
    );
    assert.equal(result.exit, 0, `${argv.join(' ')}: ${result.stderr}`);
    return result.stdout;
  }

  const recordsIn = (text: string): HistoryRecord[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as HistoryRecord);

  /** alice makes a batch, bob deletes it. */
  async function madeAndDeleted(): Promise<BatchUnderTest> {
    const batch = await rig.batch();
    await batch.vm('a');
    const path = join(rig.dir, `${batch.name}.yaml`);
    await writeFile(path, `name: ${batch.name}\ninclude_expression: location startsWith '${batch.folder}/'\n`);
    await cli('alice', {}, 'source', 'sync', rig.source);
    await cli('alice', {}, 'batch', 'apply', '-f', path);
    const reason = 'wrong folder, password=planted-in-a-reason';
    await cli('bob', {}, 'batch', 'delete', batch.name, '--yes', '--reason', reason);
    return batch;
  }

  async function isRecorded({ name }: BatchUnderTest): Promise<boolean> {
    const records = recordsIn((await readFile(file, 'utf8')).replace(/[^\n]*$/, ''));
    return records.some(({ operation, action }) => operation === batchId(name) && action === 'completed');
  }

  async function removeFromTemporal({ name }: BatchUnderTest): Promise<void> {
    const workflowId = batchId(name);
    const { namespace } = rig.temporal;
    await rig.client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } });
    await waitFor('the removal', () =>
      rig.client.workflow
        .getHandle(workflowId)
        .describe()
        .then(
          () => false,
          (error: unknown) => error instanceof WorkflowNotFoundError,
        ),
    );
  }

  test('tells who did what, when and why after the operation is gone from Temporal', async () => {
    const began = new Date().toISOString();
    const batch = await madeAndDeleted();
    await waitFor('the record', () => isRecorded(batch));
    await removeFromTemporal(batch);
    const exported = await cli('carol', { VMFLOW_CONFIG: configPath }, 'history', 'export', '--batch', batch.name);
    const records = recordsIn(exported).filter(({ kind }) => kind === 'batch');
    const asked = records.filter(({ action }) => action === 'update');
    assert.deepEqual(
      asked.map(({ name, by, reason }) => [name, by, reason]),
      [
        ['apply', 'alice', undefined],
        ['delete', 'bob', 'wrong folder, password=[redacted]'],
      ],
    );
    assert.equal(records[0]?.action, 'started');
    assert.match(records[0].by ?? '', /^alice@/);
    assert.ok(records.some(({ action, to }) => action === 'status' && to === 'Defined'));
    assert.ok(records.every(({ at }) => at >= began && at <= new Date().toISOString()));
    assert.doesNotMatch(exported + (await readFile(file, 'utf8')), /planted/);
    const without = await cli('carol', {}, 'history', 'export', '--batch', batch.name, '--kind', 'batch');
    assert.equal(without, '', 'only the record knows');
  });

  test('what ends while no bridge runs is recorded by the next one, and nothing twice', async () => {
    await bridge.stop();
    const batch = await madeAndDeleted();
    const open = recordsIn(await cli('carol', { VMFLOW_CONFIG: configPath }, 'history', 'export'));
    assert.ok(open.some(({ operation }) => operation === batchId(batch.name)));
    bridge = await start();
    await waitFor('the record', () => isRecorded(batch));
    const ids = recordsIn(await readFile(file, 'utf8')).map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    const exported = recordsIn(await cli('carol', { VMFLOW_CONFIG: configPath }, 'history', 'export'));
    assert.deepEqual(
      exported.map(({ at }) => at),
      exported.map(({ at }) => at).toSorted(),
    );
  });
});
