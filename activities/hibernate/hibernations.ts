import { Context } from '@temporalio/activity';
import type { HibernateWaits, HibernationActivities } from '../../workflows/contracts/activities.ts';
import { cocoonKeys, snapshotTags, type SetName } from '../../workflows/contracts/hibernate.ts';
import { withCondition, type Condition } from '../../workflows/domain/conditions.ts';
import { hibernationFingerprint } from '../../workflows/domain/hibernate/fingerprint.ts';
import {
  decideHibernation,
  hibernationPhases,
  type HibernationAction,
  type HibernationLook,
  type HibernationPhase,
  type HibernationStep,
} from '../../workflows/domain/hibernate/hibernation.ts';
import { whileBeating } from '../heartbeat.ts';
import { untilAnswered } from '../kubernetes/await-change.ts';
import { setFinalizer } from '../kubernetes/change.ts';
import { recordEvent } from '../kubernetes/events.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { timeOf } from '../kubernetes/time.ts';
import { dropTag } from '../registry/snapshot.ts';
import { seen, type HibernateDeps } from './deps.ts';
import { podFactsOf, specOf } from './facts.ts';
import { annotate, outcomeOf, patchAsSeen, Stale } from './guarded.ts';
import { tagOf } from './observe.ts';

interface HibernationSight {
  readonly look: HibernationLook;
  readonly object?: KubeObject;
  readonly pod?: KubeObject;
  readonly vmName?: string;
}

const gone: HibernationSight = {
  look: { tag: { state: 'unread' }, isSetSuspended: false, isNamedElsewhere: false },
};

/** One consistent look at a CocoonHibernation, the Pod it names and its tag. */
async function look(deps: HibernateDeps, scope: SetName & { readonly setUid?: string }): Promise<HibernationSight> {
  const { cluster } = deps;
  const { namespace, name } = scope;
  const object = await cluster.get(resources.hibernation, namespace, name);
  if (object === undefined || (scope.setUid !== undefined && object.metadata.uid !== scope.setUid)) return gone;
  const pod = await cluster.get(resources.pod, namespace, podNameOfHibernation(object));
  const status = (object.status ?? {}) as { vmName?: string };
  const vmName = pod?.metadata.annotations?.[cocoonKeys.vmName] ?? status.vmName;
  const owner = pod?.metadata.ownerReferences?.find((one) => one.controller === true && one.kind === 'CocoonSet');
  const setName = owner?.name ?? setNameOf(object);
  const set = setName === undefined ? undefined : await cluster.get(resources.set, namespace, setName);
  const hasVm = pod !== undefined && pod.metadata.annotations?.[cocoonKeys.vmName] !== undefined;
  return {
    look: {
      hibernation: factsOf(object),
      ...(hasVm ? { pod: podFactsOf(pod, owner?.uid ?? '') } : {}),
      tag: vmName === undefined ? { state: 'unread' } : await tagOf(deps, vmName),
      isSetSuspended: set !== undefined && specOf(set).suspend === true,
      isNamedElsewhere: set !== undefined && set.metadata.deletionTimestamp === undefined,
    },
    object,
    ...(pod === undefined ? {} : { pod }),
    ...(vmName === undefined ? {} : { vmName }),
  };
}

/** The set that a Pod of this name would belong to. */
function setNameOf(object: KubeObject): string | undefined {
  return /^(.+)-\d+$/.exec(podNameOfHibernation(object))?.[1];
}

function podNameOfHibernation({ spec, metadata }: KubeObject): string {
  return (spec as { podRef?: { name?: string } } | undefined)?.podRef?.name ?? metadata.name;
}

function factsOf({ metadata, spec, status }: KubeObject): NonNullable<HibernationLook['hibernation']> {
  const { desire = 'Hibernate' } = (spec ?? {}) as { desire?: 'Hibernate' | 'Wake' };
  const known = (status ?? {}) as { phase?: string; observedGeneration?: number; conditions?: readonly Condition[] };
  const phase = hibernationPhases.find((one) => one === known.phase);
  const since = known.conditions?.find(({ type }) => type === phaseCondition)?.lastTransitionTime;
  const sourceVMID = metadata.annotations?.[cocoonKeys.sourceVMID];
  return {
    desire,
    ...(phase === undefined ? {} : { phase }),
    phaseSince: timeOf(since ?? metadata.creationTimestamp),
    generation: metadata.generation ?? 0,
    observedGeneration: known.observedGeneration ?? 0,
    deleting: metadata.deletionTimestamp !== undefined,
    hasFinalizer: (metadata.finalizers ?? []).includes(cocoonKeys.hibernationFinalizer),
    ...(sourceVMID === undefined ? {} : { sourceVMID }),
  };
}

/** Its reason is the phase: its transition time is when that began. */
const phaseCondition = 'Phase';

export function createLookAtHibernation(deps: HibernateDeps): HibernationActivities['lookAtHibernation'] {
  return async (scope) => seen(deps, (await look(deps, scope)).look);
}

/** One turn: looks, decides, makes the one change, looks again. */
export function createChangeHibernation(deps: HibernateDeps): HibernationActivities['changeHibernation'] {
  return async (scope) => {
    const applied = await outcomeOf(async () => {
      const sight = await look(deps, scope);
      const { object } = sight;
      const step = decideHibernation(sight.look, new Date().toISOString(), deps.settings.migration);
      if (step.kind !== 'act' || object === undefined) return 'stale';
      await perform(deps, { ...sight, object }, step.action);
      await tell(deps, object, step);
      return 'done';
    });
    return { ...applied, seen: seen(deps, (await look(deps, scope)).look) };
  };
}

async function perform(
  { cluster, registry }: HibernateDeps,
  { object, pod, vmName, look: { hibernation } }: HibernationSight & { readonly object: KubeObject },
  action: HibernationAction,
): Promise<void> {
  const { hibernation: resource } = resources;
  switch (action.do) {
    case 'addFinalizer':
    case 'removeFinalizer': {
      const isWanted = action.do === 'addFinalizer';
      await patchAsSeen(cluster, resource, object, setFinalizer(object, cocoonKeys.hibernationFinalizer, isWanted));
      return;
    }
    case 'setPhase': {
      const generation = hibernation?.generation ?? 1;
      const value = statusWith(object, action.phase, action.reason, generation, vmName);
      await patchAsSeen(cluster, resource, object, [{ op: 'add', path: '/status', value }], { status: true });
      return;
    }
    case 'noteSource':
      await annotate(cluster, resource, object, { [cocoonKeys.sourceVMID]: action.vmId });
      return;
    case 'setHibernate':
    case 'clearHibernate': {
      if (pod === undefined) throw new Stale('the Pod is gone');
      const value = action.do === 'setHibernate' ? 'true' : undefined;
      await annotate(cluster, resources.pod, pod, { [cocoonKeys.hibernate]: value });
      return;
    }
    case 'dropTag': {
      if (vmName === undefined) throw new Stale('nothing names the VM any more');
      const dropped = await dropTag(await registry(), vmName, snapshotTags.hibernate, action.digest);
      if (dropped === 'changed' || dropped === 'invalid') throw new Stale('another snapshot stands under the tag');
    }
  }
}

/** The conditions' times count from a new phase, a repeated attempt at the same included. */
function statusWith(
  { status }: KubeObject,
  phase: HibernationPhase,
  reason: string | undefined,
  generation: number,
  vmName: string | undefined,
): object {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly Condition[] };
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const isUnderWay = phase === 'Hibernating' || phase === 'Waking' || phase === 'Pending';
  const settled = withCondition(
    conditions,
    {
      type: 'Ready',
      status: phase === 'Hibernated' || phase === 'Active' ? 'True' : 'False',
      reason: reason ?? phase,
      message: messages[phase],
    },
    now,
  );
  const shown = withCondition(
    settled,
    { type: phaseCondition, status: isUnderWay ? 'False' : 'True', reason: phase, message: messages[phase] },
    now,
  );
  return {
    ...status,
    phase,
    observedGeneration: generation,
    ...(vmName === undefined ? {} : { vmName }),
    conditions: shown,
  };
}

const messages: Readonly<Record<HibernationPhase, string>> = {
  Pending: 'there is no VM of that name',
  Hibernating: 'the VM is being stored',
  Hibernated: 'the VM is stored in the registry',
  Waking: 'the VM is being restored',
  Active: 'the VM runs',
  Failed: 'the VM did not get there in time; a late success still counts',
};

async function tell(deps: HibernateDeps, object: KubeObject, step: HibernationStep): Promise<void> {
  if (step.kind !== 'act' || step.event === undefined) return;
  const { uid, generation = 0 } = object.metadata;
  await recordEvent(deps.cluster, object, 'CocoonHibernation', `${uid}/${generation}`, {
    type: step.event.endsWith('TimedOut') ? 'Warning' : 'Normal',
    reason: step.event,
    message: step.action.do === 'setPhase' ? messages[step.action.phase] : step.event,
  });
}

/** Waits until a hibernation, its Pod or its tag is another one, or `until`. */
export function createWaitForHibernationChange(deps: HibernateDeps): HibernateWaits['waitForHibernationChange'] {
  return async ({ fingerprint, until, ...scope }) => {
    const { settings, cluster } = deps;
    const { namespace, name } = scope;
    const end = Math.min(Date.now() + settings.waitCeilingMs, until === undefined ? Infinity : Date.parse(until));
    const set = /^(.+)-\d+$/.exec(name)?.[1];
    const objects = [
      { resource: resources.hibernation, namespace, name },
      { resource: resources.pod, namespace, name },
      ...(set === undefined ? [] : [{ resource: resources.set, namespace, name: set }]),
    ];
    return await whileBeating(
      () => ({ waitingFor: `a change of hibernation ${namespace}/${name}` }),
      () =>
        untilAnswered(cluster, objects, Context.current().cancellationSignal, async () => {
          const sight = await look(deps, scope);
          if (hibernationFingerprint(sight.look) !== fingerprint || end <= Date.now())
            return { answer: seen(deps, sight.look) };
          const pauseMs = sight.look.tag.state === 'unknown' ? settings.pollFloorMs : settings.reReadMs;
          return { againInMs: Math.max(1, Math.min(pauseMs, end - Date.now())) };
        }),
    );
  };
}
