import type { ActivityOptions } from '@temporalio/workflow';
import { retry } from '../shared/retry.ts';

/** A worker that died is noticed by its silence. */
const silence = '10s';

/**
 * How long each activity may take, be silent and be repeated. Far sides are waited for, however long: who waits shows it, and
 * the end of a window interrupts it.
 */
export const budgets = {
  look: { startToCloseTimeout: '60s', heartbeatTimeout: silence, retry: retry('1s', '2m', 2) },
  /** M4: the specification repeats it after 10 s, then less and less often. */
  finalCheck: { startToCloseTimeout: '60s', heartbeatTimeout: silence, retry: retry('1s', '2m', 2) },
  /** The state machine repeats it in its own way besides. */
  create: { startToCloseTimeout: '10m', heartbeatTimeout: silence, retry: retry('2s', '30s', 2, 3) },
  powerOff: { startToCloseTimeout: '15m', heartbeatTimeout: silence, retry: retry('1s', '2m', 2) },
  /** As long as the other way: it may have to wait for a guest to shut down first. */
  powerOn: { startToCloseTimeout: '15m', heartbeatTimeout: silence, retry: retry('1s', '2m', 2) },
  adapt: { startToCloseTimeout: '1h', heartbeatTimeout: '30s', retry: retry('2s', '30s', 2, 3) },
  /** Each try is the state machine's. */
  finalize: { startToCloseTimeout: '5m', heartbeatTimeout: silence, retry: retry('1s', '5s', 2, 2) },
  undo: { startToCloseTimeout: '10m', heartbeatTimeout: silence, retry: retry('1s', '2m', 2) },
  /** The target may be out of reach while the source can go on: not for long. */
  undoBriefly: {
    startToCloseTimeout: '2m',
    scheduleToCloseTimeout: '60s',
    heartbeatTimeout: silence,
    retry: retry('1s', '10s', 2),
  },
  snapshot: { startToCloseTimeout: '30m', heartbeatTimeout: '30s', retry: retry('1s', '30s', 2, 5) },
  removeSnapshot: { startToCloseTimeout: '4h', heartbeatTimeout: '30s', retry: retry('1s', '2m', 2) },
  copyDisk: { startToCloseTimeout: '24h', heartbeatTimeout: '20s', retry: retry('1s', '30s', 3, 5) },
  verifyDisk: { startToCloseTimeout: '1h', heartbeatTimeout: '20s', retry: retry('1s', '30s', 3, 5) },
  slots: { startToCloseTimeout: '30s', heartbeatTimeout: silence, retry: retry('500ms', '30s', 2) },
  start: { startToCloseTimeout: '10m', heartbeatTimeout: silence, retry: retry('1s', '2m', 2) },
  person: {
    startToCloseTimeout: '60s',
    heartbeatTimeout: silence,
    scheduleToCloseTimeout: '2m',
    retry: retry('500ms', '10s', 2, 5),
  },
  /** Reads whole inventories. */
  inventory: { startToCloseTimeout: '30m', heartbeatTimeout: '30s', retry: retry('1s', '2m', 2, 5) },
  reset: { startToCloseTimeout: '4h', heartbeatTimeout: '30s', retry: retry('1s', '2m', 2) },
} as const satisfies Readonly<Record<string, ActivityOptions>>;

/** A run that has done this many turns, or is this long, goes on in a new one. */
export const mostTurns = 400;
export const mostEvents = 3_000;

/** How long a person who has ordered something waits for its end; then it goes on behind the answer. */
export const answerWithinMs = 30_000;

/** How often a wish that got no answer is repeated: who has it may have been lost. */
export const repeatWishMs = 300_000;
