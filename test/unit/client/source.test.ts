import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OrphanOrder } from '../../../workflows/contracts/batch-lookup.ts';
import { migrationId } from '../../../workflows/contracts/ids.ts';
import {
  entryExecution,
  batchExecution,
  orphan,
  orphanA,
  sourceInfo,
  sourceVm,
  syncOfVc1,
  targetInfo,
  uuidA,
  uuidB,
  withBatches,
} from './batch-builders.ts';
import type { FakeGateway } from './fake-gateway.ts';
import { block, documentOf, errorOf, runCli } from './run-cli.ts';

const result = {
  ...{ at: '2026-03-01T13:19:48.000Z', instances: 40, networks: 3, updated: 1, missing: 0 },
  warnings: [{ type: 'Instances not imported', messages: ['vm-7 has no configuration'], count: 2 }],
};

const endpoints = {
  what: 'endpoints',
  endpoints: [{ name: 'vc1', kind: 'vcenter', url: 'https://vc1.example/sdk', user: 'svc', tls: 'ca' }],
} as const;

describe('source list', () => {
  test('shows how each answers and what its last sync has seen', async () => {
    const gateway = withBatches();
    const other = { ...sourceInfo, name: 'vc2', connectivity: 'Confirm TLS fingerprint', detail: 'renewed' } as const;
    gateway.answers = { sources: { what: 'sources', sources: [sourceInfo, other] } };
    gateway.statusOf = {
      [syncOfVc1]: { kind: 'source', id: syncOfVc1, source: 'vc1', syncing: true, since: result.at, last: result },
    };
    const { exit, stdout } = await runCli(['source', 'list'], { gateway });
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      block(`
        NAME  TYPE    ENDPOINT                 STATUS                   SYNCING  VMS  LAST-SYNC
        vc1   vmware  https://vc1.example/sdk  OK                       yes      40   12 s ago
        vc2   vmware  https://vc1.example/sdk  Confirm TLS fingerprint  no       -    No update
      `),
    );
    const wide = await runCli(['source', 'list', '-o', 'wide'], { gateway });
    assert.match(wide.stdout, /AB:CD .*Instances not imported \(2\)/);
    documentOf(await runCli(['source', 'list', '-o', 'json'], { gateway }), 'SourceList');
  });

  test('without a worker it ends with 6', async () => {
    assert.equal((await runCli(['source', 'list'], { gateway: withBatches() })).exit, 6);
  });
});

describe('source sync', () => {
  test('reads the source, or joins who reads it, and tells the warnings', async () => {
    const gateway = withBatches();
    gateway.answers = { endpoints };
    gateway.startAnswer = result;
    const { exit, stdout, stderr } = await runCli(['source', 'sync', 'vc1'], { gateway });
    assert.equal(exit, 0);
    assert.equal(stdout, 'vc1: 40 VMs, 3 networks; 1 entries updated, 0 without their VM\n');
    assert.equal(stderr, 'warning: Instances not imported (2): vm-7 has no configuration\n');
    const [{ start, update } = assert.fail()] = gateway.started;
    assert.deepEqual([start.workflowId, start.args, update?.name], [syncOfVc1, [{ name: 'vc1' }], 'sync']);
    documentOf(await runCli(['source', 'sync', 'vc1', '-o', 'json'], { gateway }), 'SourceSync');
  });

  test('an unknown source gives 3 and nothing is started for it', async () => {
    const gateway = withBatches();
    gateway.answers = { endpoints };
    const wrong = await runCli(['source', 'sync', 'vc9', '-o', 'json'], { gateway });
    assert.deepEqual([wrong.exit, errorOf(wrong).reason, gateway.started.length], [3, 'SOURCE_NOT_FOUND', 0]);
  });
});

describe('source vms', () => {
  test('shows all pages', async () => {
    const gateway = withBatches();
    const pages = [
      { what: 'source-vms', items: [sourceVm], truncated: true, next: 'a' } as const,
      {
        what: 'source-vms',
        items: [
          {
            ...sourceVm,
            name: 'win-1',
            os_type: 'windows',
            distribution: 'other',
            distribution_version: 'Server 2022',
            running: false,
          },
        ],
        truncated: false,
      } as const,
    ];
    gateway.lookup = (request) => {
      gateway.lookups.push(request);
      return Promise.resolve({ answer: pages.shift(), startedAt: '' }) as never;
    };
    const { exit, stdout } = await runCli(['source', 'vms', 'vc1', '--filter', 'cpus <= 4'], { gateway });
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      block(`
        NAME    LOCATION        OS                   CPUS  MEMORY   DISKS        RUNNING  BACKGROUND
        web-03  /DC0/vm/web-03  ubuntu 22.04         4     8.0 GiB  2 (110 GiB)  yes      yes
        win-1   /DC0/vm/web-03  windows Server 2022  4     8.0 GiB  2 (110 GiB)  no       yes
      `),
    );
    const asked = { what: 'source-vms', source: 'vc1', filter: 'cpus <= 4' };
    assert.deepEqual(gateway.lookups, [asked, { ...asked, after: 'a' }]);
  });

  test('as JSON it validates; ids are uuids', async () => {
    const gateway = withBatches();
    gateway.answers = { 'source-vms': { what: 'source-vms', items: [sourceVm], truncated: false } };
    documentOf(await runCli(['source', 'vms', 'vc1', '-o', 'json'], { gateway }), 'SourceVmList');
    assert.equal((await runCli(['source', 'vms', 'vc1', '-q'], { gateway })).stdout, `${uuidA}\n`);
  });
});

describe('target list', () => {
  test('shows how each answers', async () => {
    const gateway = withBatches();
    gateway.answers = { targets: { what: 'targets', targets: [targetInfo] } };
    const { exit, stdout } = await runCli(['target', 'list'], { gateway });
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      block(`
        NAME  TYPE   ENDPOINT                    STATUS                AUTH         VERSION
        tgt   incus  https://incus.example:8443  Authentication error  certificate  -
      `),
    );
    assert.match(
      (await runCli(['target', 'list', '-o', 'wide'], { gateway })).stdout,
      /our certificate is not trusted/,
    );
    documentOf(await runCli(['target', 'list', '-o', 'json'], { gateway }), 'TargetList');
  });
});

describe('orphans', () => {
  const other = { ...orphan, target: 'tgt2', uuid: uuidB };
  function left(...orphans: readonly (typeof orphan)[]): FakeGateway {
    const gateway = withBatches();
    gateway.answers = { orphans: { what: 'orphans', orphans, unread: [], truncated: false } };
    return gateway;
  }

  test('are listed with what is wrong', async () => {
    const gateway = left(orphan);
    const { exit, stdout } = await runCli(['orphans', 'list'], { gateway });
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      block(`
        NAME                STATUS   BATCH    SOURCE  SOURCE-POWER  WHY
        tgt/default/web-03  stopped  night-1  vc1     off           no entry stands behind it, and its source is off that was on
      `),
    );
    documentOf(await runCli(['orphans', 'list', '-o', 'json'], { gateway }), 'OrphanList');
  });

  test("a target that can't be asked gives 7: what is there isn't known", async () => {
    const gateway = left();
    gateway.answers.orphans = { what: 'orphans', orphans: [], unread: ['target tgt: no answer'], truncated: false };
    const { exit, stderr } = await runCli(['orphans', 'list'], { gateway });
    assert.equal(exit, 7);
    assert.equal(stderr, 'could not be asked: target tgt: no answer\n');
  });

  test('adopt asks, then a workflow looks at the marks again', async () => {
    const gateway = left(orphan, other);
    gateway.ends[orphanA] = [{ result: { outcome: 'adopted', message: 'it goes on as an entry of night-1' } }];
    const argv = ['orphans', 'adopt', 'tgt/default/web-03'];
    assert.equal((await runCli(argv, { gateway })).exit, 2);
    const { exit, stdout } = await runCli([...argv, '--yes', '--reason', 'lost'], { gateway });
    assert.equal(exit, 0);
    assert.equal(
      stdout,
      `tgt/default/web-03: it goes on as an entry of night-1\n  look    vmflow queue get ${uuidA}\n`,
    );
    const order: OrphanOrder = {
      ...{ action: 'adopt', target: 'tgt', project: 'default', name: 'web-03', uuid: uuidA, attempt: 1 },
      ...{ by: 'op', reason: 'lost' },
    };
    const [{ start } = assert.fail()] = gateway.started;
    assert.deepEqual([start.type, start.workflowId, start.args], ['orphan', orphanA, [order]]);
  });

  test('delete wants the name', async () => {
    const gateway = left(orphan);
    gateway.ends[orphanA] = [{ result: { outcome: 'deleted', message: 'deleted' } }];
    assert.equal((await runCli(['orphans', 'delete', 'web-03', '--yes'], { gateway })).exit, 2);
    assert.equal(gateway.started.length, 0);
    const done = await runCli(['orphans', 'delete', uuidA, '--yes', '--confirm', 'web-03', '-o', 'json'], { gateway });
    assert.equal(documentOf(done, 'OrphanDone').outcome, 'deleted');
  });

  test('a name that two have is never chosen between', async () => {
    const gateway = left(orphan, other);
    const { exit, stderr } = await runCli(['orphans', 'delete', 'web-03', '--yes', '--confirm', 'web-03'], { gateway });
    assert.equal(exit, 3);
    assert.match(stderr, /tgt\/default\/web-03 {2}\(batch night-1, uuid .*\n +tgt2\/default\/web-03 /);
    assert.equal((await runCli(['orphans', 'adopt', 'nope', '--yes'], { gateway })).exit, 3);
    assert.equal(gateway.started.length, 0);
  });

  test('a failure is told in the words of the workflow', async () => {
    const gateway = left(orphan);
    const failure = { type: 'Foreign', message: 'its marks are others by now', details: { code: 'NOT_OURS' } };
    gateway.ends[orphanA] = [{ failure }];
    const failed = await runCli(['orphans', 'adopt', 'web-03', '--yes', '-o', 'json'], { gateway });
    assert.deepEqual([failed.exit, errorOf(failed).reason], [5, 'NOT_OURS']);
  });

  test('--dry-run starts nothing', async () => {
    for (const verb of ['adopt', 'delete']) {
      const gateway = left(orphan);
      const planned = await runCli(['orphans', verb, 'web-03', '--dry-run', '-o', 'json'], { gateway });
      assert.deepEqual([planned.exit, documentOf(planned, 'Plan').verb, gateway.started.length], [0, verb, 0]);
    }
  });
});

describe('open', () => {
  test('knows batches, their VMs and sources', async () => {
    const source = batchExecution({ workflowId: syncOfVc1, type: 'source', attributes: { OpKind: 'source' } });
    const gateway = withBatches(batchExecution(), entryExecution(), source);
    const links = { batch: 'night-1', entry: 'web-03', source: 'vc1' };
    for (const [kind, name] of Object.entries(links)) {
      const { exit, stdout } = await runCli(['open', kind, name, '--print'], { gateway });
      assert.equal(exit, 0, kind);
      const id = { batch: 'batch/night-1', entry: migrationId(uuidA), source: syncOfVc1 }[kind] ?? '';
      assert.ok(stdout.includes(encodeURIComponent(id)), stdout);
    }
  });
});
