import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { exitCodes } from '../../../client/exit-codes.ts';
import { anchors, links, pageAt, pages, root, tableRows } from './markdown.ts';

const plain = (cell: string): string => cell.replaceAll(/[_`]/g, '');

test('the exit codes of the README are those of the command line', () => {
  const documented = tableRows(pageAt('README.md').text, 'code').map(([code = '', meaning = '']) => [
    code,
    plain(meaning),
  ]);
  assert.deepEqual(
    documented,
    Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning]),
  );
});

const variable = /VMFLOW_[A-Z_]*[A-Z]/g;
function variablesIn(patterns: readonly string[]): Set<string> {
  const files = globSync([...patterns], { cwd: root, exclude: ['test/histories/**', '**/*.md'] });
  return new Set(files.flatMap((file) => readFileSync(join(root, file), 'utf8').match(variable) ?? []));
}

test('every variable that a process or compose file reads is in a table', () => {
  const read = variablesIn([
    '{client,workers,activities,workflows}/**/*.ts',
    'docker-compose.yml',
    'workers/deploy/Dockerfile',
  ]);
  const explained = new Set(
    pages.flatMap(({ text }) => tableRows(text, 'variable').flatMap(([name = '']) => name.match(variable) ?? [])),
  );
  assert.deepEqual([...explained].sort(), [...read].sort());
});

test('every variable that a page names is read somewhere', () => {
  const read = variablesIn([
    '{client,workers,activities,workflows,test}/**/*.ts',
    'docker-compose.yml',
    'workers/deploy/**/*.yaml',
  ]);
  const named = new Set(pages.flatMap(({ text }) => text.match(variable) ?? []));
  assert.deepEqual(
    [...named].filter((name) => !read.has(name)),
    [],
  );
});

for (const { path, text } of pages) {
  test(`every link of ${path} leads somewhere`, () => {
    const broken = links(text)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        const [file = '', anchor] = target.split('#');
        const at = file === '' ? path : join(dirname(path), file);
        if (!existsSync(join(root, at))) return true;
        return anchor !== undefined && !anchors(pageAt(at).text).includes(anchor);
      });
    assert.deepEqual(broken, []);
  });
}
