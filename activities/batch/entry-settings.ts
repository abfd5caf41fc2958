import type { EntryActivities } from '../../workflows/contracts/batch-activities.ts';
import type { EntrySettings } from '../../workflows/contracts/batch.ts';
import type { BatchSpec } from '../../workflows/domain/batch/records.ts';
import type { Config } from '../config.ts';
import type { BatchDeps } from './deps.ts';

export function createEntrySettings({ config, specs }: BatchDeps): EntryActivities['entrySettings'] {
  return async (batch) => settingsOf((await specs.of(batch, true)).spec, config);
}

/** What a migration decides by: partly its batch's, partly the workers' configuration. */
export function settingsOf({ config: wanted, migration_windows }: BatchSpec, { file }: Config): EntrySettings {
  const { tickMs, shutdownGraceMs, finalizePauseMs, archiveAfterMs } = file.batches;
  return {
    tickMs,
    intervalMs: wanted.background_sync_interval,
    finalLimitMs: wanted.final_background_sync_limit,
    createRetries: wanted.create_retries,
    finalizeRetries: wanted.post_migration_retries,
    finalizePauseMs,
    windowEndInConflict: wanted.window_end_in_conflict,
    staleSource: wanted.stale_source,
    shutdownGraceMs,
    archiveAfterMs,
    windows: migration_windows,
    syncLimit: wanted.sync_limit,
    ...(wanted.without_change_tracking === 'compare' ? { comparesAll: true } : {}),
  };
}
