import assert from 'node:assert/strict';
import { glob } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { neededTools } from '../../support/needed-tools.ts';

/** Spelled apart, or this file would ask for them too. */
const asks = (name: string): string => `await findTool(${['tools', name].join('.')});`;

async function needsOf(sources: Readonly<Record<string, string>>): Promise<string[]> {
  const names = await neededTools('test/a.test.ts', (file) => {
    const text = sources[file];
    return text === undefined ? Promise.reject(new Error(`no ${file}`)) : Promise.resolve(text);
  });
  return [...names].sort();
}

describe('tools that a test file needs', () => {
  test('are those it asks for, itself and through what it imports, however far', async () => {
    const sources = {
      'test/a.test.ts': `import {\n  one,\n} from './support/one.ts';\n${asks('vcsim')}`,
      'test/support/one.ts': `export { two } from '../stack/two.ts';`,
      'test/stack/two.ts': `import '../a.test.ts';\n${asks('etcd')}`,
    };
    assert.deepEqual(await needsOf(sources), ['etcd', 'vcsim']);
  });

  test('are not those behind a type, a package or a mention', async () => {
    const text = `import type { Kube } from './kube.ts';\nimport { z } from 'zod';\n// tools.temporal\nconst t = tools.etcd;`;
    assert.deepEqual(await needsOf({ 'test/a.test.ts': text }), []);
  });

  test('are none for unit tests', async () => {
    const root = join(import.meta.dirname, '../../..');
    for await (const file of glob(join(root, 'test/unit/**/*.test.ts')))
      assert.deepEqual([...(await neededTools(file))], [], relative(root, file));
  });

  test('are only the simulator for a test of the vSphere client, and more for one of an operation', async () => {
    const needs = async (...path: string[]): Promise<string[]> =>
      [...(await neededTools(join(import.meta.dirname, '../..', ...path)))].sort();
    assert.deepEqual(await needs('activities', 'vsphere', 'inventory.test.ts'), ['vcsim']);
    assert.deepEqual(await needs('crash', 'template', 'kill-upload.test.ts'), ['temporal', 'vcsim']);
  });

  test('are the scheduler too where a test has nodes, and only there', async () => {
    const needs = async (file: string): Promise<string[]> =>
      [...(await neededTools(join(import.meta.dirname, '../../activities/kubernetes', file)))].sort();
    assert.deepEqual(await needs('scheduler.test.ts'), ['etcd', 'kubeApiserver', 'kubeScheduler']);
    assert.deepEqual(await needs('rules.test.ts'), ['etcd', 'kubeApiserver']);
  });
});
