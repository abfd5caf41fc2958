import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ensureDebianPackage } from '../../stack/debian.ts';
import { startDev, type DevProcess } from '../../stack/dev-process.ts';
import { codeBlocks, pageAt, root } from '../../unit/documents/markdown.ts';
import { cliEntry } from '../cli/run-process.ts';
import { patternOf, shownCommands, type ShownCommand } from './readme-commands.ts';
import { runInShell, withPaths, type Ended } from './shell.ts';

/** What isn't run here, by how it begins, and why. */
const notHere: readonly (readonly [begin: string, why: string])[] = [
  ['npm run demo', 'minutes, and a stack of its own'],
  ['npm run dev', 'what all of this runs on'],
  ['npm test', 'these tests'],
  [
    'alias vmflow=',
    'here vmflow is a program on the PATH, from the sources and not from what npm ci built; clone.test.ts takes it from npx',
  ],
  [
    'VMFLOW_CONFIG=vmflow.yaml node dist/workers/',
    'lives until it is ended; test/e2e/deploy starts what the build made',
  ],
  ['VMFLOW_CODEC_ORIGINS=', 'lives until it is ended; test/e2e/security starts it'],
  ['temporal worker deployment', 'needs workers with VMFLOW_VERSIONING=on; test/e2e/upgrade has them'],
  ['docker compose', 'needs Docker; test/e2e/deploy runs what the file says without it'],
  ['for db in', 'needs Docker'],
  ['npm run lint', 'minutes, of the sources and not of what runs'],
  ['npm run typecheck', 'the same'],
  [
    'npm run build',
    'changes the directory that other tests run from; clone.test.ts and test/e2e/deploy build in one of their own',
  ],
  ['npm run screenshots', 'a stack of its own, and it overwrites what is committed'],
  ['npm run bench', 'hours'],
  ...((await ensureDebianPackage(['jq'])) ? [] : [['vmflow history export | jq', 'jq is not to be had here'] as const]),
];

const page = pageAt('README.md').text;
const commands = shownCommands(page);
const whyNot = ({ text }: ShownCommand): string | undefined => notHere.find(([begin]) => text.startsWith(begin))?.[1];
const toRun = commands.filter((command) => whyNot(command) === undefined);

let dev: DevProcess;
/** Where the commands are run: what they copy from the project is there too. */
let dir: string;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmflow-readme-'));
  for (const name of ['.env.example', 'workers']) await symlink(join(root, name), join(dir, name));
  await mkdir(join(dir, 'bin'));
  await program('vmflow', `exec '${process.execPath}' '${cliEntry}' "$@"`);
  // The browser of whoever follows the README.
  await program('xdg-open', `echo "$1" >> '${join(dir, 'opened')}'`);
  dev = await startDev(root);
});
after(async () => {
  await dev.interrupt();
  await rm(dir, { recursive: true });
});

async function program(name: string, script: string): Promise<void> {
  await writeFile(join(dir, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

async function run(text: string): Promise<Ended> {
  const env = {
    ...{ PATH: `${join(dir, 'bin')}:${process.env['PATH'] ?? ''}`, HOME: dir, TZ: 'UTC', VMFLOW_USER: 'alice' },
    ...{ TEMPORAL_ADDRESS: dev.temporalAddress, TEMPORAL_NAMESPACE: dev.namespace, VMFLOW_UI_URL: dev.uiUrl },
    npm_config_update_notifier: 'false',
  };
  return await runInShell(withPaths(text, dev), { cwd: text.startsWith('npm ') ? root : dir, env });
}

test('every command of the README is run here, or named with the reason why not', () => {
  const unused = notHere.filter(([begin]) => !commands.some(({ text }) => text.startsWith(begin)));
  assert.deepEqual(unused, []);
  assert.ok(toRun.length >= 45, `only ${toRun.length} of ${commands.length} commands are run`);
  for (const { text } of toRun) assert.match(text, /^(vmflow|npm run (replay|vmflow)|echo|export|cp|mkdir) /, text);
});

describe('with npm run dev the commands of the README do what it says', () => {
  const said = new Map<string, string>();

  for (const section of new Set(toRun.map((command) => command.section)))
    test(section, async () => {
      for (const { text, exit } of toRun.filter((command) => command.section === section)) {
        const ended = await run(text);
        assert.equal(ended.exit, exit, `${text}\n${ended.stdout}${ended.stderr}`);
        said.set(text, ended.stdout);
      }
    });

  test('npm run dev names the kubeconfig, and the alias that the README speaks of', () => {
    assert.match(dev.printed, /KUBECONFIG=\S+/);
    assert.match(dev.printed, /alias vmflow='.+'$/m);
  });

  test('what a move prints is what is shown of it', () => {
    const [shown = ''] = codeBlocks(page, '').filter((block) => block.includes('moved from'));
    const printed = [...said].find(([text]) => /^vmflow move set\/.* --wait$/.test(text))?.[1] ?? '';
    assert.match(printed, patternOf(shown));
  });

  test('the page of a template is opened where the browser is', async () => {
    const opened = await readFile(join(dir, 'opened'), 'utf8');
    assert.ok(opened.startsWith(`${dev.uiUrl}/namespaces/${dev.namespace}/workflows/template-swap`), opened);
  });

  test('the record of who did what names who asked', () => {
    const ofAlice = [...said].find(([text]) => text.includes('.by == "alice"'))?.[1] ?? '';
    assert.match(ofAlice, /"name": "resolve"/);
  });

  test('the batch file that is shown is taken as it is', async () => {
    const [shown = ''] = codeBlocks(page, 'yaml').filter((block) => block.startsWith('name: shop'));
    await writeFile(join(dir, 'shown.yaml'), shown.replace('name: shop', 'name: shown'));
    const { exit, stdout, stderr } = await run('vmflow batch plan -f shown.yaml');
    // Nothing is wrong with it (2); its VMs were in the other batch.
    assert.equal(exit, 5, stdout + stderr);
    assert.match(stdout, /^sat .*\ntaken /m);
  });

  test('Ctrl-C ends all of it', async () => {
    assert.ok(dev.isRunning());
    const stackDir = dirname(dev.files['shop.yaml'] ?? '');
    assert.ok(existsSync(stackDir));
    await dev.interrupt();
    assert.ok(!existsSync(stackDir), `${stackDir} is left behind`);
    await assert.rejects(fetch(dev.uiUrl));
  });
});
