import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { setStatus, type Move, type Step, type World } from './moves.ts';
import { instanceStatus, migrationStatus, type Condition, type MigrationStatus } from './objects.ts';
import type { MigrationPhase } from './switches.ts';
import type { SimNode } from './types.ts';

/** Progress is shown in tenths of the whole time, no more often than this: each step is a write. */
const shortestStepMs = 200;

export function isOver(migration: KubeObject): boolean {
  const { phase } = migrationStatus(migration);
  return phase === 'Succeeded' || phase === 'Failed';
}

/** The migration goes into its next phase. `Scheduled` is where a target is chosen, `Running` where memory is copied. */
export function entered(world: World, migration: KubeObject, phase: MigrationPhase): Step | undefined {
  const { migrationState } = migrationStatus(migration);
  const chosen = phase === 'Scheduled' ? placement(world, migration) : {};
  const started = phase === 'Running' ? { startTimestamp: world.now, progress: 0 } : {};
  const status: MigrationStatus = {
    phase,
    migrationState: { ...migrationState, ...chosen, ...started },
    conditions: troublesOf(world, migration, false),
  };
  return setStatus('migration', migration, status, `it enters ${phase}`);
}

/** The migration stays where it is: only what is shown of it may change. Undefined: it is shown so already. */
export function stayed(world: World, migration: KubeObject, hasNoNode = false): Step | undefined {
  const { phase = 'Pending', migrationState } = migrationStatus(migration);
  const progress = phase === 'Running' ? { progress: copied(world, migration) } : {};
  const status: MigrationStatus = {
    phase,
    migrationState: { ...migrationState, ...progress },
    conditions: troublesOf(world, migration, hasNoNode),
  };
  return setStatus('migration', migration, status, `it stays in ${phase}`);
}

export function abortRequested(migration: KubeObject): Step | undefined {
  const status = migrationStatus(migration);
  const migrationState = { ...status.migrationState, abortRequested: true };
  return setStatus('migration', migration, { phase: 'Pending', ...status, migrationState }, 'its deletion is an abort');
}

/** Without a failure it succeeded. */
export function ended(world: World, migration: KubeObject, failure?: string, isAbort = false): Step | undefined {
  const { migrationState } = migrationStatus(migration);
  const status: MigrationStatus = {
    phase: failure === undefined ? 'Succeeded' : 'Failed',
    migrationState: {
      ...migrationState,
      endTimestamp: world.now,
      ...(failure === undefined ? { progress: 100 } : { failureReason: failure }),
      ...(isAbort ? { abortRequested: true } : {}),
    },
  };
  return setStatus('migration', migration, status, failure ?? 'the instance has moved');
}

/** When progress is to be looked at again. */
export function progressLook({ behaviour }: World, phase: string): Move {
  const totalMs = behaviour.delays.migration.Running ?? 0;
  if (phase !== 'Running' || totalMs === 0 || behaviour.value('migrationProgress') !== undefined) return undefined;
  return { afterMs: stepMs(totalMs) };
}

const stepMs = (totalMs: number): number => Math.max(totalMs / 10, shortestStepMs);

/** Percent of the memory. Before the end never all of it. */
function copied(world: World, { metadata }: KubeObject): number {
  const fixed = world.behaviour.value('migrationProgress');
  if (fixed !== undefined) return Number(fixed);
  const totalMs = world.behaviour.delays.migration.Running ?? 0;
  if (totalMs === 0) return 0;
  const steps = Math.floor(world.elapsed(phaseClock('Running', metadata.uid)) / stepMs(totalMs));
  return Math.min(90, Math.round((steps * stepMs(totalMs) * 100) / totalMs));
}

/** Runs while a migration is in the phase. */
export function phaseClock(phase: string, uid: string): string {
  return `${phase} ${uid}`;
}

/** What goes wrong without ending it: conditions with status False, kept while they are the same. */
function troublesOf({ behaviour, now }: World, migration: KubeObject, hasNoNode: boolean): readonly Condition[] {
  const wanted = hasNoNode ? 'TargetScheduled' : behaviour.value('migrationTrouble');
  if (wanted === undefined) return [];
  const before = migrationStatus(migration).conditions?.find(({ type }) => type === wanted);
  const message = wanted === 'TargetScheduled' ? 'no node takes the target' : `${wanted} is not so`;
  return [before ?? { type: wanted, status: 'False', reason: 'Trouble', message, lastTransitionTime: now }];
}

function placement(world: World, migration: KubeObject): NonNullable<MigrationStatus['migrationState']> {
  const source = world.instance === undefined ? undefined : instanceStatus(world.instance).nodeName;
  const target = targetOf(world, migration)?.name ?? '';
  const targetPod = `virt-launcher-${world.name}-${migration.metadata.uid.slice(0, 5)}`;
  return { sourceNode: source ?? '', targetNode: target, targetPod };
}

/** Another node than the instance's, one that the selector of the migration takes. */
export function targetOf({ instance, nodes }: World, { spec }: KubeObject): SimNode | undefined {
  const selector = Object.entries((spec?.['addedNodeSelector'] as Record<string, string> | undefined) ?? {});
  const source = instance === undefined ? undefined : instanceStatus(instance).nodeName;
  return nodes.find(({ name, labels }) => {
    const all: Readonly<Record<string, string>> = { ...labels, 'kubernetes.io/hostname': name };
    return name !== source && selector.every(([key, value]) => all[key] === value);
  });
}
