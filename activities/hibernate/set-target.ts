import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { Applied, MigrationActivities } from '../../workflows/contracts/activities.ts';
import { longestAttribute, searchKeys } from '../../workflows/contracts/attributes.ts';
import type { CocoonSetInput, CocoonSetPoke, SetName } from '../../workflows/contracts/hibernate.ts';
import { cocoonSetId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { controlQueueOf } from '../../workflows/contracts/task-queues.ts';
import { cutToBytes } from '../../workflows/domain/text.ts';
import type { JsonPatchOperation, KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { seen, type HibernateDeps } from './deps.ts';
import { specOf } from './facts.ts';
import { outcomeOf, patchAsSeen } from './guarded.ts';
import { observationOf, observe } from './observe.ts';

/** A set that somebody else changes is looked at again so many times. */
const mostTries = 5;

type Wanted = Parameters<MigrationActivities['setTarget']>[0];

/** Changes the node that a set asks for, as a person would by editing it, and wakes the workflow of the set. */
export function createSetTarget(deps: HibernateDeps): MigrationActivities['setTarget'] {
  return async (wanted) => {
    const { scope } = wanted;
    const applied = await change(deps, wanted);
    await wakeSet(deps.temporal, controlQueueOf(Context.current().info.taskQueue), scope);
    return { ...applied, seen: seen(deps, observationOf(await observe(deps, scope, true))) };
  };
}

/** What was written between the look and the change, such as a status, is no reason against it. */
async function change(deps: HibernateDeps, wanted: Wanted, tries = 1): Promise<Applied> {
  const { setObject } = await observe(deps, wanted.scope, false);
  const applied = await outcomeOf(async () => {
    const operations = setObject === undefined ? undefined : changesOf(setObject, wanted);
    if (setObject === undefined || operations === undefined) return 'stale';
    if (operations.length > 0) await patchAsSeen(deps.cluster, resources.set, setObject, operations);
    return 'done';
  });
  const mayChange = setObject !== undefined && changesOf(setObject, wanted) !== undefined;
  const isAgain = applied.outcome === 'stale' && mayChange && tries < mostTries;
  return isAgain ? await change(deps, wanted, tries + 1) : applied;
}

/** Undefined: it is another set, or asks for another node than was expected. */
function changesOf(set: KubeObject, { scope, nodeName, expected }: Wanted): JsonPatchOperation[] | undefined {
  const current = specOf(set).nodeName ?? '';
  if (scope.setUid !== undefined && set.metadata.uid !== scope.setUid) return undefined;
  if (current === nodeName) return [];
  if (expected !== undefined && current !== expected) return undefined;
  if (nodeName === '') return [{ op: 'remove', path: '/spec/nodeName' }];
  return [{ op: 'add', path: '/spec/nodeName', value: nodeName }];
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
