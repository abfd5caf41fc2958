import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { batchSlotsId, migrationId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { SlotOrder } from '../../../workflows/contracts/batch.ts';
import type {
  Assessment,
  CopyPassActivities,
  CopyTransferActivities,
  EntryActivities,
  FinalCheckResult,
  SlotsActivities,
} from '../../../workflows/contracts/batch-activities.ts';
import { baselineOf } from '../../../workflows/domain/batch/baseline.ts';
import type { Placement } from '../../../workflows/domain/batch/records.ts';
import { Breach, ForeignInstance, type EntryWorld, type SourceVm } from '../../support/entry-world.ts';
import type { ActivityName, Script } from './script.ts';

export interface Stagehands {
  readonly client: Client;
  readonly world: EntryWorld;
  readonly script: Script;
  /** Of the two slots; 0 = unlimited. */
  readonly limits: { create: number; import: number };
}

type Calls = EntryActivities & CopyPassActivities & SlotsActivities;

/** Activities about entries, acting on the world in memory. Times are those of the server. */
export function createEntryActivities(hands: Stagehands): Calls {
  const { world } = hands;
  const does = doing(hands);
  return {
    ...createCopyPass(hands),
    assessEntry: ({ scope, expectsTarget }) =>
      does('assessEntry', scope, () => {
        const found = assessment(world.vm(scope.uuid));
        if (expectsTarget || world.target({ uuid: scope.uuid }) === undefined) return found;
        const message = `an earlier migration has left an instance "${scope.name}"`;
        return { ...found, blocked: { code: 'TARGET_INSTANCE_EXISTS', message } };
      }),
    replanEntry: ({ scope, entry }) =>
      does('replanEntry', scope, () => {
        const { adapted, configured, started } = entry.target;
        const found = assessment(world.vm(scope.uuid));
        const isSamePlace = JSON.stringify(found.placement) === JSON.stringify(entry.placement);
        return { ...found, keepsTarget: isSamePlace && !adapted && !configured && !started };
      }),
    createTarget: ({ scope }) => does('createTarget', scope, (at) => world.create(scope, at)),
    readSourcePower: (scope) =>
      does('readSourcePower', scope, () => {
        const { isGone, power } = world.vm(scope.uuid);
        return isGone ? {} : { power };
      }),
    powerOffSource: ({ scope }) => does('powerOffSource', scope, (at) => world.powerOff(scope.uuid, at)),
    powerOnSource: (scope) => does('powerOnSource', scope, (at) => world.powerOn(scope.uuid, at)),
    changedSince: ({ scope, changeIds }) =>
      does('changedSince', scope, () => {
        const { record, version } = world.vm(scope.uuid);
        if (!record.background_import) return { changed: 'unknown' };
        return { changed: Object.values(changeIds).every((id) => id === `cid/${version}`) ? 'none' : 'some' };
      }),
    adaptGuest: ({ scope, dryRun }) =>
      does('adaptGuest', scope, (at) => {
        const changes = world.vm(scope.uuid).needsAdapting;
        if (changes && !dryRun) world.adapt(scope, at);
        return { changes };
      }),
    finalCheck: ({ scope, entry }) =>
      does('finalCheck', scope, () => finalCheck(world.vm(scope.uuid), entry.placement, entry.baseline.name)),
    configureTarget: ({ scope }) => does('configureTarget', scope, (at) => world.configure(scope, at)),
    targetState: (scope) => does('targetState', scope, () => ({ running: world.target(scope)?.isRunning === true })),
    startTarget: (scope) => does('startTarget', scope, (at) => world.start(scope, at)),
    stopTarget: (scope) => does('stopTarget', scope, (at) => world.stop(scope, at)),
    deleteTarget: (scope) => does('deleteTarget', scope, (at) => world.remove(scope, at)),
    releaseTarget: (scope) => does('releaseTarget', scope, (at) => world.release(scope, at)),
    askSlots: ({ scope, kind, priority, token }) =>
      does('askSlots', scope, async () => {
        const limit = hands.limits[kind];
        if (limit === 0) return { granted: true };
        const { taskQueue } = Context.current().info;
        const permits = [{ name: `${kind}/tgt`, limit }];
        const ask = { holder: scope.uuid, token, workflowId: migrationId(scope.uuid), priority, permits };
        await hands.client.workflow.signalWithStart('slots', {
          workflowId: batchSlotsId(taskQueue),
          taskQueue,
          args: [{}],
          signal: messages.slotOrder,
          signalArgs: [{ kind: 'ask', ask } satisfies SlotOrder],
        });
        return { granted: false };
      }),
    entrySettings: () => Promise.reject(new Error('nobody asks for settings here')),
    overOf: async (ids) => {
      const states = await Promise.all(ids.map((id) => hands.client.workflow.getHandle(id).describe()));
      return states.filter(({ status }) => status.name !== 'RUNNING').map(({ workflowId }) => workflowId);
    },
  };
}

function createCopyPass(hands: Stagehands): CopyPassActivities {
  const { world } = hands;
  const does = doing(hands);
  return {
    beginPass: ({ scope, mode }) => does('beginPass', scope, (at) => world.beginPass(scope, mode, at)),
    endPass: (scope) => does('endPass', scope, (at) => world.endPass(scope, at)),
  };
}

/** Activities of the transfer queue. */
export function createCopyActivities(hands: Stagehands): CopyTransferActivities {
  const does = doing(hands);
  return {
    copyDisk: ({ scope, disk, since }) =>
      does('copyDisk', scope, (at) => {
        const bytes = hands.world.copied(scope, disk, since, at);
        return { bytesRead: bytes, bytesWritten: bytes };
      }),
    verifyDisk: ({ scope }) => does('verifyDisk', scope, () => ({ bytes: 0 })),
  };
}

type Do = <T>(
  activity: ActivityName,
  scope: { readonly uuid: string },
  work: (at: number) => T | Promise<T>,
) => Promise<T>;

/** As the script wants it, and with what the world refuses as a failure of the contract. */
function doing({ script }: Stagehands): Do {
  return async (activity, { uuid }, work) => {
    const at = Context.current().info.currentAttemptScheduledTimestampMs;
    try {
      return await script.run(activity, uuid, () => work(at));
    } catch (err) {
      if (err instanceof Breach) throw failed('InvalidRequest', `BREACH: ${err.message}`);
      if (err instanceof ForeignInstance) throw failed('Foreign', err.message);
      throw err;
    }
  };
}

function failed(type: 'InvalidRequest' | 'Foreign', message: string): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true, details: [{ code: 'TEST' }] });
}

export function assessment(vm: SourceVm): Assessment {
  const { record, placement, constraint, blocked } = vm;
  return {
    record,
    baseline: baselineOf(record),
    placement,
    ...(constraint === undefined ? {} : { constraint: constraint.name }),
    minBootMs: constraint?.minBootMs ?? 0,
    name: record.name,
    ...(blocked === undefined ? {} : { blocked: { code: 'TEST', message: blocked } }),
  };
}

function finalCheck(vm: SourceVm, placement: Placement | undefined, name: string): FinalCheckResult {
  const { record, finding, power, isGone } = vm;
  const seen = { record, placement: placement ?? vm.placement, warnings: [] };
  const expected = record.source_specific_id;
  if (isGone)
    return {
      ...seen,
      verdict: 'conflict',
      finding: { code: 'SOURCE_VM_GONE', message: `${name} is not at the source any more`, expected, found: 'nothing' },
    };
  if (power === 'on') return { ...seen, verdict: 'powered-on' };
  if (finding === undefined) return { ...seen, verdict: 'clean' };
  return { ...seen, verdict: finding.code.startsWith('IDENTITY') ? 'error' : 'conflict', finding };
}
