import type { LookupActivities, OvaLookupActivities } from '../contracts/activities.ts';
import type { LookupAnswer, LookupRequest } from '../contracts/lookup.ts';
import { failure } from '../shared/failures.ts';
import { control, transfer } from '../shared/proxies.ts';
import { lookupProblem } from './request-shape.ts';

/** A question that a person waits for: few attempts, so that the answer comes soon even when it is a failure. */
const budget = {
  startToCloseTimeout: '60s',
  scheduleToCloseTimeout: '90s',
  retry: { maximumAttempts: 2, initialInterval: '500ms' },
} as const;

/** Reading a large OVA takes minutes. */
const ovaBudget = {
  startToCloseTimeout: '2h',
  heartbeatTimeout: '20s',
  retry: { maximumAttempts: 3, initialInterval: '1s' },
} as const;

/** One read-only question to what only a worker can reach. */
export async function lookup(request: LookupRequest): Promise<LookupAnswer> {
  const problem = lookupProblem(request);
  if (problem !== undefined)
    throw failure('InvalidRequest', `can't look that up: ${problem}`, { code: 'REQUEST_INVALID', step: 'input' });
  if (request.what === 'ova') return await transfer<OvaLookupActivities>(ovaBudget, 'read the OVA').lookupOva(request);
  return await control<LookupActivities>(budget, `look up ${request.what}`).lookup(request);
}
