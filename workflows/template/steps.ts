import { workflowInfo } from '@temporalio/workflow';
import type {
  DestroyInput,
  ImportInput,
  TemplateActivities,
  TemplateTransferActivities,
} from '../contracts/activities.ts';
import type { MoRef, Observation, ObservedVm } from '../domain/template/observation.ts';
import type { Action } from '../domain/template/plan.ts';
import { failure } from '../shared/failures.ts';
import { control, transfer } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';
import type { SwapState } from './swap-state.ts';

type Step = (state: SwapState, seen: Observation) => Promise<Observation>;

/** What is done one by one: the actions of a plan, and the way back. */
type SwapStep = Action | 'undo' | 'destroyUndone';

/** How each action is carried out: one activity that ends with a new observation. */
const steps: Readonly<Record<SwapStep, Step>> = {
  restore: async (state, seen) => {
    const result = await control<TemplateActivities>(
      budgets.swapNames,
      `restore: ${state.names.rollback} → ${state.names.prod}`,
    ).restore({
      scope: state.scope,
      vm: must(seen.rollback, 'rollback').ref,
      from: state.names.rollback,
      ...absentSince(state),
    });
    state.restored = true;
    noteGap(state, result.gapMs);
    return result.observation;
  },

  promote: async (state, seen) => {
    const result = await control<TemplateActivities>(
      budgets.swapNames,
      `promote: ${state.names.temp} → ${state.names.prod}`,
    ).promote({
      scope: state.scope,
      vm: must(seen.temp, 'temp').ref,
      from: state.names.temp,
      ...absentSince(state),
    });
    state.renamed = 'promoted';
    noteGap(state, result.gapMs);
    if (seen.rollback !== undefined && madeWay(seen.rollback, seen.temp)) rememberPrevious(state, seen.rollback);
    return result.observation;
  },

  import: async (state, seen) => {
    state.importBegan = true;
    const result = await importer(state).importToTemp(importInput(state, seen));
    state.imported = { entity: result.entity, disks: state.source?.disks ?? 0 };
    state.uploadedBytes += result.uploadedBytes;
    state.uploadAttempts += result.attempts;
    state.warn(...result.warnings);
    return result.observation;
  },

  finalize: async (state, seen) => {
    const { disableSecureBoot, annotation } = state.options;
    const { network, tagIds } = must(state.placement, 'placement');
    const vm = must(seen.temp, 'temp').ref;
    const observation = await control<TemplateActivities>(
      budgets.finalizeTemp,
      `finish ${state.names.temp}: settings, tags, marker, template flag`,
    ).finalizeTemp({
      scope: state.scope,
      vm,
      network,
      disableSecureBoot,
      tagIds,
      ...(seen.prod === undefined ? {} : { replaces: seen.prod.ref }),
      ...(state.imported?.entity.value === vm.value ? { disks: state.imported.disks } : {}),
      ...(annotation === undefined ? {} : { annotation }),
    });
    state.checked = vm.value;
    return observation;
  },

  swap: async (state, seen) => {
    const { names } = state;
    const old = must(seen.prod, 'prod');
    rememberPrevious(state, old);
    const result = await control<TemplateActivities>(
      budgets.swapNames,
      `swap: ${names.prod} → ${names.rollback}, ${names.temp} → ${names.prod}`,
    ).swapNames({
      scope: state.scope,
      old: old.ref,
      next: must(seen.temp, 'temp').ref,
      aside: names.rollback,
      from: names.temp,
    });
    state.renamed = 'swapped';
    noteGap(state, result.gapMs);
    return result.observation;
  },

  destroyTemp: async (state, seen) => {
    const input = destroyInput(state, must(seen.temp, 'temp').ref, state.names.temp);
    const result = await control<TemplateActivities>(
      budgets.destroyTemp,
      `destroy left-over ${state.names.temp}`,
    ).destroyTemp(input);
    return result.observation;
  },

  destroyRollback: async (state, seen) => {
    const input = destroyInput(state, must(seen.rollback, 'rollback').ref, state.names.rollback);
    const result = await control<TemplateActivities>(
      budgets.destroyRollback,
      `destroy previous template ${state.names.rollback}`,
    ).destroyRollback(input);
    state.rollbackDestroyed ||= result.destroyed;
    return result.observation;
  },

  undo: async (state, seen) => {
    const { names } = state;
    const current = must(seen.prod, 'prod');
    const back = must(seen.rollback, 'rollback');
    const swapped = await control<TemplateActivities>(
      budgets.swapNames,
      `undo: ${names.prod} → ${names.temp}, ${names.rollback} → ${names.prod}`,
    ).swapNames({
      scope: state.scope,
      old: current.ref,
      next: back.ref,
      aside: names.temp,
      from: names.rollback,
    });
    state.gapMs = swapped.gapMs ?? state.gapMs;
    return swapped.observation;
  },

  destroyUndone: async (state, seen) => {
    const input = destroyInput(state, must(seen.temp, 'temp').ref, state.names.temp);
    const result = await control<TemplateActivities>(
      budgets.destroyRollback,
      `destroy the undone template ${state.names.temp}`,
    ).destroyTemp(input);
    return result.observation;
  },
};

/** Carries one action out and returns what was seen at its end. */
export async function carryOut(action: SwapStep, state: SwapState, seen: Observation): Promise<Observation> {
  return await steps[action](state, seen);
}

function importer(state: SwapState): ReturnType<typeof transfer<TemplateTransferActivities>> {
  const { maxUploadAttempts } = state.options;
  const options = {
    ...budgets.importToTemp,
    retry: { ...budgets.importToTemp.retry, maximumAttempts: maxUploadAttempts },
  };
  return transfer<TemplateTransferActivities>(options, `import ${state.target.version} as ${state.names.temp}`);
}

function importInput(state: SwapState, seen: Observation): ImportInput {
  const { diskProvisioning, uploadStallMs, verifyManifest, strictOva } = state.options;
  const { host, datastore } = state.request.placement;
  return {
    scope: state.scope,
    placement: must(state.placement, 'placement'),
    source: state.request.source,
    target: state.request.target,
    verifyManifest,
    strictOva,
    diskProvisioning,
    uploadStallMs,
    datastoreName: datastore,
    ...(host === undefined ? {} : { hostName: host }),
    ...(seen.prod === undefined ? {} : { prod: seen.prod.ref }),
  };
}

function destroyInput(state: SwapState, vm: MoRef, name: string): DestroyInput {
  return { scope: state.scope, vm, name, pool: must(state.placement, 'placement').pool };
}

function absentSince({ prodAbsentSince }: SwapState): { absentSince?: number } {
  return prodAbsentSince === undefined ? {} : { absentSince: prodAbsentSince };
}

function noteGap(state: SwapState, gapMs: number | undefined): void {
  if (gapMs === undefined) return;
  state.gapMs = gapMs;
  const { maxGapMs } = state.options;
  if (gapMs > maxGapMs)
    state.warn(`the production name was missing for ${Math.round(gapMs)} ms, longer than ${maxGapMs} ms`);
}

/** A new template names the one it takes the place of; without a name, the one under the rollback name is believed. */
function madeWay(rollback: ObservedVm, next: ObservedVm | undefined): boolean {
  const replaces = next?.marker?.replaces;
  return replaces === undefined || replaces === rollback.ref.value;
}

function rememberPrevious(state: SwapState, vm: ObservedVm): void {
  state.previous = refOf(vm);
}

export function refOf({ ref, version }: ObservedVm): { ref: MoRef; version?: string } {
  return { ref, ...(version === undefined ? {} : { version }) };
}

function must<T>(value: T | undefined, what: string): T {
  if (value !== undefined) return value;
  throw failure('Refused', `${workflowInfo().workflowId}: the plan needs ${what}, which was not seen`, {
    code: 'PLAN_INPUT_MISSING',
  });
}
