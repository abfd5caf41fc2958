import type { CocoonSetActivities, SetTurn } from '../../workflows/contracts/activities.ts';
import { cocoonKeys, snapshotTags } from '../../workflows/contracts/hibernate.ts';
import type { Condition } from '../../workflows/domain/conditions.ts';
import { vmNamesToCollect, vmNameOf } from '../../workflows/domain/hibernate/names.ts';
import { reasons } from '../../workflows/domain/hibernate/reasons.ts';
import { setTurn, type SetAction, type SetStep } from '../../workflows/domain/hibernate/set-turn.ts';
import type { PodVersion } from '../../workflows/domain/hibernate/step.ts';
import { setFinalizer } from '../kubernetes/change.ts';
import { ClusterError, type KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { dropTag } from '../registry/snapshot.ts';
import { collect } from './collect.ts';
import { seen, type HibernateDeps } from './deps.ts';
import { annotate, outcomeOf, patchAsSeen, removePod, Stale } from './guarded.ts';
import { lookAtSet, type SetSight } from './look-at-set.ts';
import { agentPod } from './pod-template.ts';
import { tell, warn } from './set-events.ts';
import { writeSetStatus } from './set-status.ts';
import { contextOf, priorityOf } from './turn.ts';

type Sighted = SetSight & { readonly setObject: KubeObject };

/** One turn of a whole set: looks, decides, writes the status, makes the one change, looks again. */
export function createChangeSet(deps: HibernateDeps): CocoonSetActivities['changeSet'] {
  return async (turn) => {
    const applied = await outcomeOf(async () => {
      const sight = await lookAtSet(deps, turn);
      const { setObject } = sight;
      const step = stepOf(deps, sight, turn);
      if (setObject === undefined || step.action === undefined || step.action.do === 'startMigration') return 'stale';
      const shown = await showSet(deps, { ...sight, setObject }, step);
      await perform(deps, { ...sight, setObject: shown }, step.action);
      return 'done';
    });
    return { ...applied, seen: seen(deps, (await lookAtSet(deps, turn)).look) };
  };
}

export function createReportSet(deps: HibernateDeps): CocoonSetActivities['reportSet'] {
  return async (turn) => {
    await outcomeOf(async () => {
      const sight = await lookAtSet(deps, turn);
      if (sight.setObject !== undefined)
        await showSet(deps, { ...sight, setObject: sight.setObject }, stepOf(deps, sight, turn));
      return 'done';
    });
  };
}

export function stepOf(deps: HibernateDeps, { look }: SetSight, { order }: SetTurn): SetStep {
  return setTurn(look, contextOf(deps, { hasSlot: false, ...(order === undefined ? {} : { order }) }));
}

/** Reasons that somebody should hear of. */
const warnings: readonly string[] = [
  'SuspendTimedOut',
  'MainAgentFailed',
  'PodNameConflict',
  'SnapshotMissing',
  'SnapshotInvalid',
  'SnapshotForeign',
];

/** While a migration is open, it alone writes the phase. */
export async function showSet(deps: HibernateDeps, sight: Sighted, step: SetStep): Promise<KubeObject> {
  const { setObject, pods, look } = sight;
  if (look.isMigrationOpen && !look.set?.suspend) return setObject;
  const wasFailed = setObject.status?.['phase'] === 'Failed';
  const { phase } = step;
  const written = await writeSetStatus(deps, setObject, pods, {
    ...(phase === undefined ? {} : { phase: phase === 'Running' || phase === 'Scaling' ? 'settled' : phase }),
    ...migratingOf(setObject, step),
  });
  if (step.reason !== undefined && warnings.includes(step.reason))
    await warn(deps, setObject, step.reason, messageOf(sight, step.reason));
  if (wasFailed && phase === 'Running' && look.set?.record === undefined)
    await tell(deps, setObject, 'RecoveredFromFailure');
  return written;
}

/**
 * A set that never moved says so, and one that is settled no longer says what a migration waited for whose wish was taken back
 * before it began. How one ended stays.
 */
function migratingOf({ status }: KubeObject, { isSettled, phase }: SetStep): object {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly Condition[] };
  const last = conditions.find(({ type }) => type === 'Migrating');
  const isAsItShouldBe = isSettled === true && phase === 'Running';
  const isLeftOver = last !== undefined && (last.status === 'True' || Object.hasOwn(reasons, last.reason));
  if (last !== undefined && !(isAsItShouldBe && isLeftOver)) return {};
  return { migrating: { status: 'False', reason: 'NotRequested', message: '' } };
}

function messageOf({ look }: SetSight, reason: string): string {
  const message = look.main.pod?.lifecycle?.message ?? '';
  return message === '' ? reason : `${reason}: ${message}`;
}

async function perform(deps: HibernateDeps, sight: Sighted, action: SetAction): Promise<void> {
  const { cluster } = deps;
  const { setObject, look } = sight;
  const { namespace, name } = setObject.metadata;
  const note = (wanted: Readonly<Record<string, string | undefined>>): Promise<KubeObject> =>
    annotate(cluster, resources.set, setObject, wanted);
  switch (action.do) {
    case 'addFinalizer':
      await patchAsSeen(cluster, resources.set, setObject, setFinalizer(setObject, cocoonKeys.setFinalizer, true));
      return;
    case 'noteVmNames':
      await note({ [cocoonKeys.deleteVmNames]: vmNames(sight).join(',') });
      return;
    case 'collectAndRelease':
      await collect(deps, setObject, look, action.vmNames);
      await patchAsSeen(cluster, resources.set, setObject, setFinalizer(setObject, cocoonKeys.setFinalizer, false));
      return;
    case 'stampPods':
      await each(sight, action.pods, (pod) =>
        annotate(cluster, resources.pod, pod, { [cocoonKeys.generation]: String(action.generation) }),
      );
      return;
    case 'noteSuspending':
      await note({ [cocoonKeys.suspendingSince]: new Date().toISOString() });
      return;
    case 'forgetSuspending':
      await note({ [cocoonKeys.suspendingSince]: undefined });
      return;
    case 'setHibernate':
    case 'clearHibernate': {
      const value = action.do === 'setHibernate' ? 'true' : undefined;
      await each(sight, action.pods, (pod) => annotate(cluster, resources.pod, pod, { [cocoonKeys.hibernate]: value }));
      return;
    }
    case 'deletePods':
      await each(sight, action.pods, ({ metadata }) => removePod(cluster, metadata, metadata));
      return;
    case 'noteOwedDrops':
      await note({ [cocoonKeys.owedDrops]: action.owed.length === 0 ? undefined : JSON.stringify(action.owed) });
      return;
    case 'createMain':
      await cluster.create(
        resources.pod,
        namespace,
        agentPod(setObject, { slot: 0, restore: action.restore !== undefined, ...priorityOf(deps) }),
      );
      return;
    case 'dropTag':
      await drop(deps, setObject, action);
      return;
    case 'createAgents':
      await createAgents(deps, setObject, action);
      return;
    case 'startMigration':
      throw new Error(`a migration of ${namespace}/${name} is started by its workflow`);
  }
}

/** Each on the Pod as it was seen; one that has changed meanwhile makes the whole turn stale, after the others were done. */
async function each(
  { pods }: SetSight,
  wanted: readonly PodVersion[],
  work: (pod: KubeObject) => Promise<unknown>,
): Promise<void> {
  const meant = pods.filter(({ metadata }) =>
    wanted.some((one) => one.uid === metadata.uid && one.resourceVersion === metadata.resourceVersion),
  );
  const done = await Promise.allSettled(meant.map(work));
  const failed = done.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason as Error;
}

function vmNames({ look, setObject, pods }: Sighted): string[] {
  const { namespace, name } = setObject.metadata;
  const { agents = [] } = (setObject.status ?? {}) as { agents?: readonly { readonly vmName?: string }[] };
  return vmNamesToCollect({ namespace, name, replicas: look.replicas }, [
    agents.flatMap(({ vmName }) => vmName ?? []),
    pods
      .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === setObject.metadata.uid))
      .flatMap(({ metadata }) => metadata.annotations?.[cocoonKeys.vmName] ?? []),
  ]);
}

async function drop(
  deps: HibernateDeps,
  set: KubeObject,
  { slot, digest, because }: Extract<SetAction, { readonly do: 'dropTag' }>,
): Promise<void> {
  const vmName = vmNameOf(set.metadata.namespace, set.metadata.name, slot);
  const dropped = await dropTag(await deps.registry(), vmName, snapshotTags.hibernate, digest);
  if (dropped === 'changed' || dropped === 'invalid') throw new Stale('another snapshot stands under the tag');
  if (because === 'discarded') await tell(deps, set, 'SnapshotDiscarded');
  if (because === 'left-over') await tell(deps, set, 'StaleSnapshotDropped');
}

async function createAgents(
  deps: HibernateDeps,
  set: KubeObject,
  { slots, nodeName }: Extract<SetAction, { readonly do: 'createAgents' }>,
): Promise<void> {
  const { namespace } = set.metadata;
  const created = await Promise.allSettled(
    slots.map((slot) =>
      deps.cluster.create(resources.pod, namespace, agentPod(set, { slot, nodeName, ...priorityOf(deps) })),
    ),
  );
  const failed = created.find(
    (one) =>
      one.status === 'rejected' && !(one.reason instanceof ClusterError && one.reason.reason === 'AlreadyExists'),
  );
  if (failed?.status === 'rejected') throw failed.reason as Error;
}
