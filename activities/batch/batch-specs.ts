import type { Client } from '@temporalio/client';
import type { BatchSpecAnswer } from '../../workflows/contracts/batch.ts';
import { batchId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { OperationError } from '../failures.ts';
import { ifFound } from '../open-workflow.ts';

/** How old an answer may be: thousands of entries ask about the same few batches. */
const freshForMs = 1_000;

/** What batches want, as their workflows say. */
export interface BatchSpecs {
  /** `isFresh`: asked now, whatever is remembered. Fails with `NotFound` when the batch is gone. */
  of(batch: string, isFresh?: boolean): Promise<BatchSpecAnswer>;
}

export function createBatchSpecs(temporal: Client): BatchSpecs {
  const known = new Map<string, { readonly at: number; readonly answer: Promise<BatchSpecAnswer> }>();
  return {
    async of(batch, isFresh = false) {
      const last = known.get(batch);
      if (!isFresh && last !== undefined && Date.now() - last.at < freshForMs) return await last.answer;
      const answer = ask(temporal, batch);
      known.set(batch, { at: Date.now(), answer });
      answer.catch(() => known.delete(batch));
      return await answer;
    },
  };
}

async function ask(temporal: Client, batch: string): Promise<BatchSpecAnswer> {
  const asked = temporal.workflow.getHandle(batchId(batch)).query<BatchSpecAnswer | null>(messages.spec);
  const answer = await ifFound(asked);
  if (answer !== null && answer !== undefined) return answer;
  throw new OperationError('NotFound', `there is no batch ${batch}`, {
    code: 'NO_BATCH',
    next: 'vmflow batch list; a batch that was lost is made again with vmflow batch apply -f FILE',
  });
}
