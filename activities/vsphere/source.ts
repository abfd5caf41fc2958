import type { VCenterEndpoint, VSphere, VSphereSession } from './port.ts';
import type { Source, SourceCallOptions } from './source-port.ts';
import { changedAreas } from './source/changed-areas.ts';
import { DatastoreAccess } from './source/datastore-access.ts';
import { flatFileOf, parseDatastorePath } from './source/datastore-path.ts';
import { fetchVm } from './source/fetch-vm.ts';
import { readInventory } from './source/inventory.ts';
import { openDisk } from './source/open-disk.ts';
import { powerOff, powerOn, readPower } from './source/power.ts';
import { readDisks } from './source/snapshot-disks.ts';
import { createSnapshot, listSnapshots, removeSnapshots } from './source/snapshots.ts';
import type { SourceDeps, SourceSettings } from './source/source-deps.ts';
import { memoryOf } from './source/source-memory.ts';
import { ticking } from './source/ticking.ts';
import { verifyTracking } from './source/verify-tracking.ts';
import { idOf, refOf } from './source/vm-ref.ts';

/** One vCenter as a source of migrations. Cheap to make: what is remembered of a vCenter stays with its client. */
export function createSource(vsphere: VSphere, endpoint: VCenterEndpoint, settings: SourceSettings = {}): Source {
  const deps: SourceDeps = {
    name: endpoint.name,
    settings,
    memory: memoryOf(vsphere, endpoint.name),
    withSession: (work) => vsphere.withSession(endpoint, work),
    openSession: () => vsphere.open(endpoint),
  };
  const files = new DatastoreAccess(deps);

  const onSession = <T>(
    options: SourceCallOptions | undefined,
    work: (session: VSphereSession, options: SourceCallOptions) => Promise<T>,
  ): Promise<T> => ticking(options ?? {}, () => deps.withSession((session) => work(session, options ?? {})));

  return {
    inventory: (options = {}) => readInventory(deps, options),
    fetch: (vm, options) => onSession(options, (session, given) => fetchVm(deps, session, refOf(vm), given)),

    power: (vm, options) => onSession(options, (session, given) => readPower(session, refOf(vm), given)),
    powerOff: (vm, options) => onSession(options, (session) => powerOff(session, refOf(vm), options)),
    powerOn: (vm, options) => onSession(options, (session, given) => powerOn(session, refOf(vm), given)),

    createSnapshot: async (vm, name, options) => {
      const made = await onSession(options, (session, given) => createSnapshot(session, refOf(vm), name, given));
      return { snapshot: idOf(made) };
    },
    removeSnapshots: (vm, prefix, options) =>
      onSession(options, (session, given) => removeSnapshots(session, refOf(vm), prefix, given)),
    snapshots: async (vm, options) => {
      const found = await onSession(options, (session, given) => listSnapshots(session, refOf(vm), given));
      return found.map(({ name, ref }) => ({ name, ref: idOf(ref) }));
    },

    snapshotDisks: async (vm, snapshot, options) => {
      const holder = refOf(snapshot ?? vm);
      const disks = await onSession(options, (session, given) => readDisks(session, holder, given));
      return disks.map(({ name, capacity, key, changeId }) => ({ name, capacity, key, changeId }));
    },
    openDisk: (vm, snapshot, disk, options = {}) =>
      ticking(options, () => openDisk(deps, files, { vm: refOf(vm), snapshot: refOf(snapshot), disk }, options)),
    changedAreas: (vm, snapshot, disk, since, options) => {
      const query = { vm: refOf(vm), snapshot: snapshot === undefined ? undefined : refOf(snapshot), disk, since };
      return onSession(options, (session, given) => changedAreas(session, query, given));
    },
    readRange: async (disk, start, length, options = {}) => {
      const { datastore, path } = parseDatastorePath(disk.name);
      const file = {
        datastore,
        path: flatFileOf(path),
        disk: path,
        vm: disk.vm === undefined ? undefined : refOf(disk.vm),
      };
      return await ticking(options, () => files.read(file, start, length, options));
    },
    verifyBackgroundImport: (disks, options = {}) => ticking(options, () => verifyTracking(files, disks, options)),
  };
}
