import pLimit from 'p-limit';
import type { EditState } from '../../../workflows/contracts/batch-activities.ts';
import type { BatchView } from '../../../workflows/contracts/batch.ts';
import type { BatchLookupAnswer, BatchPlan } from '../../../workflows/contracts/batch-lookup.ts';
import type { FieldProblem } from '../../../workflows/contracts/failures.ts';
import { batchId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { effectiveName } from '../../../workflows/domain/batch/effective.ts';
import { orderOf, strangersIn } from '../../../workflows/domain/batch/order.ts';
import type { BatchSpec } from '../../../workflows/domain/batch/records.ts';
import { problemsOf } from '../../batch/check-batch.ts';
import type { BatchDeps } from '../../batch/deps.ts';
import { constraintOf } from '../../batch/judge.ts';
import { verified } from '../../batch/verified.ts';
import { OperationError } from '../../failures.ts';
import { ExpressionError } from '../../placement/expression/expression.ts';
import { cutToPage } from '../page.ts';
import { matching, type Match } from './matching.ts';
import { outlookOf } from './obstacles.ts';
import { openEntries, type OpenEntry } from './open-entries.ts';
import { countStates, planWindows, troubleFirst, type Candidate } from './plan-windows.ts';
import { TargetLooks } from '../../batch/target-looks.ts';

type PlanAnswer = Extract<BatchLookupAnswer, { what: 'batch-plan' }>;

/** VMs that are looked at at once. */
const atOnce = 16;

/** What would come of a batch if it were applied and started now. Changes nothing. */
export async function planBatch(deps: BatchDeps, spec: BatchSpec): Promise<PlanAnswer> {
  const before = await existing(deps, spec.name);
  const problems = await problemsOf(spec, { config: deps.config, ...(before === undefined ? {} : { edit: before }) });
  if (problems.length > 0) return refused(problems);
  try {
    return await planMembers(deps, spec, before === undefined || before.status === 'Defined');
  } catch (err) {
    if (!(err instanceof ExpressionError)) throw err;
    const { problem: message, line, column } = err;
    return refused([{ path: pathOf(spec, err.expression), message, line, column }]);
  }
}

function refused(problems: readonly FieldProblem[]): PlanAnswer {
  return { what: 'batch-plan', problems };
}

/** How the batch of that name stands, where there is one: then it is changed, and some changes are refused. */
async function existing({ specs, temporal }: BatchDeps, name: string): Promise<EditState | undefined> {
  try {
    const { spec, status } = await specs.of(name, true);
    const view = await temporal.workflow.getHandle(batchId(name)).query<BatchView>(messages.status);
    const { windows, constraints, counts } = view;
    return {
      status,
      previous: spec,
      assignedWindows: windows.filter(({ held }) => held > 0).map((window) => window.name),
      committedConstraints: constraints.filter(({ held }) => held > 0).map((constraint) => constraint.name),
      hasEarlyEntries: (counts.waiting ?? 0) + (counts.blocked ?? 0) > 0,
    };
  } catch (err) {
    if (err instanceof OperationError && err.type === 'NotFound') return undefined;
    throw err;
  }
}

/** The field that an expression stands in. */
function pathOf({ constraints }: BatchSpec, expression: string): string {
  const place = constraints.findIndex(({ include_expression }) => include_expression === expression);
  return place === -1 ? 'include_expression' : `constraints[${place}].include_expression`;
}

/** @param isChosenAnew its members are those of now, not those that were chosen before */
async function planMembers(deps: BatchDeps, spec: BatchSpec, isChosenAnew: boolean): Promise<PlanAnswer> {
  const { matches, warnings } = await matching(deps, spec);
  if (matches.length === 0) {
    const message = `no VM matches "${spec.include_expression}": the batch would be empty`;
    return refused([{ path: 'include_expression', message }]);
  }
  const names = matches.map(({ instance }) => ({
    uuid: instance.uuid,
    name: effectiveName(instance, spec.overrides[instance.uuid]),
  }));
  const strangers = isChosenAnew ? strangersIn(orderOf(spec.overrides, names)) : [];
  if (strangers.length > 0) return refused(strangers);
  const entries = await openEntries(deps.temporal);
  const looks = new TargetLooks(deps);
  const limit = pLimit(atOnce);
  const looked = await limit.map(matches, (match) =>
    candidateOf(deps, { spec, match, looks, entry: entries.get(match.instance.uuid) }),
  );
  const { vms, windows } = planWindows(withoutNamesakes(looked), spec, Date.now());
  const items = troubleFirst(vms);
  const shown = cutToPage(items);
  const plan: BatchPlan = {
    members: vms.length,
    counts: countStates(vms),
    windows,
    items: shown,
    truncated: shown.length < items.length,
    warnings,
  };
  return { what: 'batch-plan', problems: [], plan };
}

interface Look {
  readonly spec: BatchSpec;
  readonly match: Match;
  readonly looks: TargetLooks;
  readonly entry: OpenEntry | undefined;
}

async function candidateOf(deps: BatchDeps, { spec, match, looks, entry }: Look): Promise<Candidate> {
  const { uuid, source, location } = match.instance;
  const name = effectiveName(match.instance, spec.overrides[uuid]);
  const base = { uuid, source, location, name, minBootMs: 0 };
  if (entry !== undefined && entry.batch !== spec.name) {
    const why = `batch ${entry.batch} has it already (${entry.status}): it would be left out`;
    return { ...base, state: 'taken', why };
  }
  const instance = await verified(deps, source, match.instance);
  const { determined, obstacles } = await outlookOf({ spec, instance, networks: match.networks }, looks);
  const constraint = constraintOf({ spec, instance });
  const [obstacle] = obstacles;
  return {
    ...base,
    state: obstacle === undefined ? 'planned' : 'blocked',
    ...(determined === undefined
      ? {}
      : { target: determined.placement.target_name, project: determined.placement.target_project }),
    ...(constraint === undefined ? {} : { constraint: constraint.name }),
    minBootMs: constraint?.min_instance_boot_time ?? 0,
    ...(obstacle === undefined ? {} : { why: obstacle }),
  };
}

/** Of two that would have one name at one place only the first can be made. */
function withoutNamesakes(candidates: readonly Candidate[]): Candidate[] {
  const first = new Map<string, Candidate>();
  return candidates.map((vm) => {
    if (vm.state !== 'planned') return vm;
    const place = JSON.stringify([vm.target, vm.project, vm.name]);
    const other = first.get(place);
    first.set(place, other ?? vm);
    if (other === undefined) return vm;
    const why = `it would have the name of ${other.location} at the same place: give one of them another one in the overrides of the batch`;
    return { ...vm, state: 'blocked', why };
  });
}
