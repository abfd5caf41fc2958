import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { complaint, idleProgram } from './command-tree.ts';
import { codeBlocks, inlineCode, pageAt, pages, root, tableRows, type Page } from './markdown.ts';
import { shellCommands } from './shell.ts';

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
const compose = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8')) as {
  services: Record<string, { profiles?: string[] }>;
};
const services = Object.keys(compose.services);
const profiles = Object.values(compose.services).flatMap((service) => service.profiles ?? []);

const shown = (page: Page): string[][] => codeBlocks(page.text, 'sh').flatMap(shellCommands);
const all = pages.flatMap((page) => shown(page).map((words) => ({ page: page.path, words })));
const of = (name: string): typeof all => all.filter(({ words }) => words[0] === name);

const nounNames = new Set(
  idleProgram()
    .commands.filter(({ commands }) => commands.length > 0)
    .map((noun) => noun.name()),
);

/** The words after `vmflow`. In prose a noun with its verb is a command too, `queue cancel`. */
function afterProgram(words: readonly string[]): readonly string[] {
  if (words[0] === 'vmflow') return words.slice(1);
  return words.length > 1 && nounNames.has(words[0] ?? '') && /^[a-z-]+$/.test(words[1] ?? '') ? words : [];
}

for (const page of pages) {
  test(`every vmflow command of ${page.path} is one, with its flags and arguments`, async () => {
    const inProse = inlineCode(page.text).filter((code) => !code.includes('…'));
    const named = inProse.map((code) => shellCommands(code)[0] ?? []).map((words) => afterProgram(words));
    const wrong: string[] = [];
    for (const words of shown(page).filter(([name]) => name === 'vmflow')) {
      const problem = await complaint(words.slice(1));
      if (problem !== undefined) wrong.push(`vmflow ${words.slice(1).join(' ')}: ${problem}`);
    }
    for (const words of named.filter((found) => found.length > 0)) {
      const problem = await complaint(words);
      if (problem !== undefined && !/missing required argument/.test(problem))
        wrong.push(`${words.join(' ')}: ${problem}`);
    }
    assert.deepEqual(wrong, []);
  });
}

test('the README shows commands: they are found where they stand', () => {
  assert.ok(of('vmflow').length >= 30, `only ${of('vmflow').length}`);
});

test('every npm script that is shown is in package.json', () => {
  const named = of('npm').map(({ words }) => (words[1] === 'run' ? (words[2] ?? '') : (words[1] ?? '')));
  assert.ok(named.length >= 8);
  assert.deepEqual(
    named.filter((name) => !(name in scripts)),
    [],
  );
});

test('every part of the tests that is shown has tests', () => {
  const parts = [
    ...of('npm').map(({ words }) => words),
    ...pages.flatMap((page) => inlineCode(page.text)).flatMap(shellCommands),
  ]
    .filter((words) => words[0] === 'npm' && words[1] === 'test' && words.includes('--'))
    .map((words) => words.at(-1) ?? '');
  const files = globSync('test/**/*.test.ts', { cwd: root });
  assert.ok(parts.length >= 4);
  for (const part of parts.filter((name) => !name.startsWith('--') && !/^\w+\/\d+$/.test(name)))
    assert.ok(
      files.some((file) => file.includes(part)),
      part,
    );
});

test('every benchmark that is shown can be run, and every one that can be run is explained', () => {
  const source = readFileSync(join(root, 'test/bench/run.ts'), 'utf8');
  const known = [...source.matchAll(/^ {2}'?(b[\w-]+|cli|growth)'?(?:: \w+)?,$/gm)].map(([, name = '']) => name);
  const shownNames = of('npm').flatMap(({ words }) => (words[2] === 'bench' ? [words[4] ?? ''] : []));
  assert.ok(shownNames.length >= 2);
  for (const name of shownNames.filter((given) => given !== 'all')) assert.ok(known.includes(name), name);
  const explained = tableRows(pageAt('test/bench/README.md').text, 'name').flatMap(([name = '', , , target]) =>
    target === undefined ? [] : (/^`([\w-]+)`$/.exec(name)?.[1] ?? []),
  );
  assert.deepEqual([...new Set(explained)].sort(), known.sort());
});

test('every process that is shown has a source', () => {
  const processes = of('node').map(({ words }) => words[1] ?? '');
  assert.ok(processes.includes('dist/workers/bridge.js'));
  for (const path of processes) assert.ok(existsSync(join(root, path.replace(/^dist\/(.*)\.js$/, '$1.ts'))), path);
});

test('every file of ours that is applied, copied or built is there', () => {
  const paths = [...of('kubectl'), ...of('cp'), ...of('docker')]
    .flatMap(({ words }) => words)
    .concat(
      pages
        .flatMap((page) => inlineCode(page.text))
        .filter((code) => code.startsWith('kubectl '))
        .flatMap((code) => code.split(' ')),
    )
    .filter((word) => /^(?:workers\/|\.env\.)/.test(word));
  assert.ok(paths.length >= 8);
  for (const path of paths) assert.ok(existsSync(join(root, path)), path);
});

test('every service and profile of docker compose that is shown is in its file', () => {
  const inProse = pages.flatMap((page) => inlineCode(page.text)).flatMap(shellCommands);
  const lines = [...of('docker').map(({ words }) => words), ...inProse].filter(
    ([name, part]) => name === 'docker' && part === 'compose',
  );
  const wrong = lines.flatMap((words) =>
    words.flatMap((word, i) => {
      if (words[i - 1] === '--profile') return profiles.includes(word) ? [] : [word];
      const verb = words.findIndex((name) => ['stop', 'start', 'restart', 'up'].includes(name));
      return verb !== -1 && i > verb && !word.startsWith('-') && !services.includes(word) ? [word] : [];
    }),
  );
  assert.ok(lines.length >= 8);
  assert.deepEqual(wrong, []);
});
