import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createConfig, loadConfig, parseConfig, secretFileWarnings } from '../../../activities/config.ts';

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
});
