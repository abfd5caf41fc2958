import assert from 'node:assert/strict';
import { ApplicationFailure, WorkflowUpdateFailedError } from '@temporalio/client';
import type { FailureType } from '../../../workflows/contracts/failures.ts';

/** The update fails with a failure of this type, in these words; it must not be carried out. */
export async function assertRefused(
  update: Promise<unknown>,
  why: RegExp,
  type: FailureType = 'Refused',
): Promise<void> {
  const err: unknown = await update.then(
    (answer) => assert.fail(`it was carried out: ${JSON.stringify(answer)}`),
    (failure: unknown) => failure,
  );
  if (!(err instanceof WorkflowUpdateFailedError && err.cause instanceof ApplicationFailure)) throw err;
  assert.equal(err.cause.type, type);
  assert.match(err.cause.message, why);
}
