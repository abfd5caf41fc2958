import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import type { BatchActivities, EditState, SpecProblem } from '../../workflows/contracts/batch-activities.ts';
import { changedOverrides, editProblems } from '../../workflows/domain/batch/edit-rules.ts';
import type {
  BatchSpec,
  BatchStatus,
  EntryStatus,
  InstanceOverrides,
  InstanceRecord,
} from '../../workflows/domain/batch/records.ts';
import { isSameJson } from '../../workflows/domain/batch/stable-json.ts';
import { windowsProblems } from '../../workflows/domain/batch/window-problems.ts';
import type { Config } from '../config.ts';
import { OperationError } from '../failures.ts';
import { whileBeating } from '../heartbeat.ts';
import { checkBatchExpressions } from '../placement/check-batch-expressions.ts';
import { ExpressionError } from '../placement/expression/expression.ts';
import { batchSpecSchema } from '../schemas/batch.ts';
import { pathText } from '../schemas/spec-path.ts';
import { checkSpec, type FoundMistake } from '../schemas/spec-problems.ts';
import type { BatchDeps } from './deps.ts';
import { atOnce, recordOf, viewOf } from './entries.ts';
import { holds, overridesOf } from './judge.ts';

interface Circumstances {
  readonly config: Config;
  readonly edit?: EditState;
  /** Of the instances whose overrides change. */
  readonly statuses?: Readonly<Record<string, EntryStatus>>;
}

/** All that can be wrong with a batch before its members are looked at, at once; its form first, whoever sends it. */
export async function problemsOf(
  spec: BatchSpec,
  { config, edit, statuses = {} }: Circumstances,
): Promise<readonly SpecProblem[]> {
  const form = checkSpec(spec, batchSpecSchema, Date.now(), edit?.previous);
  const mistakes = 'mistakes' in form ? form.mistakes.map(asProblem) : [];
  if (!batchSpecSchema.safeParse(spec).success) return mistakes;
  return [
    ...mistakes,
    ...(await checkBatchExpressions(spec)),
    ...unknownTargets(spec, config),
    ...(edit === undefined ? [] : changeProblems(spec, edit, statuses)),
  ];
}

function asProblem({ path, message }: FoundMistake): SpecProblem {
  return { path: pathText(path), message };
}

function unknownTargets({ defaults, placement_rules }: BatchSpec, { file }: Config): SpecProblem[] {
  const wanted: readonly (readonly [path: string, target: string | undefined])[] = [
    ['defaults.placement.target', defaults.placement.target],
    ...defaults.migration_network.map(({ target }, i) => [`defaults.migration_network[${i}].target`, target] as const),
    ...placement_rules.map(({ set }, i) => [`placement_rules[${i}].set.target`, set.target] as const),
  ];
  const known = Object.keys(file.targets);
  return wanted.flatMap(([path, target]) => {
    if (target === undefined || known.includes(target)) return [];
    const message = `there is no target "${target}" in the workers' configuration (${known.join(', ') || 'none'})`;
    return [{ path, message }];
  });
}

/** What the entries that are there don't allow. */
function changeProblems(spec: BatchSpec, edit: EditState, statuses: Circumstances['statuses'] = {}): SpecProblem[] {
  const { previous, status, hasEarlyEntries, committedConstraints, assignedWindows: assigned } = edit;
  const now = Date.now();
  const before = previous.migration_windows;
  const free = new Set(
    windowsProblems(spec.migration_windows, now, { windows: before, assigned: [] }).map(({ message }) => message),
  );
  return [
    ...windowsProblems(spec.migration_windows, now, { windows: before, assigned }).filter(
      ({ message }) => !free.has(message),
    ),
    ...editProblems(previous, spec, {
      status: status as BatchStatus,
      hasEarlyEntries,
      committedConstraints,
      statuses,
    }),
  ];
}

export function createCheckBatch({ config, temporal }: BatchDeps): BatchActivities['checkBatch'] {
  return async ({ spec, edit }) => {
    const problems = await whileBeating(
      () => ({}),
      async () => {
        if (edit === undefined) return await problemsOf(spec, { config });
        const statuses = await statusesOf(temporal, changedOverrides(edit.previous, spec));
        const matched = await matchedConstraints(temporal, edit, spec);
        const committedConstraints = [...edit.committedConstraints, ...matched];
        return await problemsOf(spec, { config, statuses, edit: { ...edit, committedConstraints } });
      },
    );
    if (problems.length === 0) return;
    const text = problems.map(inWords).join('\n');
    throw new OperationError('InvalidRequest', `batch ${spec.name} can't be taken:\n${text}`, {
      code: 'BATCH_INVALID',
      next: 'vmflow batch plan -f FILE shows each mistake with its line',
      problems,
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
    const view = await viewOf(temporal, uuid);
    if (view !== undefined) found[uuid] = view.entryStatus;
  }
  return found;
}

/** Names of the constraints, of before and after the edit, that hold for an entry in its downtime. */
async function matchedConstraints(temporal: Client, edit: EditState, spec: BatchSpec): Promise<readonly string[]> {
  const before = edit.previous.constraints;
  if (isSameJson(before, spec.constraints)) return [];
  const found = await pLimit(atOnce).map(edit.committed ?? [], (uuid) => recordOf(temporal, uuid));
  const known = found.flatMap((one) => one?.record ?? []);
  return [...before, ...spec.constraints].flatMap(({ name, include_expression }) =>
    known.some((record) => mayHold(include_expression, record, overridesOf(spec, record.uuid))) ? [name] : [],
  );
}

/** What can't be told counts as if it held: nothing that somebody relies on is changed by mistake. */
function mayHold(text: string, record: InstanceRecord, overrides: InstanceOverrides): boolean {
  try {
    return holds(text, record, overrides);
  } catch (err) {
    if (err instanceof ExpressionError) return true;
    throw err;
  }
}
