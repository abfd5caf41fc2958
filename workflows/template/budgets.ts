import type { ActivityOptions } from '@temporalio/workflow';
import { retry } from '../shared/retry.ts';

/** What changes something has come to its end, and cleaned up, before a cancelled swap goes on. */
const untilItEnded = { cancellationType: 'WAIT_CANCELLATION_COMPLETED' } as const;

/** How long each activity may take, be silent and be repeated. */
export const budgets = {
  /** Pure parsing; long only to survive a worker restart. */
  validate: { startToCloseTimeout: '10s', retry: retry('1s', '5s', 2, 10) },
  /** Some dozen calls; a vCenter that is down for a minute is waited for. */
  preflight: { startToCloseTimeout: '60s', retry: retry('1s', '30s', 2, 10) },
  /** Two calls. Asked often: gives up late. */
  observe: { startToCloseTimeout: '30s', retry: retry('1s', '15s', 2, 20) },
  /** The look after a rename whose outcome isn't known: the production name may be absent, so it is never given up. */
  patientLook: { startToCloseTimeout: '30s', retry: retry('1s', '15s', 2) },
  /** The last look of a swap that failed: it must not hold the verdict back for long. */
  lastLook: { startToCloseTimeout: '10s', retry: retry('500ms', '2s', 2, 3) },
  /** Download and hash of a large file over a slow line. */
  ensureSource: { startToCloseTimeout: '2h', heartbeatTimeout: '20s', retry: retry('2s', '60s', 2, 8) },
  /** A crashed import's lease holds the VM for about five minutes. */
  destroyTemp: {
    ...untilItEnded,
    startToCloseTimeout: '15m',
    heartbeatTimeout: '20s',
    retry: retry('5s', '60s', 2, 10),
  },
  /** A large disk over a slow line; the number of attempts is the request's. */
  importToTemp: { ...untilItEnded, startToCloseTimeout: '6h', heartbeatTimeout: '20s', retry: retry('1s', '60s', 2) },
  finalizeTemp: {
    ...untilItEnded,
    startToCloseTimeout: '10m',
    heartbeatTimeout: '30s',
    retry: retry('2s', '30s', 2, 10),
  },
  /** Long only because the first rename may wait for clones; while the production name is absent it is tried without end. */
  swapNames: { startToCloseTimeout: '45m', heartbeatTimeout: '10s', retry: retry('200ms', '5s', 1.5) },
  verify: { startToCloseTimeout: '30s', retry: retry('1s', '10s', 2, 10) },
  /** A clone may read the old template for hours. */
  destroyRollback: {
    ...untilItEnded,
    startToCloseTimeout: '15m',
    heartbeatTimeout: '30s',
    scheduleToCloseTimeout: '24h',
    retry: retry('5s', '5m', 2),
  },
} as const satisfies Readonly<Record<string, ActivityOptions>>;

/** The state table converges in a handful of rounds; more means that somebody works against us. */
export const maxRounds = 12;

/** A full datastore is emptied by people: look again every five minutes. */
export const capacityRetryMs = 5 * 60_000;

/**
 * While the production name is absent nothing else matters: look again at once. What stays refused is looked at every minute,
 * so that the history has room for days of it.
 */
export const absentRetry = { firstMs: 1_000, longestMs: 60_000 } as const;

/** Tries of the two renames while the second is refused: a host in trouble is waited for a minute and a half. */
export const refusedRenames = { tries: 8, firstPauseMs: 1_000, longestPauseMs: 30_000 } as const;

/** An import lease that nobody feeds ends after about five minutes (vSphere's default). */
export const defaultLeaseTimeoutS = 300;
