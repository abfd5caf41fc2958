import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { after, setFinalizer, setStatus, withoutAnnotations, type Rule, type World } from './moves.ts';
import {
  finalizers,
  gracePeriodMs,
  hasFinalizer,
  instanceStatus,
  isDeleting,
  isRunning,
  type InstanceStatus,
} from './objects.ts';
import { switches } from './switches.ts';

/** A deleted instance goes when its guest has shut down or its grace period, as written now, is over. */
export const shutdown: Rule = (world) => {
  const { instance, behaviour } = world;
  if (instance === undefined || !isDeleting(instance) || !hasFinalizer(instance, finalizers.instance)) return undefined;
  const guestMs = behaviour.is('ignoreShutdown') ? Infinity : behaviour.delays.guestShutdownDelay;
  const ms = hasEnded(instance) ? 0 : Math.min(guestMs, gracePeriodMs(instance));
  const why = ms < guestMs ? 'the grace period is over' : 'the guest has shut down';
  return after(world, `shutdown ${instance.metadata.uid}`, ms, () =>
    setFinalizer('instance', instance, finalizers.instance, false, why),
  );
};

export const boot: Rule = (world) => {
  const { instance, behaviour, nodes } = world;
  if (instance === undefined || isDeleting(instance) || isRunning(instance)) return undefined;
  const { phase = 'Pending' } = instanceStatus(instance);
  if (!['Pending', 'Scheduling', 'Scheduled'].includes(phase)) return undefined;
  if (behaviour.is('unschedulable'))
    return setStatus('instance', instance, { ...instance.status, ...noNode }, 'no node takes it');
  const nodeName = nodes[numberOf(instance) % nodes.length]?.name ?? '';
  const scheduled = { ...instance.status, phase: 'Scheduled', nodeName, conditions: undefined };
  const running = { ...scheduled, phase: 'Running', ipAddress: addressOf(instance) };
  const move = after(world, `boot ${instance.metadata.uid}`, behaviour.delays.bootDelay, () =>
    setStatus('instance', instance, running, 'the guest has booted'),
  );
  if (move !== undefined && 'verb' in move) return move;
  return setStatus('instance', instance, scheduled, 'a node takes it') ?? move;
};

const noNode = {
  phase: 'Scheduling',
  nodeName: undefined,
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
};

export const pause: Rule = ({ instance, behaviour }) => {
  if (instance === undefined || isDeleting(instance) || !isRunning(instance)) return undefined;
  const isPaused = isPausedNow(instance);
  if (isPaused === behaviour.is('paused')) return undefined;
  const { conditions = [] } = instanceStatus(instance);
  const others = conditions.filter(({ type }) => type !== 'Paused');
  const paused = { type: 'Paused', status: 'True', reason: 'PausedByUser' } as const;
  const wanted = { ...instance.status, conditions: isPaused ? others : [...others, paused] };
  return setStatus('instance', instance, wanted, isPaused ? 'the guest goes on' : 'the guest is paused');
};

/** What the guest does of its own accord, once. */
export const guestActs: Rule = (world) =>
  guestAct(world, 'guestShutdown', 'guest-shutdown') ?? guestAct(world, 'guestReset', 'guest-reset');

function guestAct(
  { vm, instance, behaviour }: World,
  name: 'guestShutdown' | 'guestReset',
  shutdownReason: NonNullable<InstanceStatus['shutdownReason']>,
): ReturnType<Rule> {
  if (vm === undefined || !behaviour.is(name)) return undefined;
  if (instance === undefined || !isRunning(instance))
    return withoutAnnotations('vm', vm, [switches[name]], 'the guest has acted');
  const ended = { ...instance.status, phase: 'Succeeded', shutdownReason };
  return setStatus('instance', instance, ended, `the guest acts by itself: ${shutdownReason}`);
}

export function isPausedNow(instance: KubeObject): boolean {
  return (instanceStatus(instance).conditions ?? []).some(({ type, status }) => type === 'Paused' && status === 'True');
}

function hasEnded(instance: KubeObject): boolean {
  const { phase } = instanceStatus(instance);
  return phase === 'Succeeded' || phase === 'Failed';
}

/** Spreads instances over nodes and addresses, the same for the same instance. */
function numberOf({ metadata }: KubeObject): number {
  return Number.parseInt(metadata.uid.slice(0, 6), 16) || 0;
}

function addressOf(instance: KubeObject): string {
  const number = numberOf(instance);
  return `10.66.${(number >> 8) & 255}.${number & 255}`;
}
