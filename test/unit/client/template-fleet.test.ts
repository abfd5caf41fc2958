import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  FleetItemResult,
  TemplateSwapFleetRequest,
  TemplateSwapFleetStatus,
} from '../../../workflows/contracts/template.ts';
import { completed, digest, placement, swapExecution, withSwap } from './builders.ts';
import { FakeGateway } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';

const fleetId = 'template-swap-fleet/night-1';
const file = `
requestId: night-1
templates:
  - &a
    vcenter: vc1
    placement: { datacenter: DC0, cluster: DC0_C0, datastore: LocalDS_0, network: VM Network }
    template: { prodName: rhel9-base }
    source: { kind: file, path: /images/rhel.ova, sha256: ${digest} }
    target: { version: "9.6" }
  - <<: *a
    vcenter: vc2
`;
const reading = { readText: () => Promise.resolve(file) };

function fleetExecution(state: 'running' | 'completed' = 'running') {
  return swapExecution({ workflowId: fleetId, type: 'templateSwapFleet', state, memo: {} });
}

const swapped: FleetItemResult = {
  id: 'template-swap/vc1/DC0/vm/rhel9-base',
  template: '/DC0/vm/rhel9-base',
  outcome: 'swapped',
  result: completed.result!,
};
const failed = (type: string): FleetItemResult => ({
  id: 'template-swap/vc2/DC0/vm/rhel9-base',
  template: '/DC0/vm/rhel9-base',
  outcome: 'failed',
  error: { type, message: 'there is no datastore "LocalDS_0"' },
});

function fleetStatus(items: readonly FleetItemResult[]): TemplateSwapFleetStatus {
  const isDone = (id: string): boolean => items.some((item) => item.id === id);
  const ids = ['vc1', 'vc2'].map((vcenter) => `template-swap/${vcenter}/DC0/vm/rhel9-base`);
  return {
    kind: 'template-swap-fleet',
    id: fleetId,
    status: items.length === 2 ? 'Completed' : 'Running',
    reason: '',
    message: `${items.length} of 2 done`,
    since: '2026-03-01T13:02:00.000Z',
    steps: ids.map((id) => ({ id, title: `${id} to 9.6`, state: isDone(id) ? 'done' : 'active' })),
    next: [],
    items,
    running: ids.filter((id) => !isDone(id)),
  };
}

test('fleet starts one operation for all templates of a file; the same file twice is the same operation', async () => {
  const gateway = withSwap(fleetExecution(), fleetStatus([]));
  const first = await runCli(['template', 'fleet', '-f', 'fleet.yaml'], { gateway, runtime: reading });
  assert.equal(first.exit, 0);
  assert.match(first.stderr, /^template-swap-fleet\/night-1: started\n/);
  const [{ start } = { start: undefined }] = gateway.started;
  assert.deepEqual([start?.type, start?.workflowId], ['templateSwapFleet', fleetId]);
  const request = start?.args[0] as TemplateSwapFleetRequest;
  assert.deepEqual(
    request.templates.map(({ vcenter, by, placement: where }) => [vcenter, by, where]),
    [
      ['vc1', 'op', placement],
      ['vc2', 'op', placement],
    ],
  );
  gateway.isOpenAlready = true;
  const second = await runCli(['template', 'fleet', '-f', 'fleet.yaml'], { gateway, runtime: reading });
  assert.deepEqual([second.exit, gateway.started[1]?.start.workflowId], [0, fleetId]);
  assert.match(second.stderr, /already in progress/);
});

test('template/37 a fleet with one failure gives 9 and shows both', async () => {
  const gateway = withSwap(fleetExecution('completed'), fleetStatus([swapped, failed('NotFound')]));
  const { exit, stdout } = await runCli(['template', 'fleet', 'night-1'], { gateway });
  assert.equal(exit, 9);
  assert.equal(
    stdout,
    block(`
      TEMPLATE            OUTCOME  VERSION  ERROR
      /DC0/vm/rhel9-base  swapped  9.6      -
      /DC0/vm/rhel9-base  failed   -        there is no datastore "LocalDS_0"
    `),
  );
  const document = documentOf(await runCli(['template', 'fleet', fleetId, '-o', 'json'], { gateway }), 'TemplateFleet');
  assert.equal((document['items'] as unknown[]).length, 2);
});

test('a fleet in which all fail alike gives that code', async () => {
  const gateway = withSwap(fleetExecution('completed'), fleetStatus([failed('Forbidden'), failed('Forbidden')]));
  assert.equal((await runCli(['template', 'fleet', 'night-1'], { gateway })).exit, 4);
});

test('fleet --wait follows to the end', async () => {
  const gateway = withSwap(
    fleetExecution(),
    fleetStatus([]),
    fleetStatus([swapped]),
    fleetStatus([swapped, { ...swapped, id: 'template-swap/vc2/DC0/vm/rhel9-base' }]),
  );
  const states = ['running', 'running', 'completed'] as const;
  let look = 0;
  gateway.describe = () => Promise.resolve(fleetExecution(states[look++] ?? 'completed'));
  const { exit, stderr } = await runCli(['template', 'fleet', '-f', 'f', '--wait'], { gateway, runtime: reading });
  assert.equal(exit, 0);
  assert.match(stderr, /vc1\/DC0\/vm\/rhel9-base to 9.6: active\n.*\n.*vc1.*: done\n.*vc2.*: done\n/);
});

test('fleet --wait --timeout gives 124', async () => {
  const gateway = withSwap(fleetExecution(), fleetStatus([]));
  const { exit, stderr } = await runCli(['template', 'fleet', 'night-1', '--wait', '--timeout', '5s'], { gateway });
  assert.equal(exit, 124);
  assert.match(stderr, /the work goes on; vmflow template fleet template-swap-fleet\/night-1 --wait/);
});

test('a planned fleet is another operation than the real one', async () => {
  const gateway = withSwap(fleetExecution('completed'), fleetStatus([swapped, swapped]));
  gateway.describe = () => Promise.resolve(fleetExecution('completed'));
  await runCli(['template', 'fleet', '-f', 'f', '--dry-run'], { gateway, runtime: reading });
  const [{ start } = { start: undefined }] = gateway.started;
  assert.equal(start?.workflowId, 'template-swap-fleet/plan-r4nd0m');
  const request = start.args[0] as TemplateSwapFleetRequest;
  assert.ok(request.templates.every(({ options }) => options?.dryRun === true));
});

test('two entries for one template are refused before anything is started', async () => {
  const gateway = new FakeGateway();
  const runtime = { readText: () => Promise.resolve(file.replace('vc2', 'vc1')) };
  const error = errorOf(await runCli(['template', 'fleet', '-f', 'f', '-o', 'json'], { gateway, runtime }));
  assert.equal(error.code, 2);
  assert.match(error.message, /DUPLICATE_TARGET/);
  assert.deepEqual(gateway.started, []);
});

test('fleet wants either a file or an id', async () => {
  assert.equal((await runCli(['template', 'fleet'])).exit, 2);
  assert.equal((await runCli(['template', 'fleet', 'x', '-f', 'y'])).exit, 2);
});
