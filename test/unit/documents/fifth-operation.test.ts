import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inlineCode, pageAt, root } from './markdown.ts';

const page = pageAt('workflows/README.md').text;

test('every interface and function that the way to a fifth operation names is there', () => {
  const isOurs = (code: string): boolean => !/report/i.test(code) && code !== 'setCurrentDetails';
  const named = inlineCode(page).filter((code) => /^[A-Za-z]*[a-z][A-Z]\w*$/.test(code) && isOurs(code));
  assert.ok(named.length >= 15, `only ${named.join(', ')}`);
  const sources = globSync('{activities,client,workers,workflows}/**/*.ts', { cwd: root })
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n');
  const declared = (name: string): boolean =>
    new RegExp(`(?:function|const|class|interface|type|readonly) ${name}\\b`).test(sources);
  assert.deepEqual(
    named.filter((name) => !declared(name)),
    [],
  );
});

test('the four operations and the lookup have a folder, and no folder is left out', () => {
  const folders = globSync('workflows/*/', { cwd: root }).map((path) => `${path.replace('workflows/', '')}/`);
  const listed = inlineCode(page).filter((code) => /^\w+\/$/.test(code));
  assert.deepEqual([...new Set(listed)].filter((name) => name !== 'test/').sort(), folders.sort());
});
