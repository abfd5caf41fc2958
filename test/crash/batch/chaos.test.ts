import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BatchLife, healRig } from '../../support/batch-chaos.ts';
import { assertNoSlots, assertOrder, snapshotsOf } from '../../support/batch-invariants.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import type { SourceVm } from '../../support/batch-scenario.ts';
import { oneOf, randomFrom } from '../../support/random.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

/** Random lives of batches; the same deeds for the same seed. */
const given = process.env['VMFLOW_TEST_SEED'];
const count = Number(process.env['VMFLOW_TEST_SEEDS'] ?? 10);
const seeds =
  given === undefined ? Array.from({ length: count }, (_, index) => index + 1) : given.split(',').map(Number);
/** So many batches live at the same time. */
const together = 5;
const deedsPerLife = 14;
/** On a busy machine; a minute or two on a quiet one. */
const longMs = 10 * patienceMs;
const mib = 1024 * 1024;

let rig: BatchRig;
before(async () => {
  rig = await BatchRig.start({
    ownTemporal: true,
    ownSource: true,
    // Everything goes on in a new run again and again.
    dynamicConfig: ['limit.historyCount.suggestContinueAsNew=150', 'history.workflowIdReuseMinimalInterval="0s"'],
    source: { importLimit: 12 },
    target: { createLimit: 6, connectionTimeoutMs: 6_000 },
    batches: { tickMs: 3_000, shutdownGraceMs: 3_000, diskCopies: 16 },
  });
});
after(() => rig.stop());

for (let first = 0; first < seeds.length; first += together) {
  const lives = seeds.slice(first, first + together);
  test(
    `batch/S49 whatever happens in whatever order: no source stays off, nothing runs twice, nothing foreign is touched (seeds ${lives.join(', ')})`,
    { timeout: longMs },
    async () => {
      const batches = await Promise.all(lives.map(begin));
      const crashes = crashWorkers(randomFrom(first + 1));
      await Promise.all(batches.map((life) => life.makeAMess(deedsPerLife)));
      await crashes.stop();
      await healRig(rig);
      await Promise.all(batches.map((life) => life.heal()));
      const ends = await Promise.allSettled(batches.map(end));
      const failures = ends.flatMap((ended, index) => (ended.status === 'rejected' ? [{ ended, index }] : []));
      const causes = failures.map(({ ended }): unknown => ended.reason);
      const which = failures.map(({ index }) => lives[index]).join(',');
      if (causes.length > 0)
        throw new AggregateError(causes, `alone: VMFLOW_TEST_SEED=${which} node test/run.ts test/crash/batch/chaos`);
    },
  );
}

async function begin(seed: number): Promise<BatchLife> {
  const network = `n${seed}-${rig.id}`;
  rig.incus.addNetwork(network);
  const batch = await rig.batch({
    network_overrides: { '/DC0/network/VM Network': { network, nictype: 'managed', vlan_id: '' } },
    config: {
      create_retries: 8,
      instance_restriction_overrides: {
        allow_unknown_os: false,
        allow_no_ipv4: false,
        allow_no_background_import: true,
      },
    },
  });
  await batch.vm(`s${seed}a`);
  await batch.vm(`s${seed}b`, {
    disks: [
      { size: 8 * mib, seed: 2 * seed },
      { size: 4 * mib, seed: 2 * seed + 1 },
    ],
  });
  await batch.vm(`s${seed}c`, { poweredOn: false });
  const copiedOnce = await batch.vm(`s${seed}d`);
  await rig.control.changeVm(copiedOnce.ref, { tracking: false });
  for (const { name } of batch.vms) {
    await rig.incus.addInstance({ name: `${name}-x`, running: true, config: { 'user.of': 'somebody' } });
    await rig.incus.addVolume(`${name}-disk7`, { config: { size: `${mib}` } });
  }
  await batch.apply();
  await batch.start();
  return new BatchLife(seed, batch, network, randomFrom(seed));
}

/** Now and then workers are killed, and come back. */
function crashWorkers(random: () => number): { stop(): Promise<void> } {
  const ending = new AbortController();
  const crashing = (async () => {
    while (!ending.signal.aborted) {
      await sleep(4_000 + random() * 12_000, undefined, { signal: ending.signal }).catch(() => undefined);
      const kinds = oneOf([['control', 'transfer'], ['control'], ['transfer']] as const, random);
      await rig.killWorkers(kinds);
      await rig.startWorkers(kinds);
    }
  })();
  return {
    async stop() {
      ending.abort();
      await crashing;
    },
  };
}

async function end(life: BatchLife): Promise<void> {
  const { batch, problems } = life;
  await waitFor(`all VMs of ${batch.name} to be Finished`, () => life.driveOn(), {
    timeoutMs: 3 * patienceMs,
    intervalMs: 1_000,
  }).catch(async (cause: unknown) => {
    const views = await Promise.all(batch.vms.map((vm) => vm.view().catch(() => undefined)));
    const how = views.map((view) => `${view?.vm}: ${view?.status} (${view?.substate}) ${view?.message}`);
    throw new Error(how.join('\n'), { cause });
  });
  assert.deepEqual(problems, []);
  for (const vm of batch.vms) await assertWell(life, vm);
  await assertNoSlots(rig, batch.vms);
}

async function assertWell(life: BatchLife, vm: SourceVm): Promise<void> {
  const { status, placement } = await vm.view();
  const { target, name } = vm;
  const isOn = target?.status === 'Running';
  if (life.running.has(vm)) assert.ok(isOn, name);
  else if (status === 'Finished') assert.equal(isOn, placement?.running, name);
  assert.equal(target?.config['user.migrated.uuid'], await vm.uuid());
  const disks = name.includes('b-') ? 2 : 1;
  // One that others have switched on since writes on.
  if (!life.unsure.has(vm) && (await vm.power()) === 'poweredOff') await vm.assertSameDisks(disks);
  assert.ok(
    (await snapshotsOf(vm)).every((snapshot) => snapshot === 'nightly'),
    name,
  );
  await assertOrder(vm, life.switchedOn(vm));
  const foreign = rig.incus.instance('default', `${name}-x`);
  assert.deepEqual([foreign?.status, foreign?.config['user.of']], ['Running', 'somebody']);
  const instances = rig.incus.instances().filter((instance) => instance.name.startsWith(name));
  assert.equal(instances.length, 2, `${name} and what a stranger has`);
  const volumes = rig.incus.volumes().filter((volume) => volume.name.startsWith(name));
  assert.equal(volumes.length, disks, `of ${name} and of a stranger`);
}
