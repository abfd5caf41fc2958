import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { profileReader, resolveSettings, type Settings } from '../../../client/settings.ts';
import type { GlobalFlags } from '../../../client/global-flags.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';

const profiles = `
[profile.default]
address = "file:7233"
namespace = "from-file"
[profile.prod]
address = "prod:7233"
api_key = "planted-Pa55"
`;

async function profileFile(t: TestContext, text = profiles): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-settings-'));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, 'temporal.toml');
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

const noFlags = { output: 'table', headers: true, color: 'auto', time: 'relative' } as const;

function settingsOf(flags: Partial<GlobalFlags>, env: Record<string, string>): Promise<Settings> {
  const variables = { HOME: '/nonexistent', ...env };
  return resolveSettings({ ...noFlags, ...flags }, variables, profileReader(variables));
}

test('without anything the defaults hold', async () => {
  const { address, namespace, taskQueue, ui, tls } = await settingsOf({}, {});
  assert.deepEqual(address, { value: 'localhost:7233', origin: 'default', from: '' });
  assert.equal(namespace.value, 'vmflow');
  assert.equal(taskQueue.value, 'vmflow');
  assert.equal(ui.value, 'http://localhost:8233');
  assert.equal(tls.value, 'off');
});

test('a flag comes before the environment, the environment before the file, the file before the default', async (t) => {
  const path = await profileFile(t);
  const file = { TEMPORAL_CONFIG_FILE: path };
  const env = { ...file, TEMPORAL_ADDRESS: 'env:7233' };
  assert.deepEqual((await settingsOf({}, file)).address, {
    value: 'file:7233',
    origin: 'file',
    from: 'profile default',
  });
  assert.deepEqual((await settingsOf({}, env)).address, { value: 'env:7233', origin: 'env', from: 'TEMPORAL_ADDRESS' });
  const flagged = await settingsOf({ address: 'flag:7233' }, env);
  assert.deepEqual(flagged.address, { value: 'flag:7233', origin: 'flag', from: '--address' });
  assert.equal(flagged.namespace.value, 'from-file');
});

test('the file can be named by a flag and the profile chosen in it', async (t) => {
  const configFile = await profileFile(t);
  const settings = await settingsOf({ configFile, profile: 'prod' }, {});
  assert.equal(settings.address.value, 'prod:7233');
  assert.deepEqual(settings.apiKey, { value: 'set', origin: 'file', from: 'profile prod' });
  assert.equal(settings.tls.value, 'on');
});

test('config view shows every value with its origin and no secret', async (t) => {
  const path = await profileFile(t);
  const env = { TEMPORAL_CONFIG_FILE: path, TEMPORAL_API_KEY: 'planted-Pa55', VMFLOW_TASK_QUEUE: 'side' };
  const { exit, stdout } = await runCli(['config', 'view', '--ui', 'https://ui.example'], { env });
  assert.equal(exit, 0);
  assert.equal(
    stdout.replaceAll(/ +$/gm, '').replace(path.padEnd(path.length), 'FILE').replaceAll(/ {2,}/g, '  '),
    block(`
      SETTING  VALUE  ORIGIN  FROM
      address  file:7233  file  profile default
      namespace  from-file  file  profile default
      profile  default  default  -
      config-file  FILE  env  TEMPORAL_CONFIG_FILE
      tls  on  default  -
      api-key  set  env  TEMPORAL_API_KEY
      ui  https://ui.example  flag  --ui
      task-queue  side  env  VMFLOW_TASK_QUEUE
      ack-timeout  10 s  default  -
    `),
  );
  const json = await runCli(['config', 'view', '-o', 'json'], { env });
  documentOf(json, 'Configuration');
  assert.doesNotMatch(stdout + json.stdout, /planted/);
});

test('config path names the file that is read, and says when there is none', async (t) => {
  const path = await profileFile(t);
  const there = await runCli(['config', 'path', '-o', 'json'], { env: { TEMPORAL_CONFIG_FILE: path } });
  assert.deepEqual([documentOf(there, 'ConfigurationPath').path, there.stderr], [path, '']);
  const absent = await runCli(['config', 'path'], { env: { TEMPORAL_CONFIG_FILE: '/nonexistent.toml' } });
  assert.equal(absent.stdout, '/nonexistent.toml\n');
  assert.match(absent.stderr, /there is no such file/);
});

test('config check reads strictly: an unknown key is an error', async (t) => {
  const env = { TEMPORAL_CONFIG_FILE: await profileFile(t, '[profile.default]\nadress = "x"\n') };
  const error = errorOf(await runCli(['config', 'check', '-o', 'json'], { env }));
  assert.equal(error.code, 2);
  assert.match(error.message, /adress/);
});

test('config check says what it reached', async () => {
  const result = await runCli(['config', 'check']);
  assert.equal(result.stdout, 'ok: Temporal 1.29.1 at localhost:7233, namespace vmflow\n');
  documentOf(await runCli(['config', 'check', '-o', 'json']), 'ConfigurationCheck');
});

test('an unknown profile is wrong usage and says so', async () => {
  const error = errorOf(await runCli(['config', 'view', '--profile', 'nope', '-o', 'json']));
  assert.equal(error.reason, 'CONFIGURATION');
  assert.match(error.message, /Profile 'nope' not found/);
});
