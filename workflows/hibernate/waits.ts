import { longestPauseMs } from './budgets.ts';

/** Something was said before a wait began. */
export class Poked extends Error {}

/** How long what a far side refuses is left alone, by how often it was refused in a row: longer and longer, up to a limit. */
export function refusalPauseMs(refusals: number, pollFloorMs: number): number {
  return Math.min(longestPauseMs, pollFloorMs * 2 ** Math.min(refusals - 1, 10));
}
