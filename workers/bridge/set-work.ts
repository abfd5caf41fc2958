import type { Client } from '@temporalio/client';
import { longestAttribute, searchKeys } from '../../workflows/contracts/attributes.ts';
import type { HibernationInput, SetName } from '../../workflows/contracts/hibernate.ts';
import { cocoonSetId, hibernationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { cutToBytes } from '../../workflows/domain/text.ts';
import { isOpen } from '../../activities/open-workflow.ts';
import { wakeSet } from '../../activities/hibernate/set-target.ts';

export type WorkKind = 'set' | 'hibernation';

/** The way to the workflows of sets and hibernations. Both calls may be repeated, and fail when it isn't known that they arrived. */
export interface SetWork {
  /** Something has changed: look again, or begin. `probe`: also for a snapshot that is left over at a settled set. */
  wake(kind: WorkKind, name: SetName, how: { readonly probe: boolean }): Promise<void>;
  isOpen(kind: WorkKind, name: SetName): Promise<boolean>;
}

const answerWithinMs = 3_000;
export function temporalSetWork(client: Client, taskQueue: string): SetWork {
  const inTime = <T>(call: () => Promise<T>): Promise<T> => client.withDeadline(Date.now() + answerWithinMs, call);
  return {
    async wake(kind, name, how) {
      await inTime(() =>
        kind === 'set' ? wakeSet(client, taskQueue, name, how) : wakeHibernation(client, taskQueue, name),
      );
    },
    async isOpen(kind, { namespace, name }) {
      const id = kind === 'set' ? cocoonSetId(namespace, name) : hibernationId(namespace, name);
      return await inTime(() => isOpen(client, id));
    },
  };
}

async function wakeHibernation(client: Client, taskQueue: string, { namespace, name }: SetName): Promise<void> {
  const input: HibernationInput = { namespace, name };
  await client.workflow.signalWithStart('hibernation', {
    taskQueue,
    workflowId: hibernationId(namespace, name),
    args: [input],
    signal: messages.poke,
    signalArgs: [],
    staticSummary: cutToBytes(`CocoonHibernation ${namespace}/${name}`, 200),
    typedSearchAttributes: [
      { key: searchKeys.kind, value: 'hibernation' },
      { key: searchKeys.vm, value: cutToBytes(`${namespace}/${name}`, longestAttribute) },
    ],
  });
}
