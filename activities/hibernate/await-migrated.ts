import { Context } from '@temporalio/activity';
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { HibernateWaits } from '../../workflows/contracts/activities.ts';
import type { MigrateMainResult, RequestMigrationResult, SetName } from '../../workflows/contracts/hibernate.ts';
import { migrateMainId } from '../../workflows/contracts/ids.ts';
import { podNameOf } from '../../workflows/domain/hibernate/names.ts';
import { isLive, isReady, type Observation } from '../../workflows/domain/hibernate/observation.ts';
import { whileBeating } from '../heartbeat.ts';
import { untilAnswered } from '../kubernetes/await-change.ts';
import { resources } from '../kubernetes/resources.ts';
import { ifFound } from '../open-workflow.ts';
import type { HibernateDeps } from './deps.ts';
import { observe } from './observe.ts';

/** How often is asked whether a migration that has done its work has also ended. */
const endPauseMs = 200;

/** Waits for what becomes of a request: reads only. */
export function createAwaitMigrated(deps: HibernateDeps): HibernateWaits['awaitMigrated'] {
  return async ({ target, since, ...scope }) => {
    const { namespace, name } = scope;
    const objects = [
      { resource: resources.set, namespace, name },
      { resource: resources.pod, namespace, name: podNameOf(name, 0) },
    ];
    return await whileBeating(
      () => ({ waitingFor: `set ${namespace}/${name} to run on ${target}` }),
      () =>
        untilAnswered<RequestMigrationResult>(deps.cluster, objects, Context.current().cancellationSignal, async () => {
          const outcome = outcomeOf(await observe(deps, scope, false), target, scope.setUid);
          if (outcome === undefined) return { againInMs: deps.settings.reReadMs };
          const last = await lastMigration(deps.temporal, scope, since);
          if (last === 'open' && outcome.outcome !== 'parked') return { againInMs: endPauseMs };
          return { answer: last === 'open' || last === undefined ? outcome : withMigration(outcome, last) };
        }),
    );
  };
}

function outcomeOf(
  { set, pod }: Observation,
  target: string,
  setUid: string | undefined,
): RequestMigrationResult | undefined {
  if (set === undefined || set.deleting || (setUid !== undefined && set.uid !== setUid))
    return { outcome: 'setDeleted', message: 'the set was deleted' };
  if (set.nodeName !== target)
    return {
      outcome: 'changed',
      to: set.nodeName,
      message: `the set now asks for ${set.nodeName === '' ? 'any node' : set.nodeName}`,
    };
  if (set.suspend)
    return { outcome: 'parked', to: target, message: 'the set was suspended; it moves when it is woken' };
  const isUnderWay = set.phase === 'Migrating' || (set.record !== undefined && set.record.stage !== 'cleanup');
  const isThere = pod?.nodeName === target && isLive(pod) && isReady(pod) && !pod.hibernate;
  return isThere && !isUnderWay
    ? { outcome: 'migrated', to: target, message: `the main VM runs on ${target}` }
    : undefined;
}

/** What the newest migration of the set came to, if it isn't older than the request. */
async function lastMigration(
  temporal: Client,
  { namespace, name }: SetName,
  since: string,
): Promise<MigrateMainResult | 'open' | undefined> {
  const handle = temporal.workflow.getHandle(migrateMainId(namespace, name));
  return await ifFound(endOf(handle, since));
}

async function endOf(handle: WorkflowHandle, since: string): Promise<MigrateMainResult | 'open' | undefined> {
  const { status, closeTime } = await handle.describe();
  if (status.name === 'RUNNING') return 'open';
  if (status.name !== 'COMPLETED' || closeTime === undefined || closeTime < new Date(since)) return undefined;
  return (await handle.result()) as MigrateMainResult;
}

function withMigration(outcome: RequestMigrationResult, migration: MigrateMainResult): RequestMigrationResult {
  const isAborted = outcome.outcome === 'changed' && migration.outcome === 'aborted';
  return {
    ...outcome,
    ...(isAborted ? { outcome: 'aborted' as const, message: 'the migration was called off' } : {}),
    ...(migration.from === undefined ? {} : { from: migration.from }),
    migration,
  };
}
