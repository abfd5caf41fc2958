import { Context } from '@temporalio/activity';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { BatchActivities } from '../../workflows/contracts/batch-activities.ts';
import type { BatchSpec } from '../../workflows/domain/batch/records.ts';
import type { Entry } from '../../workflows/domain/batch/entry.ts';
import type {
  MigrationInput,
  MemberToStart,
  MigrationView,
  Member,
  StartOutcome,
} from '../../workflows/contracts/batch.ts';
import { withoutGuestTools } from '../../workflows/domain/batch/guest-tools.ts';
import { searchKeys } from '../../workflows/contracts/attributes.ts';
import { migrationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { isOpen } from '../open-workflow.ts';
import type { BatchDeps } from './deps.ts';
import { forEach, viewOf } from './entries.ts';
import { settingsOf } from './entry-settings.ts';
import { firstEntry } from './first-entry.ts';
import { asShown } from './phase.ts';
import { sourceTrouble } from './source-trouble.ts';

/** Behind everything that isn't one of thousands: what people wait for, and the batch itself, goes first (1 to 5, 3 is the usual). */
const priority = { priorityKey: 4 } as const;

/** M0 of these members, then a workflow for each. A repeated try finds those that it has started before. */
export function createStartEntries(deps: BatchDeps): BatchActivities['startEntries'] {
  return async ({ batch, shardId, members }) => {
    const { spec, status } = await deps.specs.of(batch, true);
    const settings = settingsOf(spec, deps.config);
    const { taskQueue } = Context.current().info;
    const readings = new Readings(deps, spec);
    const startOne = async (member: MemberToStart): Promise<StartOutcome> => {
      const open = await openEntry(deps, member.uuid);
      if (open !== undefined) return await taken(deps, batch, member, open);
      const read = await readings.of(member);
      if ('why' in read) return { uuid: member.uuid, ...read };
      const { entry } = read;
      const input: MigrationInput = {
        entry,
        shardId,
        settings,
        paused: status === 'Stopped',
        later: member.later === true,
      };
      try {
        await deps.temporal.workflow.start('migration', {
          workflowId: migrationId(member.uuid),
          taskQueue,
          args: [input],
          priority,
          workflowIdConflictPolicy: 'FAIL',
          staticSummary: `${entry.baseline.name} → ${entry.placement?.target_name ?? spec.defaults.placement.target} (batch ${batch})`,
          memo: { batch, name: entry.baseline.name },
          typedSearchAttributes: [
            { key: searchKeys.kind, value: 'migration' },
            { key: searchKeys.batch, value: batch },
            { key: searchKeys.vm, value: entry.baseline.name },
            { key: searchKeys.status, value: entry.status },
            { key: searchKeys.source, value: member.source },
          ],
        });
      } catch (err) {
        if (!(err instanceof WorkflowExecutionAlreadyStartedError)) throw err;
        const view = await openEntry(deps, member.uuid);
        if (view !== undefined) return await taken(deps, batch, member, view);
        throw err;
      }
      return { uuid: member.uuid, outcome: 'queued', phase: asShown(entry.status) };
    };
    return await forEach(members, startOne);
  };
}

type Reading = { readonly entry: Entry } | { readonly outcome: 'skipped' | 'unread'; readonly why: string };

/** What sources that are out of reach fail with, whichever VM they are asked for. */
const outOfReach: ReadonlySet<string> = new Set(['Unavailable', 'Timeout', 'Unauthenticated', 'InvalidRequest']);

/** Reads members one by one: a source that can't be asked keeps nobody from the others, and isn't asked again for each. */
class Readings {
  readonly #deps: BatchDeps;
  readonly #spec: BatchSpec;
  readonly #down = new Map<string, Reading>();

  constructor(deps: BatchDeps, spec: BatchSpec) {
    this.#deps = deps;
    this.#spec = spec;
  }

  async of({ source: name, vm }: Member): Promise<Reading> {
    const down = this.#down.get(name);
    if (down !== undefined) return down;
    try {
      const seen = await (await this.#deps.source(name)).fetch(vm);
      if (seen === undefined) return { outcome: 'skipped', why: `source ${name} has no such VM any more` };
      const tools = withoutGuestTools(seen.instance, this.#spec.config);
      if (tools?.policy === 'skip') return { outcome: 'skipped', why: tools.why };
      return { entry: await firstEntry({ deps: this.#deps, spec: this.#spec, ...seen }) };
    } catch (err) {
      const trouble = sourceTrouble(name, err);
      if (trouble === undefined || Context.current().cancellationSignal.aborted) throw err;
      const unread: Reading = { outcome: 'unread', why: trouble.message };
      if (outOfReach.has(trouble.type)) this.#down.set(name, unread);
      return unread;
    }
  }
}

/** Somebody has it already: this batch, which takes it up again, or another one. */
async function taken(
  deps: BatchDeps,
  batch: string,
  { uuid, name }: Member,
  view: MigrationView,
): Promise<StartOutcome> {
  if (view.batch !== batch) {
    deps.log.warn('member skipped: it is in another batch', { batch, uuid, name, other: view.batch });
    return { uuid, outcome: 'skipped', why: `batch ${view.batch} has it (${view.status})` };
  }
  await deps.temporal.workflow.getHandle(migrationId(uuid)).signal(messages.reportNews);
  return { uuid, outcome: 'adopted', phase: asShown(view.entryStatus) };
}

async function openEntry({ temporal }: BatchDeps, uuid: string): Promise<MigrationView | undefined> {
  return (await isOpen(temporal, migrationId(uuid))) ? await viewOf(temporal, uuid) : undefined;
}
