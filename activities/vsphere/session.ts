import type { Agent } from 'node:http';

import { DatastoreFiles } from './datastore-files.ts';
import { createImportSpec, importVApp } from './import.ts';
import { Leases } from './lease.ts';
import type { VSphereLog } from './log.ts';
import type { MoRef, VSphereSession } from './port.ts';
import { RestTags } from './rest-tags.ts';
import { retrieve } from './retrieve.ts';
import type { ServiceContent, SessionCore } from './session-core.ts';
import { Tasks } from './tasks.ts';
import type { UploadServer } from './upload.ts';
import { upload } from './upload.ts';
import { createVmCalls } from './vm-calls.ts';

const serviceInstance: MoRef = { type: 'ServiceInstance', value: 'ServiceInstance' };

/** What a session is put together from. */
export interface SessionParts {
  readonly core: SessionCore;
  readonly content: ServiceContent;
  readonly server: UploadServer;
  /** For REST calls. */
  readonly agent: Agent;
  readonly log: VSphereLog;
}

/** The port's session over one login. */
export function createSession({ core, content, server, agent, log }: SessionParts): VSphereSession {
  const tasks = new Tasks(core, log);
  const leases = new Leases(core, log);
  const tags = new RestTags(core.endpoint, agent);
  const files = new DatastoreFiles(core, server);
  const { searchIndex } = content;

  return {
    about: content.about,
    rootFolder: content.rootFolder,
    currentTime: async (options) => (await core.call('CurrentTime', { _this: serviceInstance }, options)) as string,
    findByInventoryPath: async (inventoryPath, options) =>
      (await core.call('FindByInventoryPath', { _this: searchIndex, inventoryPath }, options)) as MoRef | undefined,
    findChild: async (entity, name, options) =>
      (await core.call('FindChild', { _this: searchIndex, entity, name }, options)) as MoRef | undefined,
    retrieve: (refs, paths, options) => retrieve(core, refs, paths, options),

    createImportSpec: (params, options) => createImportSpec(core, params, options),
    importVApp: (pool, xml, edits, folder, host, options) =>
      importVApp(core, { pool, folder, host }, xml, edits, options),
    waitForLease: (lease, options) => leases.waitUntilReady(lease, options),
    leaseProgress: (lease, percent, options) => leases.progress(lease, percent, options),
    leaseComplete: (lease, options) => leases.complete(lease, options),
    leaseAbort: (lease, options) => leases.abort(lease, options),
    leaseManifest: (lease, options) => leases.manifest(lease, options),
    upload: (device, options) => upload(server, device, options),

    startRename: (ref, newName, options) => tasks.rename(ref, newName, options),
    startDestroy: (ref, options) => tasks.destroy(ref, options),
    startReconfigure: (vm, change, options) => tasks.reconfigure(vm, change, options),
    waitForTask: (task, options) => tasks.wait(task, options),
    markAsTemplate: async (vm, options) => {
      await core.call('MarkAsTemplate', { _this: vm }, options);
    },
    markAsVirtualMachine: async (vm, pool, host, options) => {
      await core.call('MarkAsVirtualMachine', { _this: vm, pool, host }, options);
    },

    listTags: (options) => tags.list(options),
    attachedTags: (ref, options) => tags.attached(ref, options),
    attachTag: (tagId, ref, options) => tags.attach(tagId, ref, options),
    vms: createVmCalls({ core, content, server, tasks, tags, files, log }),

    close: async () => {
      await Promise.allSettled([tags.close(), core.close()]);
      files.close();
      agent.destroy();
    },
  };
}
