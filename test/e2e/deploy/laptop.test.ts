import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { request } from 'undici';
import { vmflow } from '../cli/run-process.ts';
import { compose, type Composed } from './composed.ts';

interface SetUp {
  readonly items: readonly { readonly name: string; readonly was: string }[];
}

/** Temporal's development server in place of PostgreSQL, server and Web UI; `vmflow.yaml` as it is when nobody has filled it in. */
describe('the profile laptop', () => {
  let composed: Composed;
  let env: Readonly<Record<string, string>>;
  before(async () => {
    composed = await compose('laptop');
    await composed.project.up();
    const host = composed.project.address('temporal-laptop');
    env = {
      TEMPORAL_ADDRESS: `${host}:7233`,
      TEMPORAL_NAMESPACE: 'vmflow',
      VMFLOW_UI_URL: `http://${host}:8233`,
    };
  });
  after(() => composed.remove());

  async function whatWasThere(): Promise<readonly string[]> {
    const { exit, stdout, stderr } = await vmflow(env, 'admin', 'setup', '--dry-run', '-o', 'json');
    assert.equal(exit, 0, stderr);
    const { items } = JSON.parse(stdout) as SetUp;
    assert.ok(items.length > 10);
    return items.filter(({ was }) => was !== 'present').map(({ name }) => name);
  }

  /** What `vmflow doctor` complains about: nobody has named a vCenter or cluster yet. */
  async function whatIsWrong(): Promise<readonly string[]> {
    const { stdout } = await vmflow(env, 'doctor');
    assert.match(stdout, /^worker answers +ok/m);
    return [...stdout.matchAll(/^(.+?) +FAILED/gm)].map(([, check = '']) => check);
  }

  test('comes up in one go, set up and with its workers', async () => {
    for (const name of ['temporal-laptop', 'bootstrap', 'control', 'transfer', 'bridge'])
      assert.equal(composed.project.service(name).starts, 1, name);
    assert.deepEqual(await whatWasThere(), []);
    assert.deepEqual(await whatIsWrong(), ['endpoints']);
  });

  test('serves its Web UI', async () => {
    const { statusCode, body } = await request(`${env['VMFLOW_UI_URL']}/api/v1/namespaces/vmflow/workflows`);
    await body.dump();
    assert.equal(statusCode, 200);
  });

  test('knows everything when it was killed, and workers and bridge go on', async () => {
    await composed.project.service('temporal-laptop').kill();
    await composed.project.becomesHealthy('temporal-laptop');
    assert.deepEqual(await whatWasThere(), []);
    assert.deepEqual(await whatIsWrong(), ['endpoints']);
    assert.equal(composed.project.service('temporal-laptop').starts, 2);
  });
});
