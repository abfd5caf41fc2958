import type { Applied, Known, MigrationTurn, TurnResult } from '../../workflows/contracts/activities.ts';
import { cocoonKeys, snapshotTags } from '../../workflows/contracts/hibernate.ts';
import { decide, type Decision } from '../../workflows/domain/hibernate/decide.ts';
import { vmNameOf } from '../../workflows/domain/hibernate/names.ts';
import { formatRecord } from '../../workflows/domain/hibernate/record.ts';
import { reportOf } from '../../workflows/domain/hibernate/report.ts';
import type { Context } from '../../workflows/domain/hibernate/situation.ts';
import type { Action, Outcome, SetEvent } from '../../workflows/domain/hibernate/step.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { dropTag } from '../registry/snapshot.ts';
import { seen, type HibernateDeps } from './deps.ts';
import { annotate, outcomeOf, removePod, Stale } from './guarded.ts';
import { observationOf, observe, type Sight } from './observe.ts';
import { agentPod } from './pod-template.ts';
import { tell, warn } from './set-events.ts';
import { podsOfSet, writeSetStatus } from './set-status.ts';

/** More changes than follow each other in one turn. */
const mostChanges = 5;

type Do = Action['do'];

/**
 * One turn that does nothing but these: looks, decides, writes what people are to see, acts on exactly what was seen, tells, and
 * looks again. Whatever else is decided by now is left to the next turn.
 */
export function createTurn(deps: HibernateDeps, does: readonly Do[]): (turn: MigrationTurn) => Promise<TurnResult> {
  return async ({ scope, known }) => {
    let applied: Applied & { ending?: Outcome } = { outcome: 'stale' };
    for (let round = 0; ; round++) {
      const sight = await observe(deps, scope, true);
      const decision = decideNow(deps, sight, round === 0 ? known : withoutOrder(known), scope.setUid);
      const { next } = decision;
      const isOver = next.kind !== 'act' || !does.includes(next.action.do) || round === mostChanges;
      if (isOver) return { ...applied, seen: seen(deps, observationOf(sight)) };
      const before = applied.outcome === 'done' ? applied : {};
      applied = await outcomeOf(() => carryOut(deps, sight, decision, known));
      if (next.ending !== undefined || 'ending' in before)
        applied = { ...before, ...applied, ...endingOf(next.ending) };
      if (applied.outcome !== 'done')
        return { ...applied, seen: seen(deps, observationOf(await observe(deps, scope, true))) };
    }
  };
}

function endingOf(ending: Outcome | undefined): { ending?: Outcome } {
  return ending === undefined ? {} : { ending };
}

/** A retry is for one change. */
function withoutOrder({ order, ...known }: Known): Known {
  return order === undefined || order === 'retry' ? known : { order, ...known };
}

export function decideNow(deps: HibernateDeps, sight: Sight, known: Known, setUid: string | undefined): Decision {
  return decide(sight, contextOf(deps, known), setUid);
}

export function contextOf({ settings }: HibernateDeps, known: Known): Context {
  return { now: new Date().toISOString(), settings: settings.migration, ...known };
}

async function carryOut(
  deps: HibernateDeps,
  sight: Sight,
  decision: Decision,
  known: Known,
): Promise<Applied['outcome']> {
  const { next } = decision;
  if (next.kind !== 'act' || sight.setObject === undefined) return 'stale';
  // A record is written before the phase, and the phase by an action of its own.
  const set = next.action.do === 'setPhase' ? sight.setObject : await show(deps, sight, decision, known);
  if (set === undefined) return 'stale';
  const event = await act(deps, { ...sight, setObject: set }, next.action);
  const about = next.event ?? event;
  if (about !== undefined) await tell(deps, set, about, detailOf(sight, about));
  return 'done';
}

/** Writes what people are to see of a decision. Answers the set as it then is; undefined: it is gone. */
export async function show(
  deps: HibernateDeps,
  sight: Sight,
  decision: Decision,
  known: Known,
): Promise<KubeObject | undefined> {
  const { setObject, podObject } = sight;
  if (setObject === undefined) return undefined;
  if (decision.next.kind === 'leave' || decision.next.kind === 'end') return setObject;
  const { phase, condition, warning } = reportOf(decision, sight, contextOf(deps, known));
  const isOver = decision.next.kind === 'act' && decision.next.ending !== undefined;
  const pods = podsOfSet(deps, setObject, podObject === undefined ? [] : [podObject]);
  const written = await writeSetStatus(deps, setObject, pods, {
    ...(phase === undefined ? {} : { phase }),
    migrating: isOver ? done(sight) : condition,
  });
  if (warning !== undefined) await warn(deps, setObject, warning, condition.message);
  return written;
}

async function act(
  deps: HibernateDeps,
  sight: Sight & { readonly setObject: KubeObject },
  action: Action,
): Promise<SetEvent | undefined> {
  const { cluster } = deps;
  const { setObject, podObject } = sight;
  const pod = (): KubeObject => {
    if (podObject === undefined) throw new Stale('the Pod is gone');
    return podObject;
  };
  switch (action.do) {
    case 'stampPod':
      await annotate(cluster, resources.pod, pod(), { [cocoonKeys.generation]: String(action.generation) });
      return undefined;
    case 'writeRecord': {
      const { record } = action;
      const text = record === undefined ? undefined : formatRecord(record);
      await annotate(cluster, resources.set, setObject, { [cocoonKeys.migration]: text });
      return undefined;
    }
    case 'setPhase':
      await writeSetStatus(deps, setObject, podsOfSet(deps, setObject, podObject === undefined ? [] : [podObject]), {
        phase: action.phase,
        ...(action.phase === 'settled' ? { migrating: done(sight) } : {}),
      });
      return undefined;
    case 'setHibernate':
      await annotate(cluster, resources.pod, pod(), { [cocoonKeys.hibernate]: 'true' });
      return undefined;
    case 'clearHibernate':
      await annotate(cluster, resources.pod, pod(), { [cocoonKeys.hibernate]: undefined });
      return undefined;
    case 'deletePod':
      await remove(deps, sight, action);
      return undefined;
    case 'createPod':
      await cluster.create(
        resources.pod,
        setObject.metadata.namespace,
        agentPod(setObject, { slot: 0, restore: true, ...priorityOf(deps) }),
      );
      return undefined;
    case 'dropTag': {
      const { namespace, name } = setObject.metadata;
      const vmName = vmNameOf(namespace, name, 0);
      const drop = await dropTag(await deps.registry(), vmName, snapshotTags.hibernate, action.digest);
      if (drop === 'changed' || drop === 'invalid') throw new Stale('another snapshot stands under the tag');
      return undefined;
    }
  }
}

export function priorityOf({ priorityClass }: HibernateDeps): { readonly priorityClass?: string } {
  return priorityClass === undefined ? {} : { priorityClass };
}

/** How the migration went, for the condition. */
function done({ set, pod }: Sight): { status: 'False'; reason: string; message: string } {
  const { record } = set ?? {};
  const at = pod?.nodeName ?? '';
  const hasStayed = at === '' || record?.from === at;
  return {
    status: 'False',
    reason: hasStayed ? 'Aborted' : 'Succeeded',
    message: at === '' ? '' : `the main VM runs on ${at}`,
  };
}

/**
 * The agent is asked first to keep its copy of the snapshot: losing that costs a download only. What it says to that is a newer
 * Pod, on which everything is decided anew.
 */
async function remove(
  deps: HibernateDeps,
  { podObject, setObject }: Sight & { readonly setObject: KubeObject },
  action: Extract<Action, { readonly do: 'deletePod' }>,
): Promise<void> {
  if (podObject === undefined) throw new Stale('the Pod is gone');
  const { namespace, name } = podObject.metadata;
  const isKept = podObject.metadata.annotations?.[cocoonKeys.keepSnapshot] === 'true';
  if (action.keepSnapshot && !isKept) {
    await annotate(deps.cluster, resources.pod, podObject, { [cocoonKeys.keepSnapshot]: 'true' }).catch(ignore);
    const set = setObject.metadata;
    const again = await observe(deps, { namespace: set.namespace, name: set.name }, true);
    const { next } = decideNow(deps, again, { hasSlot: false }, set.uid);
    if (next.kind !== 'act' || next.action.do !== 'deletePod') throw new Stale('the Pod may no longer be deleted');
    await removePod(deps.cluster, { namespace, name }, next.action.pod, next.action.force);
    return;
  }
  await removePod(deps.cluster, { namespace, name }, action.pod, action.force);
}

/** Best effort: the Pod is looked at again anyway. */
function ignore(err: unknown): void {
  if (!(err instanceof Error)) throw err;
}

function detailOf({ set, pod, tag }: Sight, event: SetEvent): string {
  const from = set?.record?.from ?? pod?.nodeName ?? '';
  const to = set?.nodeName === '' ? 'any node' : (set?.nodeName ?? '');
  if (event === 'MigrationStarted' || event === 'Retargeted') return `${from} -> ${to}`;
  if (event === 'SnapshotReady' && tag.state === 'present') return tag.digest;
  if (event === 'Migrated') return `${from} -> ${pod?.nodeName ?? ''}, VM ${pod?.vmId ?? ''}`;
  return '';
}
