import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { startDev, type DevProcess } from '../../stack/dev-process.ts';
import { waitFor } from '../../support/wait-for.ts';
import { inlineCode, pageAt, root } from '../../unit/documents/markdown.ts';
import { browserMissing, openBrowser, type Browser } from '../web-ui/browser.ts';
import { ExecutionPage } from '../web-ui/execution-page.ts';
import { ListPage } from '../web-ui/list-page.ts';
import { shownCommands, type ShownCommand } from './readme-commands.ts';
import { runInShell, withPaths, type Ended } from './shell.ts';

const run = promisify(execFile);
const skip = existsSync(join(root, '.git')) ? await browserMissing() : 'this is no clone of the repository';
const readme = pageAt('README.md').text;
const [, section = ''] = /^## (The first Conflict.*)$/m.exec(readme) ?? [];
const commands = shownCommands(readme).filter((command) => command.section === section);

/** What is committed; what isn't, isn't in it. The packages are those that are here: nothing is installed again. */
describe('who has cloned the repository and has the README', { skip: skip ?? false }, () => {
  let clone: string;
  let dev: DevProcess;
  let browser: Browser;

  before(async () => {
    clone = await mkdtemp(join(tmpdir(), 'vmflow-clone-'));
    await run('git', ['clone', '--quiet', root, clone]);
    await linkPackages(clone);
    // As `npm ci` does when it has installed.
    await run('npm', ['run', 'build'], { cwd: clone, env });
    dev = await startDev(clone);
    browser = await openBrowser();
  });
  after(async () => {
    await browser.close();
    await dev.interrupt();
    await rm(clone, { recursive: true });
  });

  const env = { ...process.env, TZ: 'UTC', npm_config_update_notifier: 'false' };

  async function vmflow(text: string): Promise<Ended> {
    const alias = `vmflow() { ${dev.alias} "$@"; }`;
    return await runInShell(`${alias}\n${withPaths(text, dev)}`, { cwd: clone, env });
  }

  async function ends(text: string, exit: number): Promise<void> {
    const ended = await vmflow(text);
    assert.equal(ended.exit, exit, `${text}\n${ended.stdout}${ended.stderr}`);
  }

  test('has a batch with a VM in Conflict by the commands, and resolves it in the Web UI', async () => {
    const [before, after] = [commandsUntil('vmflow queue list'), commandsAfter('vmflow queue resolve')];
    for (const { text, exit } of before) await ends(text, exit);

    const filter = inlineCode(readme).find((code) => code.startsWith('OpWaitingFor'));
    assert.ok(filter !== undefined);
    const list = new ListPage(browser.page, dev.uiUrl, dev.namespace);
    const ids = (await list.filterBy(filter, 2)).map((row) => row['Workflow ID'] ?? '');
    const [migration = ''] = ids.filter((id) => id.startsWith('migration/'));
    assert.deepEqual(ids.toSorted(), ['batch/shop', migration]);

    const page = new ExecutionPage(browser.page, await list.follow(migration));
    const { current, json, cut } = await page.metadata();
    assert.match(current, /^proxy: [^]*Conflict NO_GUEST_TOOLS[^]*recheck[^]*cancel[^]*Send an Update/);
    assert.deepEqual(cut, []);
    assert.equal(await page.send('update', 'resolve', json[0] ?? ''), undefined);
    await waitFor('proxy to be Finished in its page', async () => /: Finished$/m.test((await page.metadata()).current));
    for (const { text, exit } of after) await ends(text, exit);
  });
});

function indexOf(begin: string): number {
  const index = commands.findIndex(({ text }) => text.startsWith(begin));
  assert.notEqual(index, -1, `the README has no ${begin} in ${section}`);
  return index;
}

/** Those of the section but the alias, which is the one that is printed. */
function commandsUntil(begin: string): ShownCommand[] {
  return commands.slice(0, indexOf(begin)).filter(({ text }) => !text.startsWith('alias '));
}

function commandsAfter(begin: string): ShownCommand[] {
  const rest = commands.slice(indexOf(begin) + 1);
  assert.ok(rest.length > 0);
  return rest;
}

/** Its own folder of links: whatever npm does to it is done to the links alone. */
async function linkPackages(to: string): Promise<void> {
  const [from, packages] = [join(root, 'node_modules'), join(to, 'node_modules')];
  await mkdir(packages);
  const stamp = '.vmflow-installed';
  for (const name of await readdir(from)) if (name !== stamp) await symlink(join(from, name), join(packages, name));
  const { stdout } = await runInShell('cksum <package-lock.json', { cwd: to, env: process.env });
  await writeFile(join(packages, stamp), stdout);
}
