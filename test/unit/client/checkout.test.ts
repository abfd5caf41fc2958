import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';
import { root } from '../documents/markdown.ts';

const run = promisify(execFile);
let dir: string;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmflow-checkout-'));
});
after(() => rm(dir, { recursive: true }));

/** What `npm run build` has left: the entry that npm starts as `vmflow`, and a program that says it is the built one. */
beforeEach(async () => {
  await rm(dir, { recursive: true });
  const entry = await readFile(join(root, 'client/cli.ts'), 'utf8');
  await write('package.json', '{ "type": "module" }');
  await write('dist/client/cli.js', entry.replaceAll(/(['"]\.\/.*)\.ts(['"])/g, '$1.js$2'));
  await write('dist/client/main.js', "console.log('built', ...process.argv.slice(2));");
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(dir, path)), { recursive: true });
  await writeFile(join(dir, path), text);
}

async function said(path: string): Promise<string> {
  return (await run(process.execPath, [join(dir, path), '--help'])).stdout.trim();
}

const source = (text: string): string => `const text: string = '${text}'; console.log(text, ...process.argv.slice(2));`;

test('in a checkout the sources run, however old what was built is', async () => {
  await write('client/main.ts', source('pulled'));
  assert.equal(await said('dist/client/cli.js'), 'pulled --help');
});

test('what was shipped without sources runs what was built', async () => {
  assert.equal(await said('dist/client/cli.js'), 'built --help');
});

test('sources run themselves, never what lies beside their checkout', async () => {
  await write('client/main.ts', source('beside'));
  await write('checkout/client/cli.ts', await readFile(join(root, 'client/cli.ts'), 'utf8'));
  await write('checkout/client/main.ts', source('own'));
  assert.equal(await said('checkout/client/cli.ts'), 'own --help');
});

test('npm starts that entry', async () => {
  const { bin } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { readonly bin: object };
  assert.deepEqual(bin, { vmflow: 'dist/client/cli.js' });
});
