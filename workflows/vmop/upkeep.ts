import type { SweepResult, VmopActivities } from '../contracts/activities.ts';
import { control } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';

/** Brings back operations that lost their workflow; run by a schedule. */
export async function vmopSweep(): Promise<SweepResult> {
  return await control<VmopActivities>(budgets.upkeep, 'look for operations without a workflow').sweepVmops();
}

/** Deletes finished operations that are old or many; run by a schedule. */
export async function vmopGc(): Promise<{ readonly deleted: number }> {
  return await control<VmopActivities>(budgets.upkeep, 'delete finished operations').collectVmops();
}
