import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { inlineCode, pageAt } from '../../unit/documents/markdown.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import type { SourceVm } from '../../support/batch-scenario.ts';
import { waitFor } from '../../support/wait-for.ts';
import { browserMissing, openBrowser, type Browser } from './browser.ts';
import { ExecutionPage } from './execution-page.ts';
import { assertInOrder } from './in-order.ts';
import { ListPage } from './list-page.ts';

const missing = await browserMissing();
const skip = missing ?? false;

/** Larger VMs go elsewhere: a change at the source moves one. */
const byCpus = `function placement(instance) { set_project(instance.cpus > 2 ? 'large' : 'default'); }`;

/** What the README says to filter the list by. */
const filter = inlineCode(pageAt('README.md').text).find((code) => code.startsWith('OpWaitingFor')) ?? '';

let rig: BatchRig;
let browser: Browser;
let list: ListPage;
before(async () => {
  if (missing !== undefined) return;
  rig = await BatchRig.start({ webUi: true });
  rig.incus.addProject('large', { 'features.networks': 'false', 'features.storage.volumes': 'true' });
  browser = await openBrowser();
  list = new ListPage(browser.page, rig.temporal.server?.uiUrl ?? '', rig.temporal.namespace);
});
after(async () => {
  if (missing !== undefined) return;
  await browser.close();
  await rig.stop();
});

/** A batch of two, one of which is changed at its source in its downtime; the other one is finished. */
async function changedMeanwhile(label: string): Promise<SourceVm> {
  const batch = await rig.batch({ config: { placement_scriptlet: byCpus } });
  const [changed, other] = [await batch.vm(label), await batch.vm(`${label}-other`)];
  const held = changed.holdFinalCopy();
  await batch.apply();
  await batch.start();
  await changed.isInFinalCopy();
  await rig.control.changeVm(changed.ref, { cpus: 4 });
  held.release();
  await changed.becomes('Conflict');
  await other.becomes('Finished');
  await waitFor('both in the list', async () => (await rig.client.workflow.count(filter)).count === 2);
  return changed;
}

/** As a person gets there: the filter of the README, then a click. */
async function pageFromList(vm: SourceVm): Promise<ExecutionPage> {
  // A list of nothing has no columns to choose.
  await list.addColumns(['OpKind', 'OpStatus', 'OpVm', 'OpConflict']);
  const rows = await list.rows(filter, 2);
  assert.deepEqual(
    rows.map((row) => [row['OpKind'], row['OpStatus'], row['OpVm'], row['OpConflict']]).sort(),
    [
      ['batch', 'Running', '', ''],
      ['migration', 'Conflict', vm.name, 'PLACEMENT_CHANGED'],
    ],
    'the VM, and its batch; nobody who needs nobody',
  );
  const row = rows.find(({ OpVm }) => OpVm === vm.name);
  return new ExecutionPage(browser.page, await list.follow(row?.['Workflow ID'] ?? ''));
}

test(
  'a VM that was changed at its source is found in the list, explains itself and is resolved in its page',
  {
    skip,
  },
  async () => {
    const vm = await changedMeanwhile('web');
    const page = await pageFromList(vm);

    const asked = await page.metadata();
    const said = [
      `${vm.name}: vc1${vm.batch.folder}/${vm.name} → tgt/default: Conflict`,
      /since 20\S+ \S+ UTC · waiting for a person/,
      /In its downtime since 20\S+ \S+ UTC: its source is switched off/,
      'Conflict PLACEMENT_CHANGED: ',
      'expected: project default',
      'found: project large',
      'recheck: after you changed source',
      `cancel: leave ${vm.name} out of ${vm.batch.name}; its source is switched on again`,
      'Send an Update',
      `vmflow queue resolve ${await vm.uuid()} --decision recheck`,
      '✘ Compare source and target once more',
    ];
    assertInOrder(asked.current, said);
    assert.deepEqual(asked.cut, []);

    const pasted = asked.json[0] ?? '';
    const wrong = pasted.replace('"recheck"', '"overwrite"');
    assert.match((await page.send('update', 'resolve', wrong)) ?? '', /overwrite.*choose one of recheck, cancel/);

    // As long as it is as it was it stays in Conflict; what was pasted answers the one before.
    assert.equal(await page.send('update', 'resolve', pasted), undefined);
    await vm.becomes('Conflict', ({ resolveCount }) => resolveCount === 1);
    assert.match(
      (await page.send('update', 'resolve', pasted)) ?? '',
      /the open conflict is PLACEMENT_CHANGED\/\S+\/1/,
    );

    await rig.control.changeVm(vm.ref, { cpus: 1 });
    assert.equal(await page.send('update', 'resolve', (await page.metadata()).json[0] ?? ''), undefined);
    await vm.becomes('Finished');
    const done = await page.metadata();
    assert.match(done.current, /: Finished\n/);
    assert.doesNotMatch(done.current, /waiting for|downtime|Send an Update|✘/);
    await waitFor('nobody to be waited for', async () => (await rig.client.workflow.count(filter)).count === 0);
    assert.equal(await vm.power(), 'poweredOff');
    assert.equal(vm.target?.status, 'Running');
    await vm.assertSameDisks();
  },
);

test('its batch says in its page by which filter the VMs are found that it waits for', { skip }, async () => {
  const vm = await changedMeanwhile('db');
  const { runId } = await vm.batch.handle.describe();
  const ui = rig.temporal.server?.uiUrl ?? '';
  const link = `${ui}/namespaces/${rig.temporal.namespace}/workflows/${encodeURIComponent(vm.batch.handle.workflowId)}/${runId}`;
  const { current } = await new ExecutionPage(browser.page, link).metadata();
  const [, ofBatch = ''] = /found in the list of workflows by (.*)/.exec(current) ?? [];
  const rows = await list.rows(ofBatch, 1);
  assert.deepEqual(
    rows.map((row) => row['OpVm']),
    [vm.name],
  );
});
