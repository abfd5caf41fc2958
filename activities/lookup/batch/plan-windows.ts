import type { BatchPlan, PlannedVm, PlannedWindow } from '../../../workflows/contracts/batch-lookup.ts';
import type { BatchSpec, MigrationWindow } from '../../../workflows/domain/batch/records.ts';
import {
  inTime,
  predictWindow,
  rollbackReserveMs,
  spanOf,
  validWindows,
} from '../../../workflows/domain/batch/windows.ts';

/** A VM before it has a window. */
export type Candidate = Omit<PlannedVm, 'window' | 'neededMs'> & { readonly minBootMs: number };

export interface WindowPlan {
  readonly vms: readonly PlannedVm[];
  readonly windows: readonly PlannedWindow[];
}

const names = new Intl.Collator('en', { numeric: true });

/**
 * Gives each VM that may go the first window that it fits into and that has a place, by name. That a place becomes free again when
 * a VM is done early isn't counted on. `now`: epoch milliseconds.
 */
export function planWindows(candidates: readonly Candidate[], spec: BatchSpec, now: number): WindowPlan {
  const windows = spec.migration_windows;
  const held = new Map<string, number>();
  const vms = [...candidates]
    .sort((a, b) => names.compare(a.name, b.name) || (a.uuid < b.uuid ? -1 : 1))
    .map((vm) => placed(vm, windows, held, now));
  const ahead = validWindows(windows, now).sort(inTime);
  return { vms, windows: ahead.map((window) => plannedWindow(window, vms, spec)) };
}

function placed(
  { minBootMs, ...vm }: Candidate,
  windows: readonly MigrationWindow[],
  held: Map<string, number>,
  now: number,
): PlannedVm {
  const base = { ...vm, neededMs: minBootMs };
  if (vm.state !== 'planned' || windows.length === 0) return base;
  const window = predictWindow(windows, minBootMs, now, held);
  if (window !== undefined) {
    held.set(window.name, (held.get(window.name) ?? 0) + 1);
    return { ...base, window: window.name };
  }
  if (predictWindow(windows, minBootMs, now) === undefined)
    return { ...base, state: 'does-not-fit', why: tooLong(windows, minBootMs, now) };
  const why = 'every window that it fits into is full: it goes when others are done early, or add a window or places';
  return { ...base, state: 'no-place', why };
}

function tooLong(windows: readonly MigrationWindow[], minBootMs: number, now: number): string {
  const ahead = validWindows(windows, now);
  if (ahead.length === 0) return 'all windows are over: add one to the batch';
  const longest = Math.max(...ahead.map((window) => lengthOf(window, now)));
  return `needs ${minutes(minBootMs + rollbackReserveMs)}, the longest window has ${minutes(longest)} left`;
}

function lengthOf(window: MigrationWindow, now: number): number {
  const { start, end, lockout } = spanOf(window);
  return lockout < now ? 0 : Math.max(0, end - Math.max(start, now));
}

function minutes(ms: number): string {
  const total = Math.floor(ms / 60_000);
  const [hours, rest] = [Math.floor(total / 60), total % 60];
  return hours === 0 ? `${rest} min` : `${hours} h ${rest} min`;
}

function plannedWindow(window: MigrationWindow, vms: readonly PlannedVm[], spec: BatchSpec): PlannedWindow {
  const inside = vms.filter(({ window: name }) => name === window.name);
  return {
    ...window,
    vms: inside.length,
    longestMs: Math.max(0, ...inside.map(({ neededMs }) => neededMs)),
    notes: spec.constraints.flatMap(({ name, max_concurrent_instances: most }) => {
      const counted = inside.filter(({ constraint }) => constraint === name).length;
      return most === 0 || counted <= most ? [] : [`${counted} go ${most} at a time (constraint "${name}")`];
    }),
  };
}

const states: readonly PlannedVm['state'][] = ['planned', 'no-place', 'does-not-fit', 'blocked', 'taken'];

export function countStates(vms: readonly PlannedVm[]): BatchPlan['counts'] {
  const count = (state: PlannedVm['state']): number => vms.filter((vm) => vm.state === state).length;
  return Object.fromEntries(states.map((state) => [state, count(state)])) as BatchPlan['counts'];
}

/** Those with trouble first, each kind by name. */
export function troubleFirst(vms: readonly PlannedVm[]): PlannedVm[] {
  const rank = ({ state }: PlannedVm): number => (states.indexOf(state) + states.length - 1) % states.length;
  return [...vms].sort((a, b) => rank(a) - rank(b));
}
