import type { ActivityOptions } from '@temporalio/workflow';
import { retry } from '../shared/retry.ts';

/** What is under way has come to its end before a cancelled operation goes on: nobody else may act before that. */
const untilItEnded = { cancellationType: 'WAIT_CANCELLATION_COMPLETED' } as const;

/** An API server that is down this long is waited for; then the operation fails. */
const outage = '10m';

/** A worker that says nothing for this long is taken for dead. */
const silence = '15s';

/** A single request has 10 s; what takes several is given room for them. */
const short = { startToCloseTimeout: '20s', heartbeatTimeout: silence, retry: retry('250ms', '5s', 2) } as const;

/** How long each activity may take, be silent and be repeated. */
export const budgets = {
  /** The coordinator can't go on without them, however long the cluster is away. */
  listActive: short,
  intake: short,
  /** A person waits. */
  person: { startToCloseTimeout: '15s', scheduleToCloseTimeout: '45s', retry: retry('250ms', '2s', 2, 5) },
  /** The fence, the compensation and the wait for an aborted migration. */
  takeOver: {
    ...untilItEnded,
    startToCloseTimeout: '30m',
    scheduleToCloseTimeout: '40m',
    heartbeatTimeout: silence,
    retry: retry('250ms', '5s', 2),
  },
  /** The limits of the waits are the configuration's. One that only reads is left behind at once when somebody takes over. */
  wait: { startToCloseTimeout: '1 year', heartbeatTimeout: silence, retry: retry('250ms', '10s', 2) },
  /** Writes its progress and may call off the migration: has to end before anybody else acts. */
  waitForMigration: {
    ...untilItEnded,
    startToCloseTimeout: '1 year',
    heartbeatTimeout: silence,
    retry: retry('250ms', '10s', 2),
  },
  pin: { ...untilItEnded, ...short, scheduleToCloseTimeout: outage },
  signal: { ...untilItEnded, ...short, scheduleToCloseTimeout: outage },
  /** The last words on the object: they are written, however long that takes. */
  finish: { startToCloseTimeout: '20s', heartbeatTimeout: silence, retry: retry('250ms', '10s', 2) },
  release: { startToCloseTimeout: '1 day', heartbeatTimeout: silence, retry: retry('250ms', '10s', 2) },
  upkeep: { startToCloseTimeout: '10m', heartbeatTimeout: silence, retry: retry('1s', '5s', 2, 3) },
} as const satisfies Readonly<Record<string, ActivityOptions>>;

/** A coordinator with nothing to do closes after this time; the next operation starts a new one. */
export const coordinatorIdle = '10m';

/** How long a coordinator waits before it tries again what the cluster refused. */
export const troublePause = '30s';

/** How many UIDs a coordinator remembers, so that a repeat is recognised. */
export const remembered = 256;
