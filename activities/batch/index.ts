import type {
  BatchActivities,
  CopyPassActivities,
  CopyTransferActivities,
  EntryActivities,
  OrphanActivities,
  SlotsActivities,
  SourceActivities,
} from '../../workflows/contracts/batch-activities.ts';
import { createAskSlots, createOverOf } from './ask-slots.ts';
import { createAssess } from './assess-entry.ts';
import { createCheckBatch } from './check-batch.ts';
import { createCopyDisk } from './copy-disk.ts';
import { createCopyPass } from './copy-pass.ts';
import { createSelectMembers } from './define-batch.ts';
import type { BatchDeps } from './deps.ts';
import { createEndEntries } from './end-entries.ts';
import { createEntrySettings } from './entry-settings.ts';
import { createEntrySource } from './entry-source.ts';
import { createEntryTarget } from './entry-target.ts';
import { createFinalCheck } from './final-check.ts';
import { createStartEntries } from './start-entries.ts';
import { createOrphans } from './orphans.ts';
import { createSyncDueSources } from './sync-due-sources.ts';
import { createSyncSource } from './sync-source.ts';
import { createClosedEntries, createGrantCommits, createTellEntries } from './tell-entries.ts';
import { createVerifyDisk } from './verify-disk.ts';

/** Short activities of batches, their entries, copies, sources and slots: for the control queue. */
export function createBatchActivities(
  deps: BatchDeps,
): BatchActivities & EntryActivities & CopyPassActivities & SourceActivities & OrphanActivities & SlotsActivities {
  return {
    checkBatch: createCheckBatch(deps),
    selectMembers: createSelectMembers(deps),
    startEntries: createStartEntries(deps),
    tellEntries: createTellEntries(deps),
    grantCommits: createGrantCommits(deps),
    endEntries: createEndEntries(deps),
    closedEntries: createClosedEntries(deps),
    ...createAssess(deps),
    ...createEntryTarget(deps),
    ...createEntrySource(deps),
    ...createFinalCheck(deps),
    askSlots: createAskSlots(deps),
    entrySettings: createEntrySettings(deps),
    ...createCopyPass(deps),
    ...createSyncSource(deps),
    syncDueSources: createSyncDueSources(deps),
    ...createOrphans(deps),
    overOf: createOverOf(deps),
  };
}

/** Copies of disks: for the transfer queue. */
export function createBatchTransfers(deps: BatchDeps): CopyTransferActivities {
  return { copyDisk: createCopyDisk(deps), verifyDisk: createVerifyDisk(deps) };
}
