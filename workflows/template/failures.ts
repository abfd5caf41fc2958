import { workflowInfo } from '@temporalio/workflow';
import type { Conflict } from '../contracts/conflict.ts';
import { templateSwapId } from '../contracts/ids.ts';
import type { TemplateSwapRequest } from '../contracts/template.ts';
import type { Observation } from '../domain/template/observation.ts';
import { describeState, type Plan } from '../domain/template/plan.ts';
import { failure } from '../shared/failures.ts';
import { maxRounds } from './budgets.ts';
import type { SwapState } from './swap-state.ts';

/** The input has not even the shape of a request. Said once: it stays as it is however often it is looked at. */
export function requestInvalid(what: string, problem: string): Error {
  return failure('InvalidRequest', `${what} is not valid: ${problem}; nothing was changed in vCenter`, {
    code: 'REQUEST_INVALID',
    step: 'input',
  });
}

/** The workflow id is the lock of a template: under another one two swaps of it could run at the same time. */
export function requireOwnId(request: TemplateSwapRequest): void {
  const { workflowId } = workflowInfo();
  const id = templateSwapId(request);
  if (workflowId === id) return;
  throw failure(
    'InvalidRequest',
    `workflow "${workflowId}" can't update this template: its id must be "${id}", which keeps two updates of one template apart; nothing was changed in vCenter`,
    { code: 'WORKFLOW_ID', step: 'input', next: `start it with the id ${id}, or with vmflow template update` },
  );
}

/** The state table has no way on. */
export function planFailure(state: SwapState, next: Extract<Plan, { kind: 'fail' }>, observation: Observation): Error {
  const where = `${state.path} (${describeState(observation, state.wanted)})`;
  const words = {
    PROD_MISSING: {
      type: 'NotFound',
      message: `can't update template ${where}: there is no template "${state.names.prod}" and no previous one "${state.names.rollback}" to restore; nothing was changed in vCenter`,
      next: `vmflow template update ${state.names.prod} … --create`,
    },
    UNKNOWN_PROD_VERSION: {
      type: 'Refused',
      message: `can't update template ${where}: its version can't be told (no marker, no product version, or two that disagree); nothing was changed in vCenter`,
      next: `vmflow template update ${state.names.prod} … --replace-unknown`,
    },
    PROD_NOT_TEMPLATE: {
      type: 'Refused',
      message: `can't update ${where}: "${state.names.prod}" is a VM that is powered on or not a template; nothing was changed in vCenter`,
      next: `rename that VM or choose another template name`,
    },
  } as const;
  const { type, message, next: remedy } = words[next.code];
  return failure(type, message, {
    code: next.code,
    step: 'plan',
    next: remedy,
    facts: { row: next.row, prod: state.names.prod, temp: state.names.temp, rollback: state.names.rollback },
  });
}

export function notConverging(state: SwapState, next: Extract<Plan, { kind: 'go' }>): Error {
  return failure(
    'Refused',
    `gave up on ${state.path} after ${maxRounds} rounds: somebody else keeps changing these names (row ${next.row})`,
    {
      code: 'NOT_CONVERGING',
      step: 'plan',
      next: `find out who works with ${state.names.temp} or ${state.names.rollback}, then try again`,
    },
  );
}

export function conflictUnresolved(conflict: Conflict, by: string | undefined): Error {
  const how = by === undefined ? 'nobody decided in time' : `${by} decided to abort`;
  return failure('Foreign', `${conflict.what}; ${how}, nothing further was changed`, {
    code: conflict.code,
    step: 'conflict',
    facts: { conflictId: conflict.id, expected: conflict.expected, found: conflict.found },
  });
}
