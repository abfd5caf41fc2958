import assert from 'node:assert/strict';
import { createSource } from '../../activities/vsphere/source.ts';
import { createVSphere } from '../../activities/vsphere/vsphere-adapter.ts';
import type { MigrationView, SlotsView } from '../../workflows/contracts/batch.ts';
import { batchSlotsId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { BatchRig } from './batch-rig.ts';
import type { SourceVm } from './batch-scenario.ts';
import { waitFor } from './wait-for.ts';

interface PowerChange {
  readonly at: number;
  readonly side: 'source' | 'target';
  readonly isOn: boolean;
}

/** When the source and the target of a VM went on and off, in order. A VM that is made running begins with its source on. */
export async function powerChanges({ rig, ref, name }: SourceVm): Promise<readonly PowerChange[]> {
  const source = (await rig.control.powerEvents()).filter(({ vm }) => vm === ref);
  const target = rig.incus.journal.events(undefined, name).filter(({ event }) => /started|stopped/.test(event));
  const changes = [
    ...source.map(({ at, state }) => ({ at: Date.parse(at), side: 'source' as const, isOn: state === 'poweredOn' })),
    ...target.map(({ at, event }) => ({ at, side: 'target' as const, isOn: event === 'instance-started' })),
  ];
  return changes.sort((a, b) => a.at - b.at);
}

/** I2: at no time source and target run both. */
export async function assertNeverBoth(vm: SourceVm): Promise<void> {
  const isOn = { source: false, target: false };
  const changes = await powerChanges(vm);
  for (const { side, isOn: now } of changes) {
    isOn[side] = now;
    assert.ok(!isOn.source || !isOn.target, `${vm.name} runs on both sides: ${JSON.stringify(changes)}`);
  }
}

/** From when to when something happened, wall clock in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * I1 and I2 of a finished VM where others may switch its source on: we never start one side while the other runs, unless they have
 * started that one, and in the end the source is off, unless they have switched it on. `theirs`: when they did.
 */
export async function assertOrder(vm: SourceVm, theirs: readonly Span[]): Promise<void> {
  const isOn = { source: false, target: false };
  let isTheirs = false;
  const changes = await powerChanges(vm);
  for (const { at, side, isOn: now } of changes) {
    isOn[side] = now;
    if (side === 'source') isTheirs = now && theirs.some(({ from, to }) => from <= at && at <= to);
    if (now && !isTheirs) assert.ok(!isOn.source || !isOn.target, `${vm.name}: ${JSON.stringify(changes)}`);
  }
  assert.ok(!isOn.source || isTheirs, `${vm.name}: ${JSON.stringify(changes)}`);
}

/** I1 of a VM whose source ran: it is off, and its entry neither is in its downtime or finished nor still undoes that. */
export async function isLeftOff(vm: SourceVm): Promise<boolean> {
  const before = await vm.view();
  if (mayBeOff(before) || isMigrated(vm) || (await vm.power()) !== 'poweredOff') return false;
  const after = await vm.view();
  return after.since === before.since && !mayBeOff(after);
}

function mayBeOff({ committed, status, substate }: MigrationView): boolean {
  return committed || status === 'Finished' || substate === 'cleanup-pending' || substate === 'rolling-back';
}

/** It was finished once, by whichever entry. */
export function isMigrated({ target }: SourceVm): boolean {
  return target?.config['user.migrated.uuid'] !== undefined;
}

/** Names of all snapshots of a VM. */
export async function snapshotsOf(vm: SourceVm): Promise<readonly string[]> {
  return (await snapshotRefs(vm)).map(({ name }) => name);
}

/** All snapshots of a VM, `ref` as `Type:value`. */
export async function snapshotRefs({ rig, ref }: SourceVm): Promise<readonly { name: string; ref: string }[]> {
  const { url, username: user, password, sha256 } = rig.vcsim;
  const vsphere = createVSphere({ allowInsecureTls: false });
  try {
    const source = createSource(vsphere, { name: 'sim', url, user, password, tls: { mode: 'thumbprint', sha256 } });
    return await source.snapshots(`VirtualMachine:${ref}`);
  } finally {
    await vsphere.close();
  }
}

/** I5: none of these has or wants a place among those that create and import. */
export async function assertNoSlots(rig: BatchRig, vms: readonly SourceVm[]): Promise<void> {
  const uuids = new Set(await Promise.all(vms.map((vm) => vm.uuid())));
  await waitFor('all slots to be given back', async () => {
    const { slots } = await rig.client.workflow
      .getHandle(batchSlotsId(rig.taskQueue))
      .query<SlotsView>(messages.status);
    return [...slots.holders, ...slots.waiting].every(({ holder }) => !uuids.has(holder));
  });
}
