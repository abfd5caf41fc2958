import type { LifecycleState } from '../../../workflows/domain/hibernate/observation.ts';
import type { AgentWork } from './agent-work.ts';
import { clearId, hold } from './bring-up.ts';
import { AgentGone } from './life.ts';
import type { Vm } from './node-host.ts';
import { keyOf, type PodView } from './pod-view.ts';
import { track, type Tracked } from './tracked.ts';

/** What an agent that starts makes of the Pods of its node and the VMs that are there; what is left to do follows from that. */
export async function takeStock(work: AgentWork, pods: readonly PodView[]): Promise<Map<string, Tracked>> {
  const tracked = new Map<string, Tracked>();
  const known = new Set<string>();
  for (const pod of pods) {
    const vm = vmOf(work, pod);
    if (vm !== undefined) known.add(vm.id);
    tracked.set(keyOf(pod), await recall(work, pod, vm));
  }
  for (const vm of work.host.list()) if (!known.has(vm.id)) leftOver(work, vm);
  return tracked;
}

/** By id, else by name. */
function vmOf({ host }: AgentWork, { vmId, vmName }: PodView): Vm | undefined {
  return host.get(vmId) ?? host.named(vmName);
}

async function recall(work: AgentWork, pod: PodView, vm: Vm | undefined): Promise<Tracked> {
  const tracked = track(pod);
  tracked.said = saidOf(pod);
  if (vm === undefined) {
    if (pod.hibernate && pod.managed && !pod.isDeleting) await recallAsleep(work, tracked);
    return tracked;
  }
  const isToHibernate = pod.hibernate && pod.managed;
  if (isToHibernate || pod.isDeleting) hold(tracked, vm);
  else {
    work.host.resume(vm.id);
    const isSettled = pod.lifecycle === 'ready' || pod.lifecycle === 'failed';
    if (vm.id !== pod.vmId || !isSettled || !pod.containerRunning) return tracked; // to be adopted
    hold(tracked, vm);
    tracked.isTold = true;
  }
  return tracked;
}

/** Its VM is in the registry, or nowhere: the agent says that it is asleep only when there is a snapshot. */
async function recallAsleep(work: AgentWork, tracked: Tracked): Promise<void> {
  const { pod } = tracked;
  if (pod.vmId !== '' || pod.ip !== '') await clearId(work, tracked);
  tracked.stage = 'asleep';
  tracked.isTold = pod.lifecycle === 'hibernated' ? !pod.containerRunning : !(await hasSnapshot(work, pod.vmName));
}

/** Asks until the registry answers: before that nothing can be said about the VM. */
async function hasSnapshot(work: AgentWork, vmName: string): Promise<boolean> {
  for (;;) {
    try {
      return (await work.snapshots.find(vmName, 'hibernate')) !== undefined;
    } catch (error) {
      if (error instanceof AgentGone) throw error;
      work.onFailure(error as Error);
      await work.life.spend(work.settings.retryMaxMs);
    }
  }
}

function saidOf({ lifecycle, lifecycleGeneration, lifecycleMessage }: PodView): Tracked['said'] {
  if (lifecycle === '') return undefined;
  return { state: lifecycle as LifecycleState, generation: lifecycleGeneration, message: lifecycleMessage };
}

function leftOver(work: AgentWork, vm: Vm): void {
  const { host, settings } = work;
  if (settings.orphans === 'destroy') host.destroy(vm.id, 'orphan');
  else if (settings.orphans === 'alert') work.onFailure(new Error(`${host.node} runs ${vm.name}, which has no Pod.`));
}
