import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { parseBatchFile } from '../../../activities/schemas/batch-file.ts';
import type { BatchSpecAnswer, ResolveAnswer } from '../../../workflows/contracts/batch.ts';
import { batchId, migrationId, shardId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { BatchSpec } from '../../../workflows/domain/batch/records.ts';
import { omit } from '../../../workflows/domain/omit.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import { assertRefused, type BatchUnderTest, type SourceVm } from '../../support/batch-scenario.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Without an address it stays Blocked: an entry that costs nothing. */
const blocked = { ips: [] } as const;
const hourMs = 3_600_000;
const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();

describe('batches: who is in them, and how they start', { concurrency: 6 }, () => {
  let rig: BatchRig;
  before(async () => (rig = await BatchRig.start({ ownSource: true })));
  after(() => rig.stop());

  /** Gives the VM an instance UUID that the test knows. */
  async function withUuid(vm: SourceVm): Promise<string> {
    const uuid = randomUUID();
    await rig.control.changeVm(vm.ref, { instanceUuid: uuid });
    return uuid;
  }

  async function isOpen(workflowId: string): Promise<boolean> {
    const handle = rig.client.workflow.getHandle(workflowId);
    return await handle.describe().then(
      ({ status }) => status.name === 'RUNNING',
      () => false,
    );
  }

  async function nothingIsLeftOf(name: string): Promise<void> {
    await waitFor(`batch ${name} to be closed`, async () => !(await isOpen(batchId(name))));
    assert.equal(await isOpen(shardId(name, 0)), false, 'no shard was started');
  }

  async function resolve(vm: SourceVm): Promise<ResolveAnswer> {
    const { conflict } = await vm.view();
    return await vm.update<ResolveAnswer>(messages.resolve, { conflictId: conflict?.id, decision: 'recheck' });
  }

  async function entriesOf(batch: BatchUnderTest): Promise<string[]> {
    const rows = await batch.rows();
    return rows.flatMap(({ name, phase }) => (phase === 'none' ? [] : [name])).sort();
  }

  test('batch/S01: who appears after the batch was made is in it only after an edit', async () => {
    const batch = await rig.batch();
    const [first, second] = [await batch.vm('s01a', blocked), await batch.vm('s01b', blocked)];
    assert.equal((await batch.apply()).members, 2);
    const late = await batch.vm('s01c', blocked);
    const uuid = await withUuid(late);
    await rig.sync();
    assert.equal((await batch.start()).queued, 2);
    assert.deepEqual(await entriesOf(batch), [first.name, second.name]);
    assert.equal(await isOpen(migrationId(uuid)), false);

    const edited = await rig.batch();
    await edited.vm('s01d', blocked);
    assert.equal((await edited.apply()).members, 1);
    await edited.vm('s01e', blocked);
    assert.equal((await edited.edit({ config: { sync_limit: 3 } })).members, 2);
    assert.equal((await edited.start()).queued, 2);
  });

  test('batch/S02: a VM of two batches that start at the same moment is migrated by one of them; the other starts without it', async () => {
    const one = await rig.batch();
    const other = await rig.batch({ include_expression: `location startsWith '${one.folder}/'` });
    other.spec = {
      ...other.spec,
      include_expression: `location startsWith '${one.folder}/shared' || location startsWith '${other.folder}/'`,
    };
    const shared = await Promise.all(Array.from({ length: 8 }, (_, at) => one.vm(`shared${at}`, blocked)));
    await one.vm('s02a', blocked);
    await other.vm('s02b', blocked);
    assert.deepEqual([(await one.apply()).members, (await other.apply()).members], [9, 9]);
    const started = await Promise.all([one.start(), other.start()]);
    assert.equal(started[0].queued + started[1].queued, 10);
    assert.ok(started.every(({ queued }) => queued > 0));
    const skipped = started.flatMap((answer) => answer.skipped);
    assert.deepEqual(skipped.map(({ name }) => name).sort(), shared.map(({ name }) => name).sort());
    for (const { why } of skipped) assert.match(why, new RegExp(`batch (${one.name}|${other.name}) has it`));
    const owners = [...(await entriesOf(one)), ...(await entriesOf(other))];
    assert.equal(new Set(owners).size, 10, 'nobody is in both');
    assert.match(rig.workers.get('control')?.output() ?? '', /member skipped: it is in another batch/);
  });

  test('batch/S03: an expression by uuid finds the one VM; a uuid has no methods', async () => {
    const batch = await rig.batch();
    await batch.vm('s03a', blocked);
    const vm = await batch.vm('s03b', blocked);
    const uuid = await withUuid(vm);
    batch.spec = { ...batch.spec, include_expression: `uuid == '${uuid}'` };
    assert.equal((await batch.apply()).members, 1);
    assert.deepEqual(
      (await batch.rows()).map((row) => row.uuid),
      [uuid],
    );
    const refused = await rig.batch({ include_expression: `uuid.String() == '${uuid}'` });
    await assertRefused(refused.apply(), /include_expression \(line 1, column \d+\)/);
    await nothingIsLeftOf(refused.name);
  });

  test('batch/S04: all expressions that people have are taken; what can never be a condition is refused with its place', async () => {
    const right = [
      `location matches '/Incus migrations/' and source == 'vcenter01'`,
      `source in ["vc1","vc2"] && (location startsWith "/a/b" || location startsWith "/e/f") && cpus <= 4 && memory <= 1024*1024*1024*8 && len(disks) == 1 && !disks[0].shared && os in ["Ubuntu 22.04","Ubuntu 24.04"]`,
      `len(filter(disks, .name matches 'mydisk')) > 2`,
      `any(split(config['tag.mycategory'], ','), # == 'tag1')`,
      `count(nics, .ipv4_address != '') == len(nics)`,
      `path_base(location) == 'ubuntu2404' and source == 'esxi01'`,
      `!(location matches "^/a/e/.*$")`,
      `uuid == '5298cc11-96ea-4f50-b018-6d80bfdaa7d9' or uuid == '52cfcb6b-20ee-add3-adc9-68c63ca9adfd'`,
    ];
    const wrong = [
      `"string"`,
      `path_base(123) == 'c'`,
      `path_base() == 'c'`,
      `uuid.String() == 'x'`,
      `nosuch == 1`,
      `len(disks)`,
    ];
    const asConstraints = (expressions: readonly string[]): BatchSpec['constraints'] =>
      expressions.map((include_expression, at) => ({
        name: `c${at}`,
        description: '',
        include_expression,
        max_concurrent_instances: 1,
        min_instance_boot_time: 0,
      }));
    const taken = await rig.batch({ constraints: asConstraints(right) });
    await taken.vm('s04', blocked);
    assert.equal((await taken.apply()).result, 'created');
    const refused = await rig.batch({ constraints: asConstraints(wrong) });
    for (const at of wrong.keys())
      await assertRefused(
        refused.apply(),
        new RegExp(`constraints\\[${at}\\]\\.include_expression \\(line 1, column \\d+\\)`),
      );
    await nothingIsLeftOf(refused.name);
  });

  test('batch/S05: a batch whose windows are over can’t be started', async () => {
    const end = inMs(10_000);
    const batch = await rig.batch({ migration_windows: [{ name: 'w1', end, capacity: 0 }] });
    await batch.vm('s05', blocked);
    await batch.apply();
    await waitFor('the end of its window', () => Date.now() > Date.parse(end) + 500);
    await assertRefused(batch.start(), /all windows .* are over/);
    const { status, counts } = await batch.view();
    assert.equal(status, 'Defined');
    assert.deepEqual(counts, { none: 1 });
    // What is over may stay beside one that is ahead.
    await batch.edit({
      migration_windows: [...batch.spec.migration_windows, { name: 'w2', start: inMs(hourMs), capacity: 0 }],
    });
    assert.equal((await batch.start()).queued, 1);
  });

  test('batch/S06 batch/S07: a VM that was moved out of the expression is a Conflict as its batch starts; once resolved it is migrated like the others', async () => {
    const batch = await rig.batch();
    const [moved, other] = [await batch.vm('s06'), await batch.vm('s06b')];
    await batch.apply();
    const elsewhere = await rig.batch();
    await rig.control.moveVm(moved.ref, elsewhere.folder);
    await rig.sync();
    assert.equal((await batch.start()).queued, 2);
    const { conflict } = await moved.becomes('Conflict');
    assert.equal(conflict?.code, 'EXPRESSION_MISMATCH');
    assert.equal(conflict.expected, batch.spec.include_expression);
    assert.match(conflict.found, new RegExp(elsewhere.folder));
    await other.becomes('Finished');
    assert.equal((await moved.view()).status, 'Conflict', 'it waits for a person');
    assert.equal((await batch.view()).status, 'Running', 'so does its batch');
    assert.equal((await resolve(moved)).result, 'waiting');
    await moved.becomes('Finished');
    const statuses = (await moved.timeline()).map(({ status }) => status);
    assert.deepEqual(statuses.slice(0, 3), ['Conflict', 'Waiting', 'Creating new VM']);
    await batch.becomes('Finished');
  });

  test('batch/S07: who has agreed once isn’t asked again, also not after cancel and retry', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('s07', blocked);
    await batch.apply();
    await rig.control.moveVm(vm.ref, (await rig.batch()).folder);
    await batch.start();
    await vm.becomes('Conflict');
    await resolve(vm);
    await vm.becomes('Blocked');
    await vm.update(messages.cancel);
    await vm.becomes('Canceled');
    assert.match(await vm.update(messages.retry), /Blocked/);
    const { status, message } = await vm.view();
    assert.deepEqual([status, /IPv4/.test(message)], ['Blocked', true]);
  });

  test('batch/S08: forced, a VM that was moved out of the expression isn’t asked about', async () => {
    const batch = await rig.batch({ defaults: { force_conflict_resolution: true } });
    const vm = await batch.vm('s08');
    await batch.apply();
    await rig.control.moveVm(vm.ref, (await rig.batch()).folder);
    await batch.start();
    await vm.becomes('Finished');
    assert.equal((await vm.timeline())[0]?.status, 'Waiting');
  });

  test('no_guest_tools ask: a running VM whose guest can’t be asked to shut down is a Conflict before anything is done', async () => {
    const batch = await rig.batch();
    const [silent, off] = [
      await batch.vm('tools-ask', { noTools: true }),
      await batch.vm('tools-off', { noTools: true, poweredOn: false }),
    ];
    await batch.apply();
    await batch.start();
    const { conflict, message } = await silent.becomes('Conflict');
    assert.deepEqual([conflict?.code, conflict?.expected], ['NO_GUEST_TOOLS', 'running guest tools']);
    assert.match(message, /only be switched off hard/);
    await off.becomes('Finished');
    assert.equal(await silent.power(), 'poweredOn');
    assert.equal((await resolve(silent)).result, 'waiting');
    await silent.becomes('Finished');
    await batch.becomes('Finished');
  });

  test('no_guest_tools power-off and skip: such a VM is switched off hard without a question, or left out with the reason', async () => {
    const hard = await rig.batch({ config: { no_guest_tools: 'power-off' } });
    const vm = await hard.vm('tools-hard', { noTools: true });
    await hard.apply();
    await hard.start();
    await vm.becomes('Finished');
    assert.equal((await vm.timeline())[0]?.status, 'Waiting');

    const without = await rig.batch({ config: { no_guest_tools: 'skip' } });
    const [left, other] = [await without.vm('tools-skip', { noTools: true }), await without.vm('tools-run')];
    await without.apply();
    const { queued, skipped } = await without.start();
    assert.equal(queued, 1);
    assert.deepEqual(
      skipped.map(({ name, why }) => [name, /^NO_GUEST_TOOLS: .*no_guest_tools: skip/.test(why)]),
      [[left.name, true]],
    );
    await other.becomes('Finished');
    await without.becomes('Finished');
    assert.equal(await left.power(), 'poweredOn');
  });

  test('batch/S09: a VM without an address is Blocked until its guest reports one and the source was read', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('s09', blocked);
    await batch.apply();
    await batch.start();
    const { message } = await vm.becomes('Blocked');
    assert.match(message, /no NIC has an IPv4 address/);
    await rig.control.setGuest(vm.ref, { ips: { [vm.mac]: ['10.1.0.99'] } });
    const { updated } = await rig.sync();
    assert.ok(updated > 0, 'its entry was told');
    await vm.becomes('Finished');
    assert.deepEqual(
      (await vm.timeline()).slice(0, 2).map((line) => line.message),
      [message, 'Instance has been unblocked'],
    );
  });

  test('batch/S10: a program that fails for one VM blocks that one alone', async () => {
    const batch = await rig.batch({
      config: {
        placement_scriptlet: `function placement(instance) {
          if (instance.name.startsWith('s10b')) throw new Error('no room for it');
          set_pool(instance.disks[0].name, 'fast');
        }`,
      },
    });
    const [good, bad] = [await batch.vm('s10a'), await batch.vm('s10b')];
    await batch.apply();
    assert.equal((await batch.start()).queued, 2);
    await good.becomes('Finished');
    const { message, placement } = await bad.becomes('Blocked');
    assert.match(message, /^PLACEMENT_FAILED: .*no room for it/);
    assert.equal(placement, undefined);
  });

  test('what is wrong with a batch is told all at once, and nothing of it stays; corrected, it is taken', async () => {
    const batch = await rig.batch();
    await batch.vm('bad', blocked);
    const right = batch.spec;
    batch.spec = {
      ...right,
      include_expression: 'nosuch == 1',
      migration_windows: [
        { name: 'w1', start: inMs(hourMs), end: inMs(hourMs / 2), capacity: 0 },
        { name: 'w2', end: inMs(-hourMs), capacity: 0 },
      ],
      defaults: { ...right.defaults, placement: { ...right.defaults.placement, target: 'nosuch' } },
      network_overrides: { '/DC0/network/x': { network: 'a', nictype: 'managed', vlan_id: '10' } },
      config: { ...right.config, placement_scriptlet: 'function placement( {', final_background_sync_limit: hourMs },
    };
    const all = [
      /include_expression \(line 1, column 1\)/,
      /migration_windows\[0\]\.end: .*before it starts/,
      /migration_windows\[1\]\.end: .*ended/,
      /defaults\.placement\.target: there is no target "nosuch"/,
      /network_overrides\["\/DC0\/network\/x"\]\.vlan_id/,
      /config\.placement_scriptlet/,
      /config\.final_background_sync_limit: must not be longer/,
    ];
    for (const one of all) await assertRefused(batch.apply(), one);
    await nothingIsLeftOf(batch.name);
    batch.spec = right;
    assert.deepEqual(await batch.apply(), { members: 1, result: 'created', etag: '1' });
  });

  test('a batch with fields of other types than they have is refused field by field, from whatever client', async () => {
    const batch = await rig.batch();
    const { config } = batch.spec;
    const odd = {
      ...omit(batch.spec, 'migration_windows'),
      constraints: 'none',
      config: { ...config, sync_limit: 'many' },
      nosuch: true,
    };
    for (const why of [/migration_windows.* missing/, /constraints.*list/, /config\.sync_limit/, /nosuch.*no field/])
      await assertRefused(rig.apply(odd as unknown as BatchSpec), why);
    await nothingIsLeftOf(batch.name);
  });

  test('a batch that nobody would be in is refused', async () => {
    const batch = await rig.batch();
    await assertRefused(batch.apply(), /no VM matches location startsWith/);
    await nothingIsLeftOf(batch.name);
  });

  test('the same batch twice is one batch, whatever order its fields are in', async () => {
    const batch = await rig.batch();
    await batch.vm('twice', blocked);
    assert.equal((await batch.apply()).result, 'created');
    assert.deepEqual(await batch.apply(), { members: 1, result: 'unchanged', etag: '1' });
    const reversed = Object.fromEntries(Object.entries(batch.spec).reverse()) as unknown as BatchSpec;
    assert.equal((await rig.apply(reversed)).result, 'unchanged');
    assert.equal((await rig.apply({ ...batch.spec, include_expression: 'true' })).result, 'changed');
    await batch.update(messages.delete);
  });

  test('an edit of a batch that was changed meanwhile is refused', async () => {
    const batch = await rig.batch();
    await batch.vm('etag', blocked);
    const { etag } = await batch.apply();
    assert.equal((await batch.edit({ config: { sync_limit: 1 } })).etag, '2');
    const spec = { ...batch.spec, config: { ...batch.spec.config, sync_limit: 2 } };
    await assertRefused(batch.update(messages.edit, { spec, etag }), /was changed meanwhile \(it is at 2, not 1\)/);
    const { spec: kept } = await batch.handle.query<BatchSpecAnswer>(messages.spec);
    assert.equal(kept.config.sync_limit, 1);
    const answer = await batch.update(messages.edit, { spec, etag: '2' });
    assert.deepEqual(answer, { members: 1, result: 'changed', etag: '3' });
  });

  test('while a batch runs, what its VMs rely on stays as it is, and the rest may change', async () => {
    const counts = `location startsWith '/DC0/vm/'`;
    const constraint = { name: 'c1', description: '', include_expression: counts, max_concurrent_instances: 5 };
    const batch = await rig.batch({
      migration_windows: [{ name: 'w1', end: inMs(hourMs), capacity: 3 }],
      constraints: [{ ...constraint, min_instance_boot_time: 0 }],
    });
    const vm = await batch.vm('edit');
    const held = vm.holdFinalCopy();
    await batch.apply();
    await batch.start();
    await vm.isInFinalCopy();
    const { spec } = batch;
    const refused = async (changes: Parameters<typeof batch.edit>[0], why: RegExp): Promise<void> => {
      await assertRefused(batch.edit(changes), why);
      batch.spec = spec;
    };
    const { placement } = spec.defaults;
    await refused({ include_expression: 'true' }, /include_expression: can only change while the batch is Defined/);
    await refused({ defaults: { placement: { ...placement, storage_pool: 'fast' } } }, /defaults\.placement: can only/);
    await refused(
      {
        defaults: {
          migration_network: [
            { target: 'tgt', target_project: 'default', network: 'VM-Network', nictype: 'managed', vlan_id: '' },
          ],
        },
      },
      /defaults\.migration_network: can only/,
    );
    const [window] = spec.migration_windows;
    assert.ok(window !== undefined);
    await refused({ migration_windows: [{ ...window, capacity: 2 }] }, /capacity may only grow|may only grow from 3/);
    await refused({ migration_windows: [{ ...window, end: inMs(hourMs / 2) }] }, /may only move later/);
    await refused({ migration_windows: [{ ...window, name: 'w9' }] }, /window w1 can't be removed or renamed/);
    const [c1] = spec.constraints;
    assert.ok(c1 !== undefined);
    await refused({ constraints: [{ ...c1, max_concurrent_instances: 1 }] }, /constraints\[0\]: can't change while/);
    await refused({ constraints: [] }, /constraints\[0\]: can't change while/);
    await refused(
      { constraints: [c1, { ...c1, name: 'c2', include_expression: `name startsWith 'edit'` }] },
      /constraints\[1\]: can't change while/,
    );
    await assertRefused(batch.update(messages.edit, { spec: { ...spec, name: 'another' } }), /name/);
    await assertRefused(batch.update(messages.reset, { force: false }), /in its downtime/);
    await assertRefused(batch.update(messages.delete), /stop it first/);

    const more = { ...window, end: inMs(2 * hourMs), capacity: 9 };
    assert.equal(
      (
        await batch.edit({
          migration_windows: [more],
          constraints: [c1, { ...c1, name: 'c2', include_expression: `name startsWith 'nobody'` }],
          defaults: { force_conflict_resolution: true },
          config: { post_migration_retries: 1, sync_limit: 7, background_sync_interval: 2 * hourMs },
        })
      ).result,
      'changed',
    );
    held.release();
    await vm.becomes('Finished');
    await batch.becomes('Finished');
    assert.equal((await batch.edit({ constraints: [] })).result, 'changed', 'nobody counts for it any more');
  });

  test('a batch that is deleted takes its entries with it, and leaves what is at the target', async () => {
    const batch = await rig.batch();
    const [done, waiting] = [await batch.vm('del'), await batch.vm('delb', blocked)];
    await batch.apply();
    await batch.start();
    await done.becomes('Finished');
    await waiting.becomes('Blocked');
    // Its batch hears of it a moment later; until then its downtime counts as running.
    await waitFor('the batch to know it', async () => (await batch.view()).counts.finished === 1);
    await assertRefused(batch.update(messages.delete), /batch is Running; .*stop it first/);
    await batch.update(messages.stop);
    assert.equal(await batch.update(messages.delete), 'deleted');
    const ids = [await done.uuid(), await waiting.uuid()].map(migrationId);
    for (const id of [batchId(batch.name), shardId(batch.name, 0), ...ids])
      await waitFor(`${id} to be closed`, async () => !(await isOpen(id)));
    assert.equal(done.target?.status, 'Running');
    assert.equal((await rig.apply(batch.spec)).result, 'created', 'its name is free again');
    await batch.update(messages.delete);
  });

  test('case/83: the smallest batch file, canceled at once', async () => {
    const batch = await rig.batch();
    const text = [
      `name: ${batch.name}`,
      `include_expression: location startsWith '${batch.folder}/'`,
      'defaults: { placement: { target: tgt } }',
    ].join('\n');
    const file = parseBatchFile(text, new Date());
    assert.ok('spec' in file);
    batch.spec = file.spec;
    const vm = await batch.vm('small');
    await batch.apply();
    await batch.start();
    assert.match(await vm.update(messages.cancel, { cleanup: true }), /canceled/);
    await vm.becomes('Canceled');
    assert.equal(vm.target, undefined);
    assert.equal(await vm.power(), 'poweredOn');
  });

  test('case/78: two VMs of one name are told apart by their ids: the one that is meant is migrated', async () => {
    const [one, other] = [await rig.batch(), await rig.batch()];
    const [meant, namesake] = [await one.vm('twin'), await other.vm('twin')];
    assert.equal(meant.name, namesake.name);
    await one.apply();
    await one.start();
    await meant.becomes('Finished');
    await meant.assertSameDisks();
    assert.deepEqual([await meant.power(), await namesake.power()], ['poweredOff', 'poweredOn']);
    await other.apply();
    await other.start();
    const { message } = await namesake.becomes('Blocked');
    assert.match(message, new RegExp(`has an instance "${meant.name}" already that is not of this entry`));
  });
});
