import type { Conflict, ConflictOption } from '../contracts/conflict.ts';
import type { FailureDetails } from '../contracts/failures.ts';
import type { Observation, ObservedVm } from '../domain/template/observation.ts';
import type { SwapNames } from '../domain/template/names.ts';
import type { Plan } from '../domain/template/plan.ts';

type PlannedConflict = Extract<Plan, { kind: 'conflict' }>;

const retry: ConflictOption = {
  decision: 'retry',
  effect: 'look again, after you changed something in vCenter; goes on when the names are as expected',
};
const abort: ConflictOption = { decision: 'abort', effect: 'the swap fails; nothing further is changed' };

const titles = { temp: 'temporary', rollback: 'rollback' } as const;

/** Conflict of the state table: an object under the temp or rollback name isn't ours. */
export function foreignObject(
  plan: PlannedConflict,
  observation: Observation,
  names: SwapNames,
  version: string,
  since: string,
): Conflict {
  const vm = observation[plan.object];
  if (vm === undefined) throw new Error(`conflict about a ${plan.object} that was not seen`);
  return {
    id: `${plan.code}/${vm.ref.value}`,
    code: plan.code,
    what: `${article(vm)} has the ${titles[plan.object]} name "${names[plan.object]}" and ${foreignness(plan)}`,
    expected:
      plan.object === 'temp'
        ? 'no object under that name, or a powered-off VM with the marker of this template'
        : 'no object under that name, or the powered-off previous template, known by its marker or by the one that took its place',
    found: `${vm.ref.value}, ${vm.version === undefined ? 'version unknown' : `version ${vm.version}`}, ${markerInWords(vm)}`,
    since,
    options: [retry, ...choicesFor(plan, vm, version), abort],
  };
}

function foreignness({ code, object }: PlannedConflict): string {
  if (code === 'OTHER_WRITER') return 'is being imported by somebody else';
  return object === 'temp'
    ? "isn't one that vmflow made for this template"
    : "isn't known to be the previous version of this template";
}

/** Only choices that exist: nothing that is powered on is ever taken or destroyed. */
function choicesFor(plan: PlannedConflict, vm: ObservedVm, version: string): ConflictOption[] {
  if (!vm.poweredOff) return [];
  const destroy: ConflictOption = {
    decision: 'destroy-foreign',
    effect: `destroy ${vm.ref.value} (${vm.name}) with its disks for good, and go on`,
  };
  const isFinished = plan.object === 'temp' && vm.version === version;
  const adopt: ConflictOption = {
    decision: 'adopt',
    effect: `take ${vm.ref.value} as the finished version ${version} and swap it in`,
  };
  return isFinished ? [adopt, destroy] : [destroy];
}

/** Conflict that a rename met: somebody else works with these names. */
export function nameConflict(details: FailureDetails, message: string, since: string): Conflict {
  const object = details.primary?.moRef ?? 'unknown';
  return {
    id: `${details.code}/${object}`,
    code: details.code,
    what: message,
    expected: 'only this operation uses the three names',
    found:
      details.facts === undefined
        ? object
        : Object.entries(details.facts)
            .map(([name, value]) => `${name} ${String(value)}`)
            .join(', '),
    since,
    options: [retry, abort],
  };
}

function article(vm: ObservedVm): string {
  if (!vm.poweredOff) return 'a powered-on VM';
  return vm.isTemplate ? 'a template' : 'a VM';
}

function markerInWords(vm: ObservedVm): string {
  if (vm.marker === undefined) return 'without a marker';
  return `marked for "${vm.marker.prod}" (${vm.marker.state}) by ${vm.marker.opId}`;
}
