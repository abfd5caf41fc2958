import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { workflowBundlePath } from '../../../workers/bundle.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Names of modules as the bundler writes them into the code. */
const forbidden = [
  'zod',
  'soap',
  'undici',
  'yaml',
  'pino',
  'commander',
  'tar-stream',
  'saxes',
  '@kubernetes',
  '@grpc',
  '@temporalio/client',
  '@temporalio/worker',
  '@temporalio/activity',
];

test('the workflow bundle has no vendor package and no zod in it', async () => {
  const code = await readFile(await workflowBundlePath(), 'utf8');
  const modules = [...code.matchAll(/node_modules\/((?:@[\w.-]+\/)?[\w.-]+)/g)].map((match) => match[1]);
  assert.ok(modules.includes('@temporalio/workflow'), 'the bundle names its modules, so that this test sees them');
  assert.deepEqual(
    forbidden.filter((name) => modules.some((module) => module === name || module?.startsWith(`${name}/`))),
    [],
  );
  assert.ok(!/node_modules\/zod/.test(code));
});

test('the workflow bundle stays small', async () => {
  const code = await readFile(await workflowBundlePath(), 'utf8');
  const withoutMap = code.replace(/\/\/# sourceMappingURL=.*$/s, '');
  assert.ok(withoutMap.length < 1_700_000, `${withoutMap.length} bytes`);
});

test('modules of workflows hold no state: all workflows of a worker share them', async () => {
  const stateful =
    /^(?:export )?(?:let |var |const \w+(?:: (?!Readonly)[^=]+)? = (?:new (?:Map|Set|WeakMap|WeakSet|Array)\b|\[\];|\{\};))/m;
  const folder = join(root, 'workflows');
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts'));
  const found = await Promise.all(
    files.map(async (name) => (stateful.test(await readFile(join(folder, name), 'utf8')) ? [name] : [])),
  );
  assert.ok(files.length > 50);
  assert.deepEqual(found.flat(), []);
});

test('there is one copy of protobufjs 8, else recorded histories do not load', async () => {
  const copies: string[] = [];
  for (const file of await readdir(join(root, 'node_modules'), { recursive: true })) {
    if (!/(^|\/)protobufjs\/package\.json$/.test(file)) continue;
    const { version } = JSON.parse(await readFile(join(root, 'node_modules', file), 'utf8')) as { version: string };
    if (version.startsWith('8.')) copies.push(`${file} ${version}`);
  }
  assert.equal(copies.length, 1, copies.join('\n'));
});

test('the lock file records no download address', async () => {
  assert.doesNotMatch(await readFile(join(root, 'package-lock.json'), 'utf8'), /"resolved": "http/);
});

test('all Temporal packages have one exact version', async () => {
  const { dependencies, devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >;
  const versions = new Set(
    Object.entries({ ...dependencies, ...devDependencies })
      .filter(([name]) => name.startsWith('@temporalio/'))
      .map(([, version]) => version),
  );
  assert.deepEqual([...versions], ['1.24.0']);
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(([, version]) => !/^\d/.test(version));
  assert.deepEqual(loose, []);
});
