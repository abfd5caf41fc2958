import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import {
  abortRequested,
  ended,
  entered,
  isOver,
  phaseClock,
  progressLook,
  stayed,
  targetOf,
} from './migration-status.ts';
import { after, firstOf, setFinalizer, type Move, type Rule, type World } from './moves.ts';
import { finalizers, hasFinalizer, isDeleting, isRunning, migrationStatus } from './objects.ts';
import { migrationPhases, type MigrationPhase } from './switches.ts';
import { beginTransfer, endTransfer, transferResult } from './transfer.ts';

/** Migrations of an instance: one after the other, each through its phases; a deleted one is aborted. Whose they are is no matter. */
export const migrations: Rule = (world) => {
  const current = world.migrations.find((migration) => !isOver(migration));
  return firstOf(world.migrations.map((migration) => moveOf(world, migration, migration === current)));
};

function moveOf(world: World, migration: KubeObject, isCurrent: boolean): Move {
  const isHeld = hasFinalizer(migration, finalizers.migration);
  const hold = (wanted: boolean, why: string): Move =>
    setFinalizer('migration', migration, finalizers.migration, wanted, why);
  if (isOver(migration)) return isHeld ? hold(false, 'it is over') : undefined;
  if (isDeleting(migration)) return isHeld ? abort(world, migration) : undefined;
  if (!isHeld) return hold(true, 'a deleted one has to be aborted first');
  const { instance } = world;
  if (instance === undefined || isDeleting(instance) || !isRunning(instance))
    return end(world, migration, 'the instance does not run');
  return isCurrent ? advance(world, migration, instance) : stayed(world, migration);
}

/** Until the target is scheduled there is nothing to undo. */
function abort(world: World, migration: KubeObject): Move {
  const { behaviour, instance } = world;
  if (instance !== undefined && transferResult(instance, migration) === 'succeeded') return end(world, migration);
  const { phase = 'Pending' } = migrationStatus(migration);
  const isEarly = phase === 'Pending' || phase === 'Scheduling';
  const delayMs = behaviour.is('stuckAbort') ? Infinity : isEarly ? 0 : behaviour.delays.abortDelay;
  const clock = `abort ${migration.metadata.uid}`;
  const move = after(world, clock, delayMs, () => end(world, migration, 'it was aborted', true));
  return move !== undefined && 'verb' in move ? move : (abortRequested(migration) ?? move);
}

/** The instance first: the migration is over when nothing moves any more. Without a failure it succeeded. */
function end(world: World, migration: KubeObject, failure?: string, isAbort = false): Move {
  return endTransfer(world, migration, failure === undefined) ?? ended(world, migration, failure, isAbort);
}

function advance(world: World, migration: KubeObject, instance: KubeObject): Move {
  const phase = migrationStatus(migration).phase as MigrationPhase | undefined;
  if (phase === undefined) return stayed(world, migration);
  const result = transferResult(instance, migration);
  if (result !== undefined) return end(world, migration, result === 'failed' ? 'the transfer failed' : undefined);
  if (phase === 'Running') {
    const begun = beginTransfer(world, migration);
    if (begun !== undefined) return begun;
  }
  const hasNoNode = phase === 'Scheduling' && targetOf(world, migration) === undefined;
  const clock = phaseClock(phase, migration.metadata.uid);
  const move = after(world, clock, delayIn(world, phase, hasNoNode), () => leave(world, migration, phase));
  if (move !== undefined && 'verb' in move) return move;
  return stayed(world, migration, hasNoNode) ?? firstOf([move, progressLook(world, phase)]);
}

function delayIn({ behaviour }: World, phase: MigrationPhase, hasNoNode: boolean): number {
  if (hasNoNode || behaviour.value('migrationStuckAt') === phase) return Infinity;
  return behaviour.delays.migration[phase] ?? 0;
}

function leave(world: World, migration: KubeObject, phase: MigrationPhase): Move {
  if (world.behaviour.value('migrationFailsAt') === phase) return end(world, migration, `it failed in phase ${phase}`);
  const next = migrationPhases[migrationPhases.indexOf(phase) + 1];
  return next === undefined || next === 'Succeeded' ? end(world, migration) : entered(world, migration, next);
}
