import type { ActivityOptions } from '@temporalio/workflow';
import { retry } from '../shared/retry.ts';

/** A worker that died is noticed by its silence: soon, because a VM may not run meanwhile. */
const silence = '10s';

/** How long each activity may take, be silent and be repeated. The cluster and the registry are waited for, however long. */
export const budgets = {
  look: { startToCloseTimeout: '30s', heartbeatTimeout: silence, retry: retry('500ms', '30s', 2) },
  /** Several requests, each with a deadline of its own. */
  change: { startToCloseTimeout: '60s', heartbeatTimeout: silence, retry: retry('500ms', '30s', 2) },
  /** Drops the tags of all its VMs, each with a few tries. */
  changeSet: { startToCloseTimeout: '10m', heartbeatTimeout: silence, retry: retry('500ms', '30s', 2) },
  report: { startToCloseTimeout: '30s', heartbeatTimeout: silence, retry: retry('500ms', '10s', 2, 5) },
  /** Of another workflow: it answers at once, or its worker is away. */
  gate: { startToCloseTimeout: '30s', heartbeatTimeout: silence, retry: retry('500ms', '10s', 2) },
  /** Ends by itself after the ceiling of the settings. */
  wait: { startToCloseTimeout: '1 year', heartbeatTimeout: '30s', retry: retry('500ms', '30s', 2) },
  /** A person waits. */
  person: {
    startToCloseTimeout: '20s',
    heartbeatTimeout: silence,
    scheduleToCloseTimeout: '60s',
    retry: retry('500ms', '5s', 2, 5),
  },
} as const satisfies Readonly<Record<string, ActivityOptions>>;

/** Histories stay short: a run that has done this many turns goes on in a new one. */
export const mostTurns = 200;

/** Longest pause between two tries of what a far side refuses. */
export const longestPauseMs = 60_000;
