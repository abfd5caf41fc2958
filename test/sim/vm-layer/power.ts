import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { vmopKeys } from '../../../workflows/contracts/vmop.ts';
import { after, remove, setStatus, withoutAnnotations, type Move, type Step, type Rule, type World } from './moves.ts';
import {
  annotationsOf,
  belonging,
  finalizers,
  instanceStatus,
  isDeleting,
  isRunning,
  machineStatus,
  runPolicyOf,
  vmUidOf,
  type ChangeRequest,
} from './objects.ts';

/** What the rules of power look at; undefined while the VM isn't to be looked after. */
interface Power {
  readonly vm: KubeObject;
  readonly machine: KubeObject;
  readonly instance: KubeObject | undefined;
  readonly requests: readonly ChangeRequest[];
  /** The only entry that counts. */
  readonly first: ChangeRequest | undefined;
}

function powerOf({ vm, machine, instance }: World): Power | undefined {
  if (vm === undefined || isDeleting(vm) || machine?.status === undefined) return undefined;
  if (vmUidOf(machine) !== vm.metadata.uid) return undefined;
  const requests = machineStatus(machine).stateChangeRequests ?? [];
  return { vm, machine, instance, requests, first: requests[0] };
}

const rule =
  (work: (power: Power, world: World) => Move): Rule =>
  (world) => {
    const power = powerOf(world);
    return power === undefined ? undefined : work(power, world);
  };

function setRequests({ machine }: Power, requests: readonly ChangeRequest[], why: string): Step | undefined {
  return setStatus('machine', machine, { ...machine.status, stateChangeRequests: requests }, why);
}

export const alwaysOff = rule(({ vm, instance }) =>
  runPolicyOf(vm) === 'AlwaysOff' && instance !== undefined && !isDeleting(instance)
    ? remove('instance', instance, 'the run policy is AlwaysOff')
    : undefined,
);

/** The first entry is answered by what is there, or acted on; the others wait. */
export const firstEntry = rule((power) => {
  const { first, instance, requests } = power;
  if (first === undefined) return undefined;
  const rest = requests.slice(1);
  if (first.action === 'Start')
    return instance === undefined ? undefined : setRequests(power, rest, 'an instance answers the Start');
  if (instance === undefined || (first.uid !== undefined && first.uid !== instance.metadata.uid))
    return setRequests(power, rest, 'the instance of the Stop is gone');
  return isDeleting(instance) ? undefined : remove('instance', instance, 'the first entry is Stop');
});

/** The entry is written before the annotation goes: one of both is there at any time, and a crash loses nothing. */
export const requestAnnotations = rule((power, world) => {
  const { machine, requests } = power;
  const { [vmopKeys.startRequested]: start, [vmopKeys.restartRequested]: restart } = annotationsOf(machine);
  const wanted = entriesFor(power, start === 'true', restart === 'true');
  if (wanted === undefined) return undefined;
  if (wanted.every((entry) => requests.some((there) => there.action === entry.action && there.uid === entry.uid))) {
    const keys = [vmopKeys.startRequested, vmopKeys.restartRequested];
    return withoutAnnotations('machine', machine, keys, 'the request has become an entry');
  }
  if (requests.length > 0) return undefined; // what was asked for before comes first
  const why = restart === 'true' ? 'a restart is requested' : 'a start is requested';
  const clock = `annotation ${annotationsOf(machine)[vmopKeys.receipt] ?? ''}`;
  return after(world, clock, world.behaviour.delays.annotationDelay, () => setRequests(power, wanted, why));
});

/** Undefined: no request, or one that has to wait for what is there. */
function entriesFor(
  { instance, first }: Power,
  start: boolean,
  restart: boolean,
): readonly ChangeRequest[] | undefined {
  if (!start && !restart) return undefined;
  if (instance === undefined) return first?.action === 'Stop' ? undefined : [{ action: 'Start' }];
  if (!restart || !isRunning(instance) || isDeleting(instance)) return undefined;
  return [{ action: 'Stop', uid: instance.metadata.uid }, { action: 'Start' }];
}

export const instanceCreation = rule((power, world) => {
  const { vm, machine, instance } = power;
  if (instance !== undefined || !isWanted(power) || world.behaviour.is('blockInstanceCreation')) return undefined;
  const { name, namespace, uid } = vm.metadata;
  const { terminationGracePeriodSeconds = 60 } = vm.spec ?? {};
  const body = {
    metadata: { name, namespace, finalizers: [finalizers.instance], ...belonging(uid, machine, 'machine') },
    spec: { terminationGracePeriodSeconds },
  };
  const step: Step = { verb: 'create', on: 'instance', body, why: 'the VM is to run' };
  return after(world, 'start', world.behaviour.delays.startDelay, () => step);
});

/** Whether something other than an annotation asks for an instance. */
export function wantsInstance(world: World): boolean {
  const power = powerOf(world);
  return power !== undefined && isWanted(power);
}

function isWanted({ vm, first }: Power): boolean {
  const policy = runPolicyOf(vm);
  return policy !== 'AlwaysOff' && (policy === 'AlwaysOn' || first?.action === 'Start');
}

/** An instance that has ended by itself: replaced after a reset or where the VM is always on, else the VM stays off. */
export const endedByItself = rule((power) => {
  const { vm, instance, requests } = power;
  if (instance === undefined || isDeleting(instance)) return undefined;
  const { phase, shutdownReason } = instanceStatus(instance);
  if (phase !== 'Succeeded' && phase !== 'Failed') return undefined;
  const isReset = shutdownReason === 'guest-reset' && runPolicyOf(vm) !== 'AlwaysOff';
  if (!isReset || requests.length > 0) return remove('instance', instance, 'it has ended by itself');
  const entries = [{ action: 'Stop', uid: instance.metadata.uid }, { action: 'Start' }] as const;
  return setRequests(power, entries, 'the guest has reset itself');
});
