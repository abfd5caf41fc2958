import { Context } from '@temporalio/activity';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError, type Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { batchId, migrationId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { searchKeys } from '../../../workflows/contracts/attributes.ts';
import type {
  BatchSpecAnswer,
  CommitGranted,
  EntrySettings,
  Member,
  MemberToStart,
  MigrationInput,
  MigrationView,
  StartOutcome,
} from '../../../workflows/contracts/batch.ts';
import type { BatchActivities, SourceActivities } from '../../../workflows/contracts/batch-activities.ts';
import { emptyTarget, type Entry } from '../../../workflows/domain/batch/entry.ts';
import type { BatchSpec } from '../../../workflows/domain/batch/records.ts';
import type { SourceVm } from '../../support/entry-world.ts';
import { assessment, type Stagehands } from './entry-activities.ts';

/** By batch: its VMs, and how their entries begin. */
export interface Casting {
  readonly vms: readonly SourceVm[];
  readonly begins?: 'Waiting' | 'Blocked' | 'Conflict';
  /** Why a change of the batch is refused. */
  readonly refusal?: string;
  /** Instead of the usual ones. */
  readonly settings?: Partial<EntrySettings>;
}

export type BatchHands = Stagehands & {
  readonly casts: ReadonlyMap<string, Casting>;
  readonly now: () => Promise<number>;
};

/** Activities of batches and shards: they reach the workflows of the server, and the VMs of the world. */
export function createBatchActivities(hands: BatchHands): BatchActivities & Pick<SourceActivities, 'syncSource'> {
  const { client, casts } = hands;
  const entryOf = (uuid: string): ReturnType<Client['workflow']['getHandle']> =>
    client.workflow.getHandle(migrationId(uuid));
  const isOpen = async (uuid: string): Promise<boolean> =>
    await entryOf(uuid)
      .describe()
      .then(({ status }) => status.name === 'RUNNING', ignoreMissing(false));
  return {
    checkBatch({ spec }) {
      const { refusal } = casts.get(spec.name) ?? {};
      if (refusal === undefined) return Promise.resolve();
      throw ApplicationFailure.nonRetryable(refusal, 'InvalidRequest', { code: 'INVALID' });
    },
    selectMembers({ spec, after = '', limit }) {
      const all = (casts.get(spec.name)?.vms ?? []).map(asMember).sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
      const members = all.filter(({ uuid }) => uuid > after).slice(0, limit);
      const last = members.at(-1)?.uuid;
      return Promise.resolve({ members, ...(last !== undefined && last !== all.at(-1)?.uuid ? { next: last } : {}) });
    },
    startEntries: async ({ batch, shardId, members }) => {
      const { spec, status } = await specOf(client, batch);
      const startOne = async (member: MemberToStart): Promise<StartOutcome> => {
        if (await isOpen(member.uuid)) {
          const view = await entryOf(member.uuid).query<MigrationView>(messages.status);
          if (view.batch !== batch)
            return { uuid: member.uuid, outcome: 'skipped', why: `batch ${view.batch} has it (${view.status})` };
          await entryOf(member.uuid).signal(messages.reportNews);
          return { uuid: member.uuid, outcome: 'adopted', phase: 'running' };
        }
        const entry = await firstEntry(hands, batch, hands.world.vm(member.uuid));
        const input: MigrationInput = {
          entry,
          shardId,
          settings: settingsOf(spec, casts.get(batch)?.settings),
          paused: status === 'Stopped',
          later: member.later === true,
        };
        try {
          await client.workflow.start('migration', {
            workflowId: migrationId(member.uuid),
            taskQueue: Context.current().info.taskQueue,
            args: [input],
            workflowIdConflictPolicy: 'FAIL',
            typedSearchAttributes: [{ key: searchKeys.kind, value: 'migration' }],
          });
        } catch (err) {
          if (!(err instanceof WorkflowExecutionAlreadyStartedError)) throw err;
        }
        return { uuid: member.uuid, outcome: 'queued', phase: 'waiting' };
      };
      return await Promise.all(members.map(startOne));
    },
    tellEntries: async ({ batch, uuids, message }) => {
      const settings = settingsOf((await specOf(client, batch)).spec, casts.get(batch)?.settings);
      const tell = async (uuid: string): Promise<void> => {
        if (message === 'settings') await entryOf(uuid).signal(messages.settingsChanged, { settings });
        else await entryOf(uuid).signal(messages[message]);
      };
      await Promise.all(uuids.map((uuid) => tell(uuid).catch(ignoreMissing(undefined))));
    },
    grantCommits: async ({ grants }) => {
      const gone = grants.map(async ({ uuid, ...grant }) => {
        const told = entryOf(uuid).signal<[CommitGranted]>(messages.commitGranted, grant);
        return await told.then(() => [], ignoreMissing([uuid]));
      });
      return (await Promise.all(gone)).flat();
    },
    endEntries: async ({ uuids, by, cleanup }) => {
      const end = async (uuid: string): Promise<void> => {
        const { status, configured } = await entryOf(uuid).query<MigrationView>(messages.status);
        const isCleanUp = cleanup === 'all' || (cleanup === 'unless-configured' && !configured);
        if (status !== 'Finished' && status !== 'Canceled')
          await entryOf(uuid).executeUpdate(messages.cancel, { args: [{ ...by, cleanup: isCleanUp }] });
        await entryOf(uuid).executeUpdate(messages.delete, { args: [by] });
      };
      await Promise.all(uuids.map((uuid) => end(uuid).catch(ignoreMissing(undefined))));
      return { warnings: [] };
    },
    closedEntries: async ({ uuids }) => {
      const open = await Promise.all(uuids.map(isOpen));
      return uuids.filter((_, at) => open[at] !== true);
    },
    syncSource: () => Promise.reject(new Error('nobody syncs here')),
  };
}

async function specOf(client: Client, batch: string): Promise<BatchSpecAnswer> {
  return await client.workflow.getHandle(batchId(batch)).query<BatchSpecAnswer>(messages.spec);
}

export function settingsOf(
  { config, migration_windows }: Pick<BatchSpec, 'config' | 'migration_windows'>,
  over: Partial<EntrySettings> = {},
): EntrySettings {
  return {
    tickMs: 10_000,
    intervalMs: config.background_sync_interval,
    finalLimitMs: config.final_background_sync_limit,
    createRetries: config.create_retries,
    finalizeRetries: config.post_migration_retries,
    finalizePauseMs: 10_000,
    windowEndInConflict: config.window_end_in_conflict,
    staleSource: config.stale_source,
    shutdownGraceMs: 300_000,
    archiveAfterMs: 7 * 86_400_000,
    windows: migration_windows,
    syncLimit: config.sync_limit,
    comparesAll: config.without_change_tracking === 'compare',
    ...over,
  };
}

async function firstEntry({ casts, now }: BatchHands, batch: string, vm: SourceVm): Promise<Entry> {
  const at = new Date(await now()).toISOString();
  const { record, baseline, placement, constraint, minBootMs } = assessment(vm);
  const status = casts.get(batch)?.begins ?? 'Waiting';
  const message = status === 'Conflict' ? 'Instance no longer matches batch expression' : 'Performing initial checks';
  const conflict = { code: 'EXPRESSION_MISMATCH', message, expected: 'a match', found: record.location } as const;
  return {
    instance_uuid: record.uuid,
    batch_name: batch,
    token: `${record.uuid}/${at}`,
    status,
    message,
    stage: 'background',
    since: at,
    record,
    overrides: vm.overrides,
    baseline,
    ...(placement === undefined ? {} : { placement }),
    source_power: { initial_running: record.running },
    target: emptyTarget,
    attempt: 1,
    attempts: { create: 0, copy: 0, finalize: 0 },
    pass: 0,
    change_ids: {},
    ...(status === 'Conflict' ? { conflict: { ...conflict, moment: 'M0', since: at } } : {}),
    resolve_count: 0,
    consented: false,
    ...(constraint === undefined ? {} : { constraint }),
    min_boot_ms: minBootMs,
    held: false,
    cutover: false,
    holds_place: false,
    timeline: [{ at, status, message }],
  };
}

function asMember({ record }: SourceVm): Member {
  const { uuid, source, source_specific_id: vm, name } = record;
  return { uuid, source, vm, name };
}

/** A workflow that is over has this answer. */
function ignoreMissing<T>(answer: T): (err: unknown) => T {
  return (err) => {
    if (err instanceof WorkflowNotFoundError) return answer;
    throw err;
  };
}
