import { sleep } from '@temporalio/workflow';
import { retryableFailureTypes } from '../contracts/failures.ts';
import type { Observation } from '../domain/template/observation.ts';
import { knownFailure, type KnownFailure } from '../shared/failures.ts';
import { refusedRenames } from './budgets.ts';
import type { Operators } from './operators.ts';
import type { SwapState } from './swap-state.ts';

/**
 * Runs the two renames, and again when they were refused and taken back, a few times only: each try takes the production name
 * away for a moment. In between the name is in place, so a cancellation is heard.
 */
export async function withPatience(
  state: SwapState,
  operators: Operators,
  renames: () => Promise<Observation>,
): Promise<Observation> {
  const { tries, firstPauseMs, longestPauseMs } = refusedRenames;
  for (let refused = 1; ; refused++) {
    try {
      return await renames();
    } catch (err) {
      const known = knownFailure(err);
      if (!mayPass(known) || refused === tries) throw err;
      const pauseMs = Math.min(firstPauseMs * 2 ** (refused - 1), longestPauseMs);
      state.enter(state.phase, `${known.message}; try ${refused + 1} of ${tries} follows in ${pauseMs / 1000} s`);
      await operators.interruptible(() => sleep(pauseMs, { summary: `the renames were refused: try ${refused + 1}` }));
    }
  }
}

function mayPass({ type, details }: KnownFailure): boolean {
  return details?.code === 'SWAP_ROLLED_BACK' && retryableFailureTypes.some((retryable) => retryable === type);
}
