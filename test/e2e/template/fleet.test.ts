import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { templateSwapFleetId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type {
  TemplateSwapFleetRequest,
  TemplateSwapFleetResult,
  TemplateSwapFleetStatus,
  TemplateSwapRequest,
} from '../../../workflows/contracts/template.ts';
import { serve, startServer } from '../../unit/ova/file-server.ts';
import { assertClean } from '../../support/guarantees.ts';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { Rig, type Scenario } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

let rig: Rig;
let ova: BuiltOva;
before(async () => {
  rig = await Rig.start();
  ova = await (await rig.scenario()).ova();
});
after(() => rig.stop());

/** Failure domains: equal names in folders of their own, all at the old version. */
async function domains(count: number): Promise<Scenario[]> {
  const scenarios: Scenario[] = [];
  while (scenarios.length < count) scenarios.push(await rig.scenario());
  await Promise.all(scenarios.map((scenario) => scenario.template(scenario.names.prod, '416.94.1')));
  return scenarios;
}

async function start(request: TemplateSwapFleetRequest): Promise<WorkflowHandle> {
  return await rig.client.workflow.start('templateSwapFleet', {
    taskQueue: rig.taskQueue,
    workflowId: templateSwapFleetId(request),
    args: [request],
  });
}

const badDatastore = (scenario: Scenario): TemplateSwapRequest =>
  scenario.request({ ova, placement: { datastore: 'LocalDS_9' } });

test('template/37 of three failure domains one has a bad datastore: two are swapped, one failed, one download', async (t) => {
  const bytes = await readFile(ova.path);
  const server = await startServer(t, (request, response) => serve(request, response, bytes));
  const scenarios = await domains(3);
  const templates = scenarios.map((scenario, index): TemplateSwapRequest => ({
    ...(index === 1 ? badDatastore(scenario) : scenario.request({ ova })),
    source: { kind: 'http', url: `${server.origin}/rhcos.ova`, sha256: ova.sha256 },
  }));
  const handle = await start({ templates, maxParallel: 3 });
  const result = (await handle.result()) as TemplateSwapFleetResult;

  assert.deepEqual(
    result.items.map(({ template, outcome }) => ({ template, outcome })),
    scenarios.map(({ folder, names }, index) => ({
      template: `${folder}/${names.prod}`,
      outcome: index === 1 ? 'failed' : 'swapped',
    })),
  );
  assert.equal(result.swapped, 2);
  assert.equal(result.failed, 1);
  const [one, bad, three] = result.items;
  assert.equal(bad?.error?.type, 'NotFound');
  assert.equal(bad.error.details?.code, 'DATASTORE_NOT_FOUND');
  assert.match(bad.error.message, /"LocalDS_9"/);
  assert.equal(one?.result?.prod?.moRef, await assertClean(scenarios[0]!));
  assert.equal(three?.result?.prod?.moRef, await assertClean(scenarios[2]!));
  await assertClean(scenarios[1]!, '416.94.1');
  assert.equal(server.requests.length, 1);

  const status = await handle.query<TemplateSwapFleetStatus>(messages.status);
  assert.equal(status.status, 'Completed');
  assert.equal(status.message, '3 of 3 done, 1 failed');
  assert.deepEqual(
    status.steps.map(({ state }) => state),
    ['done', 'failed', 'done'],
  );
});

test('a fleet with failFast starts no further swap after the first failure', async () => {
  const scenarios = await domains(3);
  const templates = scenarios.map((scenario, index) =>
    index === 0 ? badDatastore(scenario) : scenario.request({ ova }),
  );
  const handle = await start({ templates, maxParallel: 1, failFast: true });
  const result = (await handle.result()) as TemplateSwapFleetResult;
  assert.deepEqual(
    result.items.map(({ outcome }) => outcome),
    ['failed', 'skipped', 'skipped'],
  );
  assert.deepEqual(rig.proxy.mutating(), []);
});

test('a fleet refuses two entries for one template, however its folder is spelled', async () => {
  const [scenario] = await domains(1);
  assert.ok(scenario);
  const request = scenario.request({ ova });
  const placement = { ...request.placement, folder: `${scenario.folder.slice(1)}/` };
  const handle = await start({ templates: [request, { ...request, placement }] });
  const err: unknown = await handle.result().catch((error: unknown) => error);
  assert.ok(err instanceof WorkflowFailedError);
  assert.match(String(err.cause?.cause), /DUPLICATE_TARGET/);
});

test('a fleet that is cancelled ends its swaps, and leaves nothing of them', async () => {
  const scenarios = await domains(2);
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: 1024, times: 2 });
  const handle = await start({ templates: scenarios.map((scenario) => scenario.request({ ova })) });
  await waitFor('both uploads', () => rig.proxy.requests().filter(({ kind }) => kind === 'nfc').length === 2);
  await handle.cancel();
  await assert.rejects(handle.result(), WorkflowFailedError);
  assert.equal((await handle.describe()).status.name, 'CANCELLED');
  await waitFor('the clean-up of both', async () => {
    const left = await Promise.all(scenarios.map((scenario) => scenario.inventory()));
    return left.every((vms) => vms.length === 1);
  });
  for (const scenario of scenarios) await assertClean(scenario, '416.94.1');
});
