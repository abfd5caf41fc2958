import assert from 'node:assert/strict';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createConfig, loadConfig, parseConfig, secretFileWarnings, type Config } from '../../../activities/config.ts';

let dir: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmflow-config-'));
});
after(() => rm(dir, { recursive: true, force: true }));

const vcenter = (more: string): string => `vcenters:\n  main:\n    url: https://vc.example/sdk\n    user: u\n${more}`;

test('the password comes from its file, read when it is needed', async () => {
  const secret = join(dir, 'secret');
  await writeFile(secret, 'first\n', { mode: 0o600 });
  const config = createConfig(parseConfig(vcenter(`    passwordFile: ${secret}\n`), 'vmflow.yaml'), 'vmflow.yaml', {});
  assert.equal((await config.vcenter('main')).password, 'first');
  await writeFile(secret, 'rotated');
  assert.equal((await config.vcenter('main')).password, 'rotated');
});

test('an unknown vCenter is refused with the names that exist', async () => {
  const config = createConfig(parseConfig(vcenter('    passwordEnv: P\n'), 'vmflow.yaml'), 'vmflow.yaml', { P: 'x' });
  await assert.rejects(config.vcenter('other'), /no vCenter "other".*known: main/);
});

test('a missing secret says which variable of the worker lacks', async () => {
  const config = createConfig(parseConfig(vcenter('    passwordEnv: VC_SECRET\n'), 'vmflow.yaml'), 'vmflow.yaml', {});
  await assert.rejects(config.vcenter('main'), /VC_SECRET/);
});

const wrong: readonly (readonly [string, string, RegExp])[] = [
  ['a password in the file', vcenter('    password: x\n    passwordEnv: P\n'), /password/],
  ['no password reference', vcenter(''), /exactly one of passwordFile and passwordEnv/],
  ['two password references', vcenter('    passwordEnv: A\n    passwordFile: /b\n'), /exactly one/],
  [
    'user info in the URL',
    'vcenters:\n  main:\n    url: https://a:b@vc.example/sdk\n    user: u\n    passwordEnv: P\n',
    /user:password@/,
  ],
  [
    'a thumbprint mode without digest',
    vcenter('    passwordEnv: P\n    tls: { mode: thumbprint }\n'),
    /sha256 or sha1/,
  ],
  ['broken YAML', 'vcenters: [', /not valid YAML/],
  ['a misspelt key', 'vcentres: {}\n', /vcentres/],
];

for (const [what, text, message] of wrong) {
  test(`${what} is refused with the place in the file`, () =>
    assert.throws(() => parseConfig(text, 'vmflow.yaml'), message));
}

const registry = (more: string, name = 'main'): string =>
  `registries:\n  ${name}:\n    url: https://registry.example:5000\n${more}`;
const configOf = (text: string, environment: NodeJS.ProcessEnv = {}): Config =>
  createConfig(parseConfig(text, 'vmflow.yaml'), 'vmflow.yaml', environment);

test('a registry has its defaults, and is found without a name where it is the only one', async () => {
  const config = configOf(registry(''));
  const endpoint = {
    name: 'main',
    url: 'https://registry.example:5000',
    prefix: '',
    credentials: { kind: 'none' },
    tls: { mode: 'ca' },
    allowPlainHttp: false,
    requestTimeoutMs: 10_000,
  };
  assert.deepEqual(await config.registry(), endpoint);
  assert.deepEqual(await config.registry('main'), endpoint);
});

test('the secrets of a registry are read when they are needed', async () => {
  const secret = join(dir, 'registry-secret');
  await writeFile(secret, 'first\n', { mode: 0o600 });
  const config = configOf(registry(`    prefix: team/vms\n    user: u\n    passwordFile: ${secret}\n`));
  const credentials = { kind: 'password', user: 'u', password: 'first' };
  const endpoint = await config.registry();
  assert.deepEqual([endpoint.prefix, endpoint.credentials], ['team/vms', credentials]);
  await writeFile(secret, 'rotated');
  assert.deepEqual((await config.registry()).credentials, { ...credentials, password: 'rotated' });
  const byToken = configOf(registry('    tokenEnv: T\n'), { T: 'abc' });
  assert.deepEqual((await byToken.registry()).credentials, { kind: 'token', token: 'abc' });
  await assert.rejects(
    configOf(registry('    tokenEnv: T\n')).registry(),
    /token of registry main .* T of this worker/,
  );
  await assert.rejects(
    configOf(registry(`    user: u\n    passwordFile: ${dir}/nothing\n`)).registry(),
    /password of registry main/,
  );
});

test('a registry that is not there, or one of several, has to be named', async () => {
  await assert.rejects(configOf('{}').registry(), /no registry is in the workers' configuration/);
  await assert.rejects(configOf(registry('')).registry('other'), /no registry "other".*known: main/);
  const two = configOf(`${registry('')}  second:\n    url: https://second.example\n`);
  await assert.rejects(two.registry(), /several registries are configured \(main, second\)/);
  assert.equal((await two.registry('second')).url, 'https://second.example');
});

const wrongRegistries: readonly (readonly [string, string, RegExp])[] = [
  ['a password in the file', '    user: u\n    password: x\n    passwordEnv: P\n', /password/],
  ['a user without a password', '    user: u\n', /takes user with passwordFile or passwordEnv/],
  ['a password without a user', '    passwordEnv: P\n', /takes user with/],
  ['two passwords', '    user: u\n    passwordEnv: P\n    passwordFile: /p\n', /takes user with/],
  ['a password and a token', '    user: u\n    passwordEnv: P\n    tokenEnv: T\n', /takes user with/],
  ['a user and a token', '    user: u\n    tokenEnv: T\n', /takes user with/],
  ['two tokens', '    tokenEnv: T\n    tokenFile: /t\n', /takes user with/],
  ['a prefix with capitals', '    prefix: VMs\n', /prefix/],
  ['a prefix with a slash at its end', '    prefix: vms/\n', /must not end with/],
  ['a prefix with a slash in front', '    prefix: /vms\n', /prefix/],
];
for (const [what, more, message] of wrongRegistries)
  test(`a registry with ${what} is refused`, () => {
    assert.throws(() => parseConfig(registry(more), 'vmflow.yaml'), message);
  });

for (const [url, message] of [
  ['https://a:b@registry.example', /user:password@/],
  ['https://registry.example/v2/', /without a path/],
  ['https://registry.example?x=1', /without a path/],
  ['ftp://registry.example', /url/],
] as const)
  test(`a registry at ${url} is refused`, () => {
    assert.throws(() => parseConfig(`registries:\n  main:\n    url: ${url}\n`, 'vmflow.yaml'), message);
  });

test('a missing configuration names the file and the variable', async () => {
  await assert.rejects(loadConfig(join(dir, 'none.yaml')), /none\.yaml.*VMFLOW_CONFIG/);
});

test('a secret file that others can read is warned about', async () => {
  const secret = join(dir, 'open');
  await writeFile(secret, 'x');
  await chmod(secret, 0o644);
  const file = parseConfig(vcenter(`    passwordFile: ${secret}\n`), 'vmflow.yaml');
  assert.match((await secretFileWarnings(file))[0] ?? '', /chmod 600/);
  await chmod(secret, 0o600);
  assert.deepEqual(await secretFileWarnings(file), []);
  const token = parseConfig(registry(`    tokenFile: ${secret}\n`), 'vmflow.yaml');
  assert.deepEqual(await secretFileWarnings(token), []);
  await chmod(secret, 0o640);
  assert.match((await secretFileWarnings(token))[0] ?? '', /chmod 600/);
});

const isRoot = process.getuid?.() === 0;
test(
  'a secret file of somebody else may be read by its group, as a Pod reads its secrets',
  { skip: isRoot ? false : 'only root gives a file away' },
  async () => {
    const secret = join(dir, 'of-another');
    await writeFile(secret, 'x');
    await chown(secret, 12_345, process.getgid!());
    const file = parseConfig(vcenter(`    passwordFile: ${secret}\n`), 'vmflow.yaml');
    await chmod(secret, 0o440);
    assert.deepEqual(await secretFileWarnings(file), []);
    await chmod(secret, 0o444);
    assert.deepEqual(await secretFileWarnings(file), [`${secret} is readable by others: chmod o= ${secret}`]);
  },
);
