import type { SourceActivities } from '../contracts/batch-activities.ts';
import { control } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';

/** Reads the sources that are due; run by a schedule. */
export async function syncAll(): Promise<{ readonly synced: readonly string[] }> {
  return await control<SourceActivities>(budgets.inventory, 'read the sources that are due').syncDueSources();
}
