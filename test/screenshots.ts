import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { runInShell, withPaths } from './e2e/documents/shell.ts';
import { browserMissing, openBrowser } from './e2e/web-ui/browser.ts';
import { ExecutionPage } from './e2e/web-ui/execution-page.ts';
import { ListPage } from './e2e/web-ui/list-page.ts';
import { startDev } from './stack/dev-process.ts';
import { smallerPng } from './support/smaller-png.ts';
import { root } from './unit/documents/markdown.ts';

/** `npm run screenshots`: takes the pictures of the README from a living installation, in a browser without a window. */
const folder = join(root, 'client/web-ui');
const width = 1280;
const margin = 4;
/** Pages of a repository are read over slow lines, too. */
const mostBytes = 150_000;

const where = "--vcenter main --datacenter DC0 --cluster DC0_C0 --datastore LocalDS_0 --network 'VM Network'";
/** Afterwards a migration and a swap are in Conflict, and another swap keeps the previous template. */
const commands = [
  'vmflow batch apply -f /tmp/…/shop.yaml',
  'vmflow batch start shop',
  `vmflow template update rescue --ova /tmp/…/rescue-1.0.ova --create --wait ${where}`,
  'vmflow template update rescue --ova /tmp/…/rescue-2.0.ova --keep 1h --wait',
  `vmflow template update kiosk --ova /tmp/…/rescue-1.0.ova --create --wait ${where}`,
  'vmflow batch watch shop',
];
/** 5: somebody is waited for, which is what is to be seen. */
const expected: readonly number[] = [0, 5];

const missing = await browserMissing();
if (missing !== undefined) throw new Error(`No screenshots: ${missing}.`);
await mkdir(folder, { recursive: true });
const dev = await startDev(root);
const browser = await openBrowser();
try {
  for (const command of commands) await mustEnd(command);
  const list = new ListPage(browser.page, dev.uiUrl, dev.namespace);
  await browser.page.setViewportSize({ width, height: 1_300 });
  await list.addColumns(['OpStatus', 'OpVm', 'OpConflict']);
  await list.removeColumns(['Run ID', 'Type', 'Start', 'End']);
  const waiting = await list.filterBy('OpWaitingFor = "person"', 3);
  await browser.page.getByRole('button', { name: 'Collapse saved views' }).click();
  await browser.page.mouse.move(width / 2, 0);
  await shoot('list.png', browser.page.getByTestId('workflows-summary-configurable-table-row').last());

  const migration = waiting.find(({ OpVm }) => OpVm === 'proxy')?.['Workflow ID'] ?? '';
  await details('migration-in-conflict.png', await list.follow(migration));
  const link = await mustEnd('vmflow open template rescue --print');
  await details('template-swap.png', link.trim());
} finally {
  await browser.close();
  await dev.interrupt();
}

async function mustEnd(command: string): Promise<string> {
  console.log(command);
  const text = `vmflow() { ${dev.alias} "$@"; }\n${withPaths(command, dev)}`;
  const { exit, stdout, stderr } = await runInShell(text, { cwd: root, env: { ...process.env, VMFLOW_USER: 'alice' } });
  if (!expected.includes(exit)) throw new Error(`${command} ended with ${exit}:\n${stdout}${stderr}`);
  return stdout;
}

/** The page of an execution with the tab that people read. */
async function details(name: string, link: string): Promise<void> {
  await new ExecutionPage(browser.page, link).metadata();
  await shoot(name, browser.page.locator('iframe[title=output]').last());
}

/** The page down to where its last part ends. */
async function shoot(name: string, last: Locator): Promise<void> {
  const path = join(folder, name);
  const box = await last.boundingBox();
  if (box === null) throw new Error(`${name}: the page does not show what it is taken of.`);
  const whole = await browser.page.screenshot({ clip: { x: 0, y: 0, width, height: box.y + box.height + margin } });
  const small = smallerPng(whole);
  if (small.length > mostBytes)
    throw new Error(`${name} has ${small.length} bytes, more than ${mostBytes}: show less.`);
  await writeFile(path, small);
  console.log(`${path}: ${small.length} bytes`);
}
