import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { MigrationActivities } from '../../workflows/contracts/activities.ts';
import { longestAttribute, searchKeys } from '../../workflows/contracts/attributes.ts';
import type { CocoonSetInput, CocoonSetPoke, SetName } from '../../workflows/contracts/hibernate.ts';
import { cocoonSetId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { controlQueueOf } from '../../workflows/contracts/task-queues.ts';
import { cutToBytes } from '../../workflows/domain/text.ts';
import type { JsonPatchOperation } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { seen, type HibernateDeps } from './deps.ts';
import { specOf } from './facts.ts';
import { outcomeOf, patchAsSeen } from './guarded.ts';
import { observationOf, observe } from './observe.ts';

/** Changes the node that a set asks for, as a person would by editing it, and wakes the workflow of the set. */
export function createSetTarget(deps: HibernateDeps): MigrationActivities['setTarget'] {
  return async ({ scope, nodeName, expected }) => {
    const applied = await outcomeOf(async () => {
      const { setObject } = await observe(deps, scope, false);
      if (setObject === undefined || (scope.setUid !== undefined && setObject.metadata.uid !== scope.setUid))
        return 'stale';
      const current = specOf(setObject).nodeName ?? '';
      if (current === nodeName) return 'done';
      if (expected !== undefined && current !== expected) return 'stale';
      const operation: JsonPatchOperation =
        nodeName === ''
          ? { op: 'remove', path: '/spec/nodeName' }
          : { op: 'add', path: '/spec/nodeName', value: nodeName };
      await patchAsSeen(deps.cluster, resources.set, setObject, [operation]);
      return 'done';
    });
    await wakeSet(deps.temporal, controlQueueOf(Context.current().info.taskQueue), scope);
    return { ...applied, seen: seen(deps, observationOf(await observe(deps, scope, true))) };
  };
}

/** Makes the workflow of a set look at it again, and starts it where it isn't running. */
export async function wakeSet(
  temporal: Client,
  taskQueue: string,
  { namespace, name }: SetName,
  poke: CocoonSetPoke = {},
): Promise<void> {
  const input: CocoonSetInput = { namespace, name };
  await temporal.workflow.signalWithStart<(input: CocoonSetInput) => Promise<void>, [CocoonSetPoke]>('cocoonSet', {
    taskQueue,
    workflowId: cocoonSetId(namespace, name),
    args: [input],
    signal: messages.poke,
    signalArgs: [poke],
    staticSummary: cutToBytes(`CocoonSet ${namespace}/${name}`, 200),
    typedSearchAttributes: [
      { key: searchKeys.kind, value: 'cocoon-set' },
      { key: searchKeys.vm, value: cutToBytes(`${namespace}/${name}`, longestAttribute) },
    ],
  });
}
