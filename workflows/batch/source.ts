import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { SourceActivities, SyncResult } from '../contracts/batch-activities.ts';
import type { SourceInput, SourceView } from '../contracts/batch.ts';
import { searchKeys } from '../contracts/attributes.ts';
import { messages } from '../contracts/messages.ts';
import { defined } from '../shared/defined.ts';
import { failure, knownFailure } from '../shared/failures.ts';
import { control } from '../shared/proxies.ts';
import { now } from '../shared/now.ts';
import { budgets } from './budgets.ts';

const mostEventsOfSource = 2_000;

/** Syncs of one source, one at a time: who asks while one runs joins it. */
export async function source(input: SourceInput): Promise<void> {
  let { last, lastError } = input;
  let syncing: Promise<SyncResult> | undefined;
  let since = now();
  let syncs = 0;

  const show = (): void => {
    const text = last === undefined ? 'never read' : `${last.instances} VMs, read ${last.at}`;
    setCurrentDetails(
      `Source **${input.name}**: ${syncing === undefined ? text : 'is being read'}${lastError === undefined ? '' : `\n\nlast try: ${lastError}`}`,
    );
  };
  const read = async (): Promise<SyncResult> => {
    since = now();
    show();
    try {
      last = await control<SourceActivities>(budgets.inventory, `read source ${input.name}`).syncSource(input.name);
      lastError = undefined;
      return last;
    } catch (err) {
      const { type, message, details } = knownFailure(err);
      lastError = message;
      throw failure(type as 'Unavailable', message, details ?? { code: 'SYNC_FAILED' });
    } finally {
      syncing = undefined;
      syncs += 1;
      since = now();
      show();
    }
  };

  setHandler(defineQuery<SourceView>(messages.status), () => ({
    kind: 'source',
    id: workflowInfo().workflowId,
    source: input.name,
    syncing: syncing !== undefined,
    since,
    ...defined('last', last),
    ...defined('lastError', lastError),
  }));
  setHandler(defineUpdate<SyncResult>(messages.sync), async () => await (syncing ??= read()), {
    description: 'Read the source now, or join the one that reads',
  });
  upsertSearchAttributes([
    { key: searchKeys.kind, value: 'source' },
    { key: searchKeys.source, value: input.name },
  ]);
  show();
  await condition(() => syncs > 0 && workflowInfo().historyLength >= mostEventsOfSource);
  await condition(allHandlersFinished);
  await continueAsNew<typeof source>({
    name: input.name,
    ...defined('last', last),
    ...defined('lastError', lastError),
  });
}
