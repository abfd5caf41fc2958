import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { BatchActivities, EditState, SpecProblem } from '../../workflows/contracts/batch-activities.ts';
import type { MigrationView } from '../../workflows/contracts/batch.ts';
import { migrationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { changedOverrides, editProblems } from '../../workflows/domain/batch/edit-rules.ts';
import type { BatchSpec, BatchStatus, EntryStatus } from '../../workflows/domain/batch/records.ts';
import { specProblems } from '../../workflows/domain/batch/spec-problems.ts';
import { windowsProblems } from '../../workflows/domain/batch/window-problems.ts';
import type { Config } from '../config.ts';
import { OperationError } from '../failures.ts';
import { checkBatchExpressions } from '../placement/check-batch-expressions.ts';
import type { BatchDeps } from './deps.ts';

/** All that can be wrong with a batch before its members are looked at, at once. */
export async function problemsOf(
  spec: BatchSpec,
  {
    config,
    edit,
    statuses = {},
  }: { readonly config: Config; readonly edit?: EditState; readonly statuses?: Readonly<Record<string, EntryStatus>> },
): Promise<readonly SpecProblem[]> {
  const previous =
    edit === undefined ? undefined : { windows: edit.previous.migration_windows, assigned: edit.assignedWindows };
  const wanted = [spec.defaults.placement.target, ...spec.defaults.migration_network.map(({ target }) => target)];
  const unknown = [...new Set(wanted)].filter((target) => config.file.targets[target] === undefined);
  return [
    ...specProblems(spec),
    ...windowsProblems(spec.migration_windows, Date.now(), previous),
    ...(await checkBatchExpressions(spec)),
    ...unknown.map((target) => ({
      path: 'defaults.placement.target',
      message: `there is no target "${target}" in the workers' configuration (${Object.keys(config.file.targets).join(', ') || 'none'})`,
    })),
    ...(edit === undefined
      ? []
      : editProblems(edit.previous, spec, {
          status: edit.status as BatchStatus,
          hasEarlyEntries: edit.hasEarlyEntries,
          committedConstraints: edit.committedConstraints,
          statuses,
        })),
  ];
}

export function createCheckBatch({ config, temporal }: BatchDeps): BatchActivities['checkBatch'] {
  return async ({ spec, edit }) => {
    const statuses = edit === undefined ? {} : await statusesOf(temporal, changedOverrides(edit.previous, spec));
    const problems = await problemsOf(spec, { config, statuses, ...(edit === undefined ? {} : { edit }) });
    if (problems.length === 0) return;
    const text = problems.map(inWords).join('\n');
    throw new OperationError('InvalidRequest', `batch ${spec.name} can't be taken:\n${text}`, {
      code: 'BATCH_INVALID',
      next: 'vmflow batch plan -f FILE shows each mistake with its line',
      facts: { problems: problems.length },
    });
  };
}

function inWords({ path, message, line, column }: SpecProblem): string {
  return `${path}${line === undefined ? '' : ` (line ${line}, column ${column ?? 1})`}: ${message}`;
}

/** Of those that have an entry. */
async function statusesOf(temporal: Client, uuids: readonly string[]): Promise<Record<string, EntryStatus>> {
  const found: Record<string, EntryStatus> = {};
  for (const uuid of uuids) {
    try {
      found[uuid] = (
        await temporal.workflow.getHandle(migrationId(uuid)).query<MigrationView>(messages.status)
      ).entryStatus;
    } catch (err) {
      if (!(err instanceof WorkflowNotFoundError)) throw err;
    }
  }
  return found;
}
