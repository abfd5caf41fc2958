import type { WorkflowHandle } from '@temporalio/client';
import type { BatchActivities } from '../../workflows/contracts/batch-activities.ts';
import type { CommitGranted, SettingsChanged } from '../../workflows/contracts/batch.ts';
import { migrationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { ifFound, isOpen } from '../open-workflow.ts';
import type { BatchDeps } from './deps.ts';
import { forEach, viewOf } from './entries.ts';
import { settingsOf } from './entry-settings.ts';

export function createTellEntries({ temporal, specs, config }: BatchDeps): BatchActivities['tellEntries'] {
  return async ({ batch, uuids, message }) => {
    const entry = (uuid: string): WorkflowHandle => temporal.workflow.getHandle(migrationId(uuid));
    if (message !== 'settings') {
      await forEach(uuids, async (uuid) => await ifFound(entry(uuid).signal(messages[message])));
      return;
    }
    const change: SettingsChanged = { settings: settingsOf((await specs.of(batch, true)).spec, config) };
    await forEach(
      uuids,
      async (uuid) => await ifFound(entry(uuid).signal<[SettingsChanged]>(messages.settingsChanged, change)),
    );
  };
}

export function createGrantCommits({ temporal }: BatchDeps): BatchActivities['grantCommits'] {
  return async ({ grants }) => {
    const gone = await forEach(grants, async ({ uuid, ...grant }) => {
      const told = temporal.workflow
        .getHandle(migrationId(uuid))
        .signal<[CommitGranted]>(messages.commitGranted, grant);
      const heard = await ifFound(told.then(() => true));
      return heard === true ? [] : [uuid];
    });
    return gone.flat();
  };
}

/** Of another batch than this one: not its entry any more. */
export function createClosedEntries({ temporal }: BatchDeps): BatchActivities['closedEntries'] {
  return async ({ batch, uuids }) => {
    const closed = await forEach(uuids, async (uuid) => {
      const view = (await isOpen(temporal, migrationId(uuid))) ? await viewOf(temporal, uuid) : undefined;
      // One that has given its place back, and whose word was lost, holds it no longer.
      return view?.batch === batch && view.holdsPlace ? [] : [uuid];
    });
    return closed.flat();
  };
}
