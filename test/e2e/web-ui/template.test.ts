import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { templateSwapId } from '../../../workflows/contracts/ids.ts';
import type { Resolution } from '../../../workflows/contracts/conflict.ts';
import type { TemplateSwapResult } from '../../../workflows/contracts/template.ts';
import { code, codeBlock, pane, plain, table } from '../../../workflows/domain/markdown.ts';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { Rig, Swap, type Scenario } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';
import { browserMissing, openBrowser, type Browser } from './browser.ts';
import { ExecutionPage } from './execution-page.ts';
import { assertInOrder } from './in-order.ts';
import { ListPage } from './list-page.ts';

const run = promisify(execFile);
const cli = fileURLToPath(new URL('../../../client/cli.ts', import.meta.url));

const missing = await browserMissing();
const skip = missing ?? false;

let rig: Rig;
let browser: Browser;
let ova: BuiltOva;
before(async () => {
  if (missing !== undefined) return;
  rig = await Rig.start({ webUi: true });
  browser = await openBrowser();
  ova = await (await rig.scenario()).ova();
});
after(async () => {
  if (missing !== undefined) return;
  await browser.close();
  await rig.stop();
});

const uiUrl = (): string => rig.temporal.server?.uiUrl ?? '';

async function vmflow(args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [cli, ...args], {
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: rig.temporal.address,
      TEMPORAL_NAMESPACE: rig.temporal.namespace,
      VMFLOW_TASK_QUEUE: rig.taskQueue,
      VMFLOW_UI_URL: uiUrl(),
    },
  });
  return stdout;
}

interface Watched {
  readonly id: string;
  readonly swap: Swap;
  readonly page: ExecutionPage;
}

/** Starts a swap through the CLI, which gives it its summary, details and memo, and finds its page by the CLI's link. */
async function update(scenario: Scenario): Promise<Watched> {
  const { placement, template, vcenter } = scenario.request();
  const flags = Object.entries({ vcenter, ...placement }).flatMap(([name, value]) => [`--${name}`, value]);
  await vmflow(['template', 'update', template.prodName, '--ova', ova.path, ...flags]);
  const id = templateSwapId(scenario.request());
  const link = (await vmflow(['open', 'workflow', id, '--print'])).trim();
  const swap = new Swap(rig.client.workflow.getHandle(id), {
    how: 'started',
    version: '417.94.2',
    status: 'Validating',
  });
  return { id, swap, page: new ExecutionPage(browser.page, link) };
}

/** A swap in conflict with a powered-off template that somebody else put under the temporary name. */
async function conflicting(): Promise<Watched & { readonly scenario: Scenario; readonly foreign: string }> {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const foreign = await scenario.template(scenario.names.temp, '410.0.0');
  const watched = await update(scenario);
  await watched.swap.reaches('Conflict');
  return { ...watched, scenario, foreign };
}

/** The JSON that the details pane offers, with a person's decision and name in. */
function decided(offered: string | undefined, decision: string): string {
  const body = JSON.parse(offered ?? 'null') as Resolution;
  return JSON.stringify({ ...body, decision, by: 'the operator' }, undefined, 2);
}

async function offeredBy(page: ExecutionPage): Promise<string | undefined> {
  return (await page.metadata()).json[0];
}

test('the list shows what each swap is doing, and a filter finds those that wait for a person', { skip }, async () => {
  const { id, swap } = await conflicting();
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const finished = await update(scenario);
  await finished.swap.result();

  const list = new ListPage(browser.page, uiUrl(), rig.temporal.namespace);
  await list.addColumns(['OpStatus', 'OpVm', 'OpTarget', 'OpConflict', 'OpProgress']);
  const [waiting, ...others] = await list.rows('OpWaitingFor = "person"', 1);
  assert.deepEqual(others, []);
  assert.equal(waiting?.['Workflow ID'], id);
  assert.equal(waiting.Status, 'Running');
  assert.equal(waiting.OpStatus, 'Conflict');
  assert.equal(waiting.OpConflict, 'FOREIGN_OBJECT');
  assert.equal(waiting.OpTarget, '417.94.2');

  const done = (await list.rows('OpKind = "template-swap"', 2)).find((row) => row['Workflow ID'] === finished.id);
  assert.equal(done?.Status, 'Completed');
  assert.equal(done.OpStatus, 'Completed');
  assert.equal(done.OpVm, `${scenario.folder}/${scenario.names.prod}`);
  assert.equal(done.OpProgress, '1');
  await swap.handle.terminate();
});

test(
  "a conflict explains itself in its page and is resolved by the update of the page's own dialog",
  { skip },
  async () => {
    const { id, swap, page, scenario, foreign } = await conflicting();
    await page.open();
    assert.equal(await page.heading(), id); // the link with its encoded slashes leads here

    const { summary, details, current, json, cut } = await page.metadata();
    assert.equal(summary.trim(), `update template ${scenario.names.prod} to 417.94.2 on main`);
    assertInOrder(details, [
      'asked to update template',
      scenario.folder,
      `vmflow template get ${id}`,
      '"vcenter": "main"',
    ]);
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`;
    assertInOrder(current, [
      'Conflict · waiting for a person',
      new RegExp(`since ${time} · until ${time}, then the swap fails`),
      'Conflict FOREIGN_OBJECT',
      scenario.names.temp,
      'expected: no object under that name',
      `found: ${foreign}, version 410.0.0`,
      'retry',
      'destroy-foreign',
      `destroy ${foreign}`,
      'abort',
      'Send an Update',
      `vmflow template resolve ${scenario.names.prod} --decision destroy-foreign`,
      'check names, placement, tags and space (active)',
      'destroy the previous template (pending)',
      'version 416.94.1',
    ]);
    assert.deepEqual(cut, []);

    const refused = await page.send('update', 'resolve', decided(json[0], 'no-such-choice'));
    assert.match(refused ?? '', /no-such-choice.*choose one of retry, destroy-foreign, abort/);
    assert.equal(await page.send('update', 'resolve', decided(json[0], 'destroy-foreign')), undefined);
    assert.equal((await swap.result()).outcome, 'swapped');
    await page.shows('Completed');

    const afterwards = await page.metadata();
    assertInOrder(afterwards.current, [
      'Completed · 100 %',
      `${scenario.names.prod} is 417.94.2`,
      'swap by rename (done)',
      'version 417.94.2',
      'outcome: swapped',
    ]);
    assert.doesNotMatch(afterwards.current, /pending|active|From a terminal/);
    assert.deepEqual(afterwards.cut, []);
  },
);

test(
  'a conflict that a person has cleared away is resolved by the signal with the JSON as offered',
  { skip },
  async () => {
    const { swap, page, scenario, foreign } = await conflicting();
    await rig.vcsim.control.renameVm(foreign, 'kept for its owner');
    assert.equal(await page.send('signal', 'resolve', (await offeredBy(page)) ?? ''), undefined);
    assert.equal((await swap.result()).outcome, 'swapped');
    const left = await scenario.inventory();
    assert.ok(left.some(({ ref }) => ref === foreign));

    const events = (await page.events()).toReversed().join('\n');
    assertInOrder(events, [
      `update template ${scenario.names.prod} to 417.94.2 on main`,
      'check the request',
      `look at ${scenario.names.prod}`,
      'conflict FOREIGN_OBJECT: waiting for a decision',
      'Workflow Execution Signaled',
      'read and verify the OVA of 417.94.2',
      `import 417.94.2 as ${scenario.names.temp}`,
      `finish ${scenario.names.temp}`,
      `swap: ${scenario.names.prod} → ${scenario.names.rollback}`,
      `verify that ${scenario.names.prod} is 417.94.2`,
      `destroy previous template ${scenario.names.rollback}`,
    ]);
  },
);

test('a running upload says how far it is, and is cancelled from its page', { skip }, async () => {
  const scenario = await rig.scenario();
  const old = await scenario.template(scenario.names.prod, '416.94.1');
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: 1024, until: new Promise(() => undefined) });
  const { swap, page } = await update(scenario);
  await waitFor('the upload', () => rig.proxy.requests().some(({ kind, bytes }) => kind === 'nfc' && bytes > 0));
  await waitFor('its heartbeat', async () => {
    const { pendingActivities } = (await swap.handle.describe()).raw;
    const data = pendingActivities?.[0]?.heartbeatDetails?.payloads?.[0]?.data;
    return data != null && Buffer.from(data).includes('"uploading"');
  });

  const { current, cut } = await page.metadata();
  assertInOrder(current, [
    'Importing · 15 %',
    'since 20',
    'Pending Activities',
    'Request Cancellation',
    `vmflow template watch ${scenario.names.prod}`,
    'read and verify the OVA (done)',
    'import under the temp name (active)',
    'finish the new template (pending)',
  ]);
  assert.deepEqual(cut, []);
  assertInOrder(await page.pendingActivities(), ['importToTemp', '"phase": "uploading"', '"totalBytes"']);

  await page.requestCancellation();
  assert.equal((await swap.failure()).type, 'Cancelled');
  await page.shows('Canceled');
  assertInOrder((await page.metadata()).current, ['Cancelled', 'before the new template was swapped in']);
  assert.deepEqual(
    (await scenario.inventory()).map(({ ref }) => ref),
    [old],
  );
});

test('a failed swap says why and what to do, and is started again from its page', { skip }, async () => {
  const { swap, page, scenario, foreign, id } = await conflicting();
  await page.send('update', 'resolve', decided(await offeredBy(page), 'abort'));
  await swap.failure();
  await page.shows('Failed');
  const { current, cut } = await page.metadata();
  assertInOrder(current, [
    'Failed',
    'Why: FOREIGN_OBJECT',
    'the operator decided to abort',
    `found: ${foreign}`,
    'Start Workflow Like This One',
    `vmflow template update ${scenario.names.prod} --ova FILE|URL --version 417.94.2`,
    '(failed)',
    '(skipped)',
  ]);
  assert.deepEqual(cut, []);

  await rig.vcsim.control.destroyVm(foreign);
  const { runId } = await swap.handle.describe();
  await page.startAgain();
  const again = rig.client.workflow.getHandle(id);
  await waitFor('the new run', async () => (await again.describe()).runId !== runId);
  assert.equal(((await again.result()) as TemplateSwapResult).outcome, 'swapped');
});

test('names and messages from outside look in the pane as they are', { skip }, async () => {
  const odd = String.raw`rhel_9 _a_ *b* **c** <d> [e](f) |g| \h i--j # 1. ${'`k`'}`;
  const markdown = pane([plain(odd), code(odd), table(['one', 'two'], [[plain(odd), code('l')]]), codeBlock(odd)]);
  await browser.page.goto(`${uiUrl()}/render?content=${encodeURIComponent(markdown)}&theme=light`);
  const main = browser.page.locator('main');
  assert.equal(await main.locator('p').first().innerText(), odd);
  assert.equal(await main.locator('p code').innerText(), odd);
  assert.deepEqual(await main.locator('td').allInnerTexts(), [odd, 'l']);
  assert.equal((await main.locator('pre').innerText()).trim(), odd);
});
