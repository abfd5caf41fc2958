import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { issued, selfSigned, type SelfSigned } from '../../sim/self-signed.ts';
import { apiKeys, mutualTls, type TemporalFront } from '../../sim/temporal-front.ts';
import { writeBridgeConfig } from '../../support/bridge-config.ts';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { password, Rig } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startBridge, startWorker } from '../../support/workers.ts';
import { vmflow, type ProcessResult } from '../cli/run-process.ts';

function authority(commonName: string): SelfSigned & { readonly commonName: string } {
  return { ...selfSigned(commonName), commonName };
}

const apiKey = 'planted-api-key-77d0';

describe('a Temporal server that lets in only some', () => {
  let rig: Rig;
  let ova: BuiltOva;
  const ca = authority('the authority');
  const server = issued('localhost', ca);
  const clients = authority('the authority of clients');
  const client = issued('vmflow', clients);
  before(async () => {
    rig = await Rig.start({ noWorkers: true });
    ova = await (await rig.scenario()).ova();
    await writeFile(file('ca.crt'), ca.certPem);
    await writeFile(file('client.crt'), client.certPem);
    await writeFile(file('client.key'), client.keyPem, { mode: 0o600 });
  });
  after(() => rig.stop());

  const file = (name: string): string => join(rig.dir, name);
  const namespace = 'vmflow';

  function environment(front: TemporalFront, more: Readonly<Record<string, string>>): Record<string, string> {
    return {
      TEMPORAL_ADDRESS: front.address,
      TEMPORAL_NAMESPACE: rig.temporal.namespace,
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: file('ca.crt'),
      ...more,
    };
  }

  async function workersOn(t: TestContext, env: Readonly<Record<string, string>>, address: string): Promise<void> {
    const options = { namespace, address, taskQueue: rig.taskQueue, configPath: rig.configPath };
    const started = await Promise.all(
      (['control', 'transfer'] as const).map((kind) =>
        startWorker(kind, { ...options, env: { VC_PASSWORD: password, ...env } }),
      ),
    );
    t.after(() => Promise.all(started.map((worker) => worker.stop(10_000))));
  }

  async function cli(env: Readonly<Record<string, string>>, ...argv: readonly string[]): Promise<ProcessResult> {
    return await vmflow({ ...env, VMFLOW_TASK_QUEUE: rig.taskQueue, VMFLOW_ACK_TIMEOUT: '60s' }, ...argv);
  }

  /** From the command line through Temporal to the vCenter and back. */
  async function swaps(env: Readonly<Record<string, string>>): Promise<void> {
    const scenario = await rig.scenario();
    await scenario.template(scenario.names.prod, '416.94.1');
    const { placement, template, vcenter } = scenario.request();
    const flags = Object.entries({ vcenter, ...placement }).flatMap(([name, value]) => [`--${name}`, value]);
    const result = await cli(env, 'template', 'update', template.prodName, '--ova', ova.path, ...flags, '--wait');
    assert.equal(result.exit, 0, result.stderr);
    assert.match(result.stdout, /swapped/);
  }

  /** A bridge that has nothing but the record to keep asks Temporal for what has ended. */
  async function bridgeReads(t: TestContext, env: Readonly<Record<string, string>>, address: string): Promise<void> {
    const history = { file: file(`history-${address}.jsonl`), everyMs: 200 };
    const configPath = await writeBridgeConfig(rig, { history });
    const bridge = await startBridge({ namespace, address, taskQueue: rig.taskQueue, configPath, env });
    t.after(() => bridge.stop());
    await waitFor('the record', async () => /template-swap/.test(await readFile(history.file, 'utf8').catch(() => '')));
  }

  test('workers, bridge and command line show their certificate; without one they are refused and say so', async (t) => {
    const front = await mutualTls(rig.temporal.address, server, clients);
    t.after(() => front.close());
    const env = environment(front, {
      TEMPORAL_TLS_CLIENT_CERT_PATH: file('client.crt'),
      TEMPORAL_TLS_CLIENT_KEY_PATH: file('client.key'),
    });
    await workersOn(t, env, front.address);
    await swaps(env);
    await bridgeReads(t, env, front.address);

    const without = environment(front, {});
    const refused = await cli(without, 'template', 'list');
    assert.equal(refused.exit, 7, refused.stderr);
    assert.match(refused.stderr, new RegExp(`Temporal at ${front.address} isn't reachable`));
    await assert.rejects(workersOn(t, without, front.address), /can't reach Temporal at .*TLS settings/s);
  });

  test('a server that is not the one that is trusted is none', async (t) => {
    const stranger = issued('localhost', authority('somebody else'));
    const front = await mutualTls(rig.temporal.address, stranger, clients);
    t.after(() => front.close());
    const env = environment(front, {
      TEMPORAL_TLS_CLIENT_CERT_PATH: file('client.crt'),
      TEMPORAL_TLS_CLIENT_KEY_PATH: file('client.key'),
    });
    const refused = await cli(env, 'template', 'list');
    assert.equal(refused.exit, 7, refused.stderr);
    await assert.rejects(workersOn(t, env, front.address), /can't reach Temporal/);
  });

  test('workers, bridge and command line send their API key, which nobody prints; with a wrong one they are not let in', async (t) => {
    const front = await apiKeys(rig.temporal.address, server, apiKey);
    t.after(() => front.close());
    const env = environment(front, { TEMPORAL_API_KEY: apiKey });
    await workersOn(t, env, front.address);
    await swaps(env);
    await bridgeReads(t, env, front.address);

    const wrong = environment(front, { TEMPORAL_API_KEY: 'planted-wrong-key-1c2b' });
    const refused = await cli(wrong, 'template', 'list', '--debug');
    assert.equal(refused.exit, 4, refused.stderr);
    assert.doesNotMatch(refused.stdout + refused.stderr, /planted/);
    const config = await cli(env, 'config', 'view');
    assert.match(config.stdout, /api-key +set/);
    assert.doesNotMatch(config.stdout + config.stderr, /planted/);
  });
});
