import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SetDetails } from '../../../workflows/contracts/cluster-lookup.ts';
import { cocoonSetId } from '../../../workflows/contracts/ids.ts';
import { noWorker, type FakeGateway } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';
import {
  execution,
  linkOf,
  lostStatus,
  migrateId,
  migratingSet,
  migrationExecution,
  migrationStatus,
  setDetails,
  setRow,
  setUid,
  withSet,
} from './set-builders.ts';

const get = ['set', 'get', 'web', '-n', 'shop'];
const watch = ['set', 'watch', 'web', '-n', 'shop'];

test('set list shows where each set is, where it is wanted, and what its migration is at', async () => {
  const gateway = withSet(setDetails());
  const rows = [setDetails({ name: 'app' }), migratingSet].map(setRow);
  gateway.answers.sets = { what: 'sets', items: rows, truncated: false };
  const { exit, stdout } = await runCli(['set', 'list', '-n', 'shop'], { gateway });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      NAME  PHASE      NODE    TARGET  MIGRATING     READY  AGE
      app   Running    node-a  -       -             1/1    3 h
      web   Migrating  node-a  node-b  Snapshotting  1/1    3 h
    `),
  );
  assert.deepEqual(gateway.lookups, [{ what: 'sets', namespace: 'shop' }]);
  const one = await runCli(['sets', 'list', '--phase', 'migrating', '-l', 'app=web', '-o', 'name'], { gateway });
  assert.equal(one.stdout, 'shop/web\n');
  assert.deepEqual(gateway.lookups.at(-1), { what: 'sets', selector: 'app=web' });
  const document = documentOf(await runCli(['set', 'list', '-o', 'json'], { gateway }), 'CocoonSetList');
  assert.equal((document['items'] as unknown[]).length, 2);
});

test('no sets, and no worker to ask', async () => {
  const gateway = withSet(setDetails());
  gateway.answers.sets = { what: 'sets', items: [], truncated: false };
  const none = await runCli(['set', 'list'], { gateway });
  assert.deepEqual([none.exit, none.stdout, none.stderr], [0, '', 'no such sets\n']);
  gateway.answers.sets = noWorker('ask the workers (sets)');
  assert.equal(errorOf(await runCli(['set', 'list', '-o', 'json'], { gateway })).code, 6);
});

test('set get shows a quiet set with its VMs, conditions and what can be done', async () => {
  const { exit, stdout } = await runCli(get, { gateway: withSet(setDetails()) });
  assert.equal(exit, 0);
  assert.equal(
    stdout,
    block(`
      shop/web   Running on node-a, wanted anywhere   1/1 ready
        image   base:1
        agents
          SLOT  ROLE  POD    VM             VM-ID  IP        PHASE
          0     main  web-0  vk-shop-web-0  vm-1   10.0.0.7  Running
        says    Ready=True AllAgentsReady: 1/1 agents ready (since 10:21 (2 h 59 min))
        next    vmflow move set/web -n shop --to NODE
        link    ${linkOf(cocoonSetId('shop', 'web'))}
    `),
  );
});

test('set get shows the open migration with its steps, what it waits for, and the record', async () => {
  const gateway = withSet(migratingSet, migrationExecution);
  gateway.statusOf[migrateId] = migrationStatus();
  const { stdout } = await runCli(get, { gateway });
  assert.equal(
    stdout,
    block(`
      shop/web   Migrating on node-a, wanted on node-b   1/1 ready
        image   base:1
        agents
          SLOT  ROLE  POD    VM             VM-ID  IP        PHASE
          0     main  web-0  vk-shop-web-0  vm-1   10.0.0.7  Running
        says    Ready=True AllAgentsReady: 1/1 agents ready (since 10:21 (2 h 59 min))
        record  node-a → node-b, quiescing since 13:10 (10 min), VM vm-1
        moving  Snapshotting since 13:10 (10 min)   node-a → node-b
        ✓ done     check the target, wait for a slot
        ● running  store memory and disks
        ○ to come  remove the old Pod
        ○ to come  create the Pod for the target
        ○ to come  find room on the target
        ○ to come  restore the VM
        ○ to come  drop the snapshot
        waiting for the cluster (Snapshotting: the node agent stores memory and disks of the VM) since 13:10 (10 min), until 13:40 (20 min); ends with: vmflow migrate abort web -n shop
        next    vmflow set watch web -n shop
                vmflow migrate abort web -n shop
        link    ${linkOf(migrateId, 'run-1')}
    `),
  );
  const document = documentOf(await runCli([...get, '-o', 'json'], { gateway }), 'CocoonSet');
  assert.equal((document['migration'] as { step: string }).step, 'Snapshotting');
});

test('a conflict is shown with its ways out as commands', async () => {
  const gateway = withSet(setDetails({ phase: 'Failed', target: 'node-b' }), migrationExecution);
  gateway.statusOf[migrateId] = lostStatus;
  const { stdout } = await runCli(get, { gateway });
  assert.match(stdout, /moving {2}CONFLICT SnapshotMissing since/);
  assert.match(stdout, /options vmflow migrate retry web -n shop {14}looks again\n/);
  assert.match(stdout, / {10}vmflow migrate acknowledge-loss web -n shop {3}gives up the state of the VM\n/);
});

test('a migration that is over is no part of the set; one that sleeps says how it is woken', async () => {
  const over = withSet(setDetails(), { ...migrationExecution, state: 'completed' });
  const document = documentOf(await runCli([...get, '-o', 'json'], { gateway: over }), 'CocoonSet');
  assert.equal(document['migration'], undefined);
  const facts = {
    name: 'web-0',
    desire: 'Hibernate',
    phase: 'Hibernated',
    generation: 1,
    observedGeneration: 1,
  } as const;
  const asleep = await runCli(get, { gateway: withSet(setDetails({ hibernation: facts })) });
  assert.match(asleep.stdout, /sleep {3}a CocoonHibernation wants its main VM to sleep: Hibernated\n/);
  assert.match(asleep.stdout, /next {4}vmflow wake set\/web -n shop\n/);
});

test('without a worker that answers the migration is told as Temporal recorded it', async () => {
  const gateway = withSet(migratingSet, migrationExecution);
  gateway.polled = {};
  const { stdout } = await runCli(get, { gateway });
  assert.match(stdout, /moving {2}Snapshotting since .* node-a → node-b\n/);
  assert.match(stdout, /no worker can answer; this is what Temporal recorded last/);
});

test('a name that is nowhere or in several namespaces is not guessed', async () => {
  const gateway = withSet(setDetails());
  gateway.answers.set = { what: 'set' };
  assert.equal(errorOf(await runCli([...get, '-o', 'json'], { gateway })).reason, 'SET_NOT_FOUND');
  const twins = [setDetails(), setDetails({ namespace: 'test' })];
  gateway.answers.sets = { what: 'sets', items: twins.map(setRow), truncated: false };
  const two = await runCli(['set', 'get', 'web'], { gateway });
  assert.equal(two.exit, 3);
  assert.match(two.stderr, new RegExp(`2 sets named "web"\\n {2}why {5}shop/web {2}\\(Running, uid ${setUid}\\)`));
  gateway.answers.sets = { what: 'sets', items: [], truncated: false };
  assert.match((await runCli(['set', 'get', 'web'], { gateway })).stderr, /no set "web" in any namespace/);
});

/** The set as it is at each look, the last one for good. */
function looks(gateway: FakeGateway, ...sets: readonly (SetDetails | undefined)[]): FakeGateway {
  const left = [...sets];
  const lookup = gateway.lookup.bind(gateway);
  gateway.lookup = (request: { what: string }) => {
    if (request.what === 'set') {
      const set = left.length > 1 ? left.shift() : left[0];
      gateway.answers.set = { what: 'set', ...(set === undefined ? {} : { set }) };
    }
    return lookup(request as never);
  };
  return gateway;
}

const moved = setDetails({ target: 'node-b', node: 'node-b' });

test('set watch ends when nothing is under way: Running where it is wanted gives 0', async () => {
  const gateway = looks(withSet(setDetails()), migratingSet, { ...migratingSet, node: 'node-b' }, moved);
  const { exit, stdout, stderr } = await runCli(watch, { gateway });
  assert.equal(exit, 0);
  assert.equal(stderr, 'shop/web: Migrating on node-a\nshop/web: Migrating on node-b\nshop/web: Running on node-b\n');
  assert.match(stdout, /^shop\/web {3}Running on node-b, wanted there/);
});

const settled: readonly [string, Partial<SetDetails>, number][] = [
  ['Suspended, wherever it is wanted', { phase: 'Suspended', target: 'node-b' }, 0],
  ['Failed, and nothing is open', { phase: 'Failed', target: 'node-b' }, 1],
];
for (const [what, over, code] of settled)
  test(`set watch of a set that is ${what} gives ${code}`, async () => {
    assert.equal((await runCli(watch, { gateway: withSet(setDetails(over)) })).exit, code);
  });

const unsettled: readonly [string, Partial<SetDetails>][] = [
  ['wanted elsewhere', { target: 'node-b' }],
  ['changed and nobody has seen it', { generation: 3 }],
  ['starting', { phase: 'Pending' }],
];
for (const [what, over] of unsettled)
  test(`set watch goes on while a set is ${what}, until --timeout gives 124`, async () => {
    const { exit, stderr } = await runCli([...watch, '--timeout', '1m'], { gateway: withSet(setDetails(over)) });
    assert.equal(exit, 124);
    assert.match(stderr, /--timeout reached, the work goes on: vmflow set watch web -n shop\n/);
  });

test('set watch of a set that goes away ends with 8; one that can’t be asked for a moment is asked again', async () => {
  const gone = await runCli(watch, { gateway: looks(withSet(setDetails()), migratingSet, undefined) });
  assert.equal(gone.exit, 8);
  assert.match(gone.stderr, /shop\/web is gone\n$/);
  const gateway = looks(withSet(setDetails()), migratingSet, moved);
  const lookup = gateway.lookup.bind(gateway);
  let calls = 0;
  gateway.lookup = (request: never) => (++calls === 2 ? Promise.reject(noWorker('ask')) : lookup(request));
  const away = await runCli(watch, { gateway });
  assert.equal(away.exit, 0);
  assert.match(away.stderr, /lost contact, trying again/);
});

test('set watch -o jsonl writes one document per change; on a terminal it is drawn in place', async () => {
  const sets = [migratingSet, migratingSet, moved] as const;
  const { stdout } = await runCli([...watch, '-o', 'jsonl'], { gateway: looks(withSet(setDetails()), ...sets) });
  const phases = stdout
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { phase: string }).phase);
  assert.deepEqual(phases, ['Migrating', 'Running']);
  const gateway = looks(withSet(setDetails()), ...sets);
  const drawn = await runCli(['set', 'get', 'web', '-n', 'shop', '-w'], { gateway, isTerminal: true });
  assert.deepEqual([drawn.exit, drawn.stdout], [0, '']);
  assert.ok(drawn.stderr.includes('\u001b[J'));
  assert.equal(drawn.stderr.split('\u001b[J').length - 1, 3, 'one drawing per look');
});

test('open set leads to its migration while one is open, else to who decides for it', async () => {
  const open = ['open', 'set', 'web', '-n', 'shop', '--print'];
  const entity = execution(cocoonSetId('shop', 'web'), { runId: 'run-2' });
  const both = withSet(setDetails(), migrationExecution, entity);
  assert.equal((await runCli(open, { gateway: both })).stdout, `${linkOf(migrateId, 'run-1')}\n`);
  const over = withSet(setDetails(), { ...migrationExecution, state: 'completed' }, entity);
  assert.equal((await runCli(open, { gateway: over })).stdout, `${linkOf(entity.workflowId, 'run-2')}\n`);
  const never = await runCli(open, { gateway: withSet(setDetails()) });
  assert.equal(never.exit, 3);
  assert.match(
    never.stderr,
    /nothing has been done to set shop\/web lately .*\n {2}next {4}vmflow set get web -n shop/,
  );
  const migration = await runCli(['open', 'migration', 'shop/web', '--print'], { gateway: both });
  assert.equal(migration.stdout, `${linkOf(migrateId, 'run-1')}\n`);
});
