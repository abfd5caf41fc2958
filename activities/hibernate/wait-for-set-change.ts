import { Context } from '@temporalio/activity';
import type { HibernateWaits } from '../../workflows/contracts/activities.ts';
import { migrateMainId } from '../../workflows/contracts/ids.ts';
import { podNameOf } from '../../workflows/domain/hibernate/names.ts';
import { setFingerprint } from '../../workflows/domain/hibernate/fingerprint.ts';
import { whileBeating } from '../heartbeat.ts';
import { untilAnswered } from '../kubernetes/await-change.ts';
import { resources } from '../kubernetes/resources.ts';
import { isOpen } from '../open-workflow.ts';
import { showSet, stepOf } from './change-set.ts';
import { seen, type HibernateDeps } from './deps.ts';
import { isControlledBy } from './facts.ts';
import { outcomeOf } from './guarded.ts';
import { lookAtSet } from './look-at-set.ts';

/** Shows where a set stands, then waits until what its turns look at is something else, or its open migration has ended. */
export function createWaitForSetChange(deps: HibernateDeps): HibernateWaits['waitForSetChange'] {
  return async ({ fingerprint, until, ...turn }) => {
    const { settings, cluster, temporal } = deps;
    const { namespace, name } = turn.scope;
    const end = Math.min(Date.now() + settings.waitCeilingMs, until === undefined ? Infinity : Date.parse(until));
    const objects = [
      { resource: resources.set, namespace, name },
      { resource: resources.pod, namespace },
      { resource: resources.hibernation, namespace },
    ];
    let isShown = false;
    let isMigrationOpen = false;
    let before = '';
    let lookedAt = 0;
    let pauseMs = settings.reReadMs;

    /** Versions of all that may matter, as the watches know them. */
    const cached = (isOpenThen = isMigrationOpen): string => {
      const set = cluster.watch(resources.set).get(namespace, name);
      const pods = cluster.watch(resources.pod).items();
      const main = podNameOf(name, 0);
      const ours = pods.filter(
        (pod) =>
          set !== undefined && isControlledBy(pod, set.metadata.uid) && !(isOpenThen && pod.metadata.name === main),
      );
      const others = cluster.watch(resources.hibernation).items();
      const near = others.filter((one) => one.metadata.namespace === namespace);
      const { uid, generation, deletionTimestamp, resourceVersion } = set?.metadata ?? {};
      const own = isOpenThen ? `${uid} ${generation} ${deletionTimestamp}` : `${uid} ${resourceVersion}`;
      return [own, ...[...ours, ...near].map(({ metadata }) => metadata.resourceVersion)].join(' ');
    };

    return await whileBeating(
      () => ({ waitingFor: `a change of set ${namespace}/${name}` }),
      () =>
        untilAnswered(cluster, objects, Context.current().cancellationSignal, async () => {
          const now = Date.now();
          const isDue = now >= lookedAt + pauseMs || now >= end || cached() !== before;
          if (!isDue) return { againInMs: Math.max(1, Math.min(lookedAt + pauseMs, end) - now) };
          // While a migration owns the main VM only its end matters, and that is no object of the cluster.
          if (
            isMigrationOpen &&
            now < end &&
            cached() === before &&
            (await isOpen(temporal, migrateMainId(namespace, name)))
          ) {
            lookedAt = Date.now();
            return { againInMs: Math.max(1, Math.min(pauseMs, end - lookedAt)) };
          }
          // Taken before the look: what changes while it lasts is looked at again.
          const known = { open: cached(true), closed: cached(false) };
          const sight = await lookAtSet(deps, turn);
          const { look } = sight;
          isMigrationOpen = look.isMigrationOpen;
          before = isMigrationOpen ? known.open : known.closed;
          if (setFingerprint(look) !== fingerprint || end <= Date.now()) return { answer: seen(deps, look) };
          lookedAt = Date.now();
          // What no watch tells is asked more often.
          const isUnwatched = isMigrationOpen || look.main.tag.state === 'unknown';
          pauseMs = isUnwatched ? settings.pollFloorMs : settings.reReadMs;
          const { setObject } = sight;
          if (!isShown && setObject !== undefined)
            await outcomeOf(async () => {
              await showSet(deps, { ...sight, setObject }, stepOf(deps, sight, turn));
              return 'done';
            });
          isShown = true;
          return { againInMs: Math.max(1, Math.min(pauseMs, end - Date.now())) };
        }),
    );
  };
}
