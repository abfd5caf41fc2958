import type {
  CocoonSetActivities,
  DrainActivities,
  HibernateWaits,
  HibernationActivities,
  MigrationActivities,
} from '../../workflows/contracts/activities.ts';
import { beating } from '../heartbeat.ts';
import { createAwaitMigrated } from './await-migrated.ts';
import { createChangeSet, createReportSet } from './change-set.ts';
import { seen, type HibernateDeps } from './deps.ts';
import { createBeginDrain, createCordon, createLookAtDrain } from './drain.ts';
import { createCallGate, createListMigrations } from './gate.ts';
import { createChangeHibernation, createLookAtHibernation, createWaitForHibernationChange } from './hibernations.ts';
import { createLookAtSet } from './look-at-set.ts';
import { observationOf, observe } from './observe.ts';
import { createPlanMigration } from './plan-migration.ts';
import { createReportMigration } from './report-migration.ts';
import { createSetTarget } from './set-target.ts';
import { createTurn } from './turn.ts';
import { createWaitForChange } from './wait-for-change.ts';
import { createWaitForSetChange } from './wait-for-set-change.ts';

export type HibernateActivities = MigrationActivities & CocoonSetActivities & HibernationActivities & DrainActivities;

/** The activities of sets of VMs, the migrations of their main VMs, hibernations and drains. */
export function createHibernateActivities(deps: HibernateDeps): HibernateActivities {
  return beating<HibernateActivities>({
    observeSet: async ({ probe, ...scope }) => seen(deps, observationOf(await observe(deps, scope, probe))),
    stampPod: createTurn(deps, ['stampPod']),
    keepRecord: createTurn(deps, ['writeRecord', 'setPhase']),
    setHibernate: createTurn(deps, ['setHibernate']),
    clearHibernate: createTurn(deps, ['clearHibernate']),
    deletePod: createTurn(deps, ['deletePod']),
    createMainPod: createTurn(deps, ['createPod']),
    dropTag: createTurn(deps, ['dropTag']),
    reportMigration: createReportMigration(deps),
    setTarget: createSetTarget(deps),
    callGate: createCallGate(deps),
    listMigrations: createListMigrations(deps),
    planMigration: createPlanMigration(deps),
    lookAtSet: createLookAtSet(deps),
    changeSet: createChangeSet(deps),
    reportSet: createReportSet(deps),
    lookAtHibernation: createLookAtHibernation(deps),
    changeHibernation: createChangeHibernation(deps),
    beginDrain: createBeginDrain(deps),
    lookAtDrain: createLookAtDrain(deps),
    cordon: createCordon(deps),
  });
}

/** Those that wait. */
export function createHibernateWaits(deps: HibernateDeps): HibernateWaits {
  return {
    waitForChange: createWaitForChange(deps),
    waitForSetChange: createWaitForSetChange(deps),
    waitForHibernationChange: createWaitForHibernationChange(deps),
    awaitMigrated: createAwaitMigrated(deps),
  };
}
