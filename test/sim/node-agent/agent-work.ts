import type { FaultName } from './fault-names.ts';
import type { Faults } from './faults.ts';
import type { Life } from './life.ts';
import type { LifecycleWriter } from './lifecycle.ts';
import type { NodeHost } from './node-host.ts';
import type { PodWriter } from './pod-writer.ts';
import type { AgentSettings } from './settings.ts';
import type { Snapshots } from './snapshots.ts';
import type { Step } from './steps.ts';
import type { Timeline } from './timeline.ts';
import type { Tracked } from './tracked.ts';

/** What the work of one agent needs. */
export interface AgentWork {
  readonly node: string;
  /** CPU class of the node; empty: none. */
  readonly snapshotClass: string;
  readonly host: NodeHost;
  readonly settings: AgentSettings;
  readonly life: Life;
  readonly snapshots: Snapshots;
  readonly write: PodWriter;
  readonly lifecycle: LifecycleWriter;
  readonly faults: Faults;
  readonly timeline: Timeline;
  /** Kills this agent; it starts again after the time, if there is one. */
  kill(restartAfterMs: number): void;
  /** What is worth telling, but stops nothing. */
  onFailure(error: Error): void;
}

/** The agent comes to a step: it may be killed right there. */
export async function reach(work: AgentWork, { pod }: Tracked, step: Step): Promise<void> {
  await work.life.pass();
  const { node, timeline, faults } = work;
  timeline.add({ what: 'step', step, node, vm: pod.vmName });
  const kill = faults.take('killAt', placeOf(work, pod), step);
  if (kill !== undefined) work.kill(kill.delayMs);
  await work.life.pass();
}

/** A fault strikes: `delayMs` of it; undefined: it doesn't. */
export function struck(work: AgentWork, { pod }: Tracked, name: FaultName): { readonly delayMs: number } | undefined {
  return work.faults.take(name, placeOf(work, pod));
}

/** Fails when the fault strikes, after its delay. */
export async function mayFail(work: AgentWork, tracked: Tracked, name: FaultName, message: string): Promise<void> {
  const fault = struck(work, tracked, name);
  if (fault === undefined) return;
  await work.life.spend(fault.delayMs);
  throw new Error(message);
}

/** The time that something takes, and what a fault adds. */
export async function spend(work: AgentWork, tracked: Tracked, ms: number, stall?: FaultName): Promise<void> {
  const extra = stall === undefined ? undefined : struck(work, tracked, stall);
  await work.life.spend(ms + (extra?.delayMs ?? 0));
}

export function placeOf({ node }: AgentWork, pod: Tracked['pod']) {
  return { vm: pod.vmName, node, pod: pod.object.metadata.annotations ?? {} };
}
