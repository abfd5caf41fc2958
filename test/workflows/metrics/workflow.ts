import { continueAsNew } from '@temporalio/workflow';

/** Ends after so many runs. */
export async function goesOn(runs: number): Promise<void> {
  if (runs > 1) await continueAsNew<typeof goesOn>(runs - 1);
}
