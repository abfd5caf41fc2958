import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { request } from 'undici';
import { vmflow } from '../cli/run-process.ts';
import { composeProject, envExample, projectDir, type ComposeProject } from './compose-file.ts';
import { compose, type Composed } from './composed.ts';
import { writeConfiguration } from './one-configuration.ts';

const webUis = { server: 'temporal-ui', laptop: 'temporal-laptop' } as const;
/** As the README has it. */
const keysPath = '/etc/vmflow-secrets/codec-keys';
const endpoint = 'http://localhost:9467';
/** What only the encrypted result of a command has. */
const planted = 'planted-place-4c1e';
const encrypted = base64('binary/encrypted');

interface Payload {
  readonly metadata: Readonly<Record<string, string>>;
  readonly data: string;
}

describe('the profile codec in the compose file', () => {
  let dir: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'vmflow-codec-'));
  });
  after(() => rm(dir, { recursive: true }));

  async function project(profiles: string): Promise<ComposeProject> {
    const envFile = join(dir, profiles);
    await writeFile(envFile, `${await readFile(envExample, 'utf8')}\nCOMPOSE_PROFILES=${profiles}\n`);
    return await composeProject(undefined, { envFile });
  }

  for (const profile of ['server', 'laptop'] as const)
    test(`adds one service to those of the profile ${profile}, and changes none`, async () => {
      const [plain, more] = [await project(profile), await project(`${profile},codec`)];
      const { codec, ...others } = more.services;
      assert.deepEqual(others, plain.services);
      assert.ok(codec !== undefined);
      for (const [name, { environment = {} }] of Object.entries(plain.services))
        assert.equal(environment['VMFLOW_CODEC_KEYS_FILE'] ?? '', '', `${name} needs no key`);
    });

  test('has a process that is kept from all that it does not need, and reached by browsers of this host only', async () => {
    const { services } = await project('server,codec');
    const { codec, ...others } = services;
    assert.deepEqual(codec?.command, ['node', 'dist/workers/codec.js']);
    assert.ok(existsSync(join(projectDir, 'workers/codec.ts')));
    assert.equal(codec.image, others['control']?.image);
    assert.deepEqual(
      [codec.read_only, codec.cap_drop, codec.security_opt, codec.restart, codec.stop_grace_period],
      [true, ['ALL'], ['no-new-privileges:true'], 'unless-stopped', '10s'],
    );
    assert.deepEqual(
      codec.volumes?.map(({ target, read_only: isReadOnly }) => [target, isReadOnly]),
      [['/etc/vmflow-secrets', true]],
    );
    assert.deepEqual(
      codec.ports?.map(({ host_ip: host, published, target }) => `${host}:${published}:${target}`),
      ['127.0.0.1:9467:9467'],
    );
    const [network = '', ...more] = Object.keys(codec.networks);
    assert.deepEqual(more, []);
    for (const [name, { networks }] of Object.entries(others)) assert.ok(!(network in networks), `${name} reaches it`);
  });
});

for (const profile of ['server', 'laptop'] as const)
  describe(`the profiles ${profile} and codec`, () => {
    let composed: Composed;
    let env: Readonly<Record<string, string>>;

    before(async () => {
      composed = await compose(`${profile},codec`, {
        VMFLOW_CODEC_KEYS_FILE: keysPath,
        TEMPORAL_CODEC_ENDPOINT: endpoint,
      });
      const { project, secrets } = composed;
      const keys = join(secrets, 'codec-keys');
      await writeFile(keys, `k1 ${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
      await writeFile(join(secrets, 'vcenter'), 'planted-Pa55word-c0de', { mode: 0o600 });
      const vcenter = { url: 'https://vcenter.invalid', user: 'u', passwordFile: '/etc/vmflow-secrets/vcenter' };
      await writeConfiguration(composed, [], { vcenters: { [planted]: vcenter } });
      await project.up(webUis[profile], 'control', 'codec');
      env = {
        TEMPORAL_ADDRESS: `${project.address(profile === 'server' ? 'temporal' : 'temporal-laptop')}:7233`,
        TEMPORAL_NAMESPACE: 'vmflow',
        VMFLOW_CODEC_KEYS_FILE: keys,
      };
    });
    after(() => composed.remove());

    async function ofWebUi(path: string): Promise<unknown> {
      const { statusCode, body } = await request(
        `http://${composed.project.address(webUis[profile])}:8233/api/v1/${path}`,
      );
      const text = await body.text();
      assert.equal(statusCode, 200, text);
      return JSON.parse(text);
    }

    /** As the browser does it for a page of the Web UI. */
    async function decoded(payloads: readonly Payload[]): Promise<readonly Payload[]> {
      const { statusCode, headers, body } = await request(`http://${composed.project.address('codec')}:9467/decode`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: 'http://localhost:8233', 'x-namespace': 'vmflow' },
        body: JSON.stringify({ payloads }),
      });
      const text = await body.text();
      assert.equal(statusCode, 200, text);
      assert.equal(headers['access-control-allow-origin'], 'http://localhost:8233');
      return (JSON.parse(text) as { payloads: Payload[] }).payloads;
    }

    test('name the codec server to the pages of the Web UI, and it decrypts for them what Temporal can not read', async () => {
      const { exit, stdout, stderr } = await vmflow(env, 'endpoint', 'list');
      assert.equal(exit, 0, stderr);
      assert.match(stdout, new RegExp(planted));

      const { Codec: codec } = (await ofWebUi('settings')) as { Codec: { Endpoint: string } };
      assert.equal(codec.Endpoint, endpoint);
      const payloads: Payload[] = [];
      const { executions } = (await ofWebUi('namespaces/vmflow/workflows')) as Executions;
      for (const { execution } of executions)
        payloads.push(
          ...payloadsIn(
            await ofWebUi(`namespaces/vmflow/workflows/${encodeURIComponent(execution.workflowId)}/history`),
          ),
        );
      assert.deepEqual(payloads.filter(shows), []);
      assert.ok((await decoded(payloads)).some(shows));
    });
  });

interface Executions {
  readonly executions: readonly { readonly execution: { readonly workflowId: string } }[];
}

const shows = ({ data }: Payload): boolean => Buffer.from(data, 'base64').includes(planted);

/** Everything in there that is encrypted. */
function payloadsIn(value: unknown): Payload[] {
  if (typeof value !== 'object' || value === null) return [];
  const { metadata } = value as Partial<Payload>;
  return metadata?.['encoding'] === encrypted ? [value as Payload] : Object.values(value).flatMap(payloadsIn);
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
