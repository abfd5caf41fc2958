import { WorkflowNotFoundError } from '@temporalio/client';
import pLimit from 'p-limit';
import type { BatchActivities } from '../../workflows/contracts/batch-activities.ts';
import type { MigrationView, SettingsChanged } from '../../workflows/contracts/batch.ts';
import { migrationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { whileBeating } from '../heartbeat.ts';
import { isOpen } from '../open-workflow.ts';
import type { BatchDeps } from './deps.ts';
import { settingsOf } from './entry-settings.ts';

/** Calls to Temporal at once. */
const atOnce = 10;

export function createTellEntries({ temporal, specs, config }: BatchDeps): BatchActivities['tellEntries'] {
  return async ({ batch, uuids, message }) => {
    const change: SettingsChanged = { settings: settingsOf((await specs.of(batch, true)).spec, config) };
    const limit = pLimit(atOnce);
    const tell = async (uuid: string): Promise<void> => {
      const handle = temporal.workflow.getHandle(migrationId(uuid));
      try {
        if (message === 'settings') await handle.signal<[SettingsChanged]>(messages.settingsChanged, change);
        else await handle.signal(messages[message]);
      } catch (err) {
        if (!(err instanceof WorkflowNotFoundError)) throw err;
      }
    };
    await whileBeating(
      () => ({}),
      () => Promise.all(uuids.map((uuid) => limit(() => tell(uuid)))),
    );
  };
}

/** Of another batch than this one: not its entry any more. */
export function createClosedEntries({ temporal }: BatchDeps): BatchActivities['closedEntries'] {
  return async ({ batch, uuids }) => {
    const limit = pLimit(atOnce);
    const isClosed = async (uuid: string): Promise<readonly string[]> => {
      const id = migrationId(uuid);
      if (!(await isOpen(temporal, id))) return [uuid];
      const { batch: owner, holdsPlace } = await temporal.workflow.getHandle(id).query<MigrationView>(messages.status);
      // One that has given its place back, and whose word was lost, holds it no longer.
      return owner !== batch || !holdsPlace ? [uuid] : [];
    };
    const closed = await whileBeating(
      () => ({}),
      () => Promise.all(uuids.map((uuid) => limit(() => isClosed(uuid)))),
    );
    return closed.flat();
  };
}
