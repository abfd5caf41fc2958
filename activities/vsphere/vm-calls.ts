import type { DatastoreFiles } from './datastore-files.ts';
import { deadline } from './deadline.ts';
import { downloadExport } from './export-download.ts';
import type { VSphereLog } from './log.ts';
import type { CallOptions, MoRef } from './port.ts';
import type { RestTags } from './rest-tags.ts';
import { retrieve } from './retrieve.ts';
import type { ServiceContent, SessionCore } from './session-core.ts';
import { isFault, messageOf, protocolError } from './session-core.ts';
import type { Tasks } from './tasks.ts';
import type { UploadServer } from './upload.ts';
import type { DiskAreas, DiskAreasQuery, PowerState, VmCalls } from './vm-port.ts';
import { waitForProperties } from './wait.ts';

export interface VmCallsParts {
  readonly core: SessionCore;
  readonly content: ServiceContent;
  readonly server: UploadServer;
  readonly tasks: Tasks;
  readonly tags: RestTags;
  readonly files: DatastoreFiles;
  readonly log: VSphereLog;
}

export function createVmCalls(parts: VmCallsParts): VmCalls {
  const { core, content, server, tasks, tags, files, log } = parts;
  return {
    list: (container, types, options) => list(parts, container, types, options),
    findByInstanceUuid: async (uuid, options) => {
      const args = { _this: content.searchIndex, uuid, vmSearch: true, instanceUuid: true };
      return (await core.call('FindByUuid', args, options)) as MoRef | undefined;
    },
    tagIds: (refs, options) => tags.attachedToAll(refs, options),

    startPowerOn: (vm, options) => tasks.start('PowerOnVM_Task', { _this: vm }, options),
    startPowerOff: (vm, options) => tasks.start('PowerOffVM_Task', { _this: vm }, options),
    shutdownGuest: async (vm, options) => {
      await core.call('ShutdownGuest', { _this: vm }, options);
    },
    waitForPower: (vm, state, timeoutMs, options) => waitForPower(core, log, vm, state, timeoutMs, options),

    startCreateSnapshot: (vm, name, options) => {
      const args = { _this: vm, name, description: '', memory: false, quiesce: false };
      return tasks.start('CreateSnapshot_Task', args, options);
    },
    startRemoveSnapshot: (snapshot, options) => {
      const args = { _this: snapshot, removeChildren: false, consolidate: true };
      return tasks.start('RemoveSnapshot_Task', args, options);
    },
    startConsolidate: (vm, options) => tasks.start('ConsolidateVMDisks_Task', { _this: vm }, options),

    exportSnapshot: async (snapshot, options) =>
      (await core.call('ExportSnapshot', { _this: snapshot }, options)) as MoRef,
    downloadExport: (device, options) => downloadExport(server, device, options),
    changedDiskAreas: (vm, query, options) => changedDiskAreas(core, vm, query, options),
    fileSize: (file, options) => files.size(file, options),
    readFile: (file, start, length, options) => files.read(file, start, length, options),
  };
}

/** A view dies with its session: after a new login there has to be a new one. */
async function list(
  parts: VmCallsParts,
  container: MoRef,
  types: readonly string[],
  options?: CallOptions,
): Promise<readonly MoRef[]> {
  try {
    return await listOnce(parts, container, types, options);
  } catch (error) {
    if (!isFault(error, 'NotAuthenticated')) throw error;
    return await listOnce(parts, container, types, options);
  }
}

/** By a view of the server's that is given back; the references only, so that no object's own lock can hold it up. */
async function listOnce(
  { core, content, log }: VmCallsParts,
  container: MoRef,
  types: readonly string[],
  options?: CallOptions,
): Promise<readonly MoRef[]> {
  const { viewManager } = content;
  if (viewManager === undefined) throw protocolError(core.endpoint, 'CreateContainerView', 'it has no view manager');
  const args = { _this: viewManager, container, type: types, recursive: true };
  const view = (await core.call('CreateContainerView', args, options)) as MoRef;
  try {
    const [found] = await retrieve(core, [view], ['view'], { ...options, onDeadSession: 'fail' });
    return (found?.props.get('view') ?? []) as readonly MoRef[];
  } finally {
    await core.call('DestroyView', { _this: view }, { onDeadSession: 'fail' }).catch((error: unknown) => {
      log.debug({ vcenter: core.endpoint.name, error: messageOf(error) }, 'view not destroyed');
    });
  }
}

const powerPath = 'runtime.powerState';

async function waitForPower(
  core: SessionCore,
  log: VSphereLog,
  vm: MoRef,
  state: PowerState,
  timeoutMs: number,
  { signal }: CallOptions = {},
): Promise<boolean> {
  const limit = deadline(timeoutMs, signal);
  const isDone = (props: ReadonlyMap<string, unknown>): boolean => props.get(powerPath) === state;
  try {
    await waitForProperties(core, { ref: vm, paths: [powerPath], isDone }, { signal: limit.signal }, log);
    return true;
  } catch (error) {
    if (!limit.expired() || signal?.aborted === true) throw error;
    return false;
  } finally {
    limit.dispose();
  }
}

async function changedDiskAreas(
  core: SessionCore,
  vm: MoRef,
  { snapshot, deviceKey, startOffset, changeId }: DiskAreasQuery,
  options?: CallOptions,
): Promise<DiskAreas> {
  const args = { _this: vm, snapshot, deviceKey, startOffset, changeId };
  const answer = (await core.call('QueryChangedDiskAreas', args, options)) as {
    readonly startOffset: number;
    readonly length: number;
    readonly changedArea: DiskAreas['areas'];
  };
  const areas = answer.changedArea.map(({ start, length }) => ({ start, length }));
  return { startOffset: answer.startOffset, length: answer.length, areas };
}
