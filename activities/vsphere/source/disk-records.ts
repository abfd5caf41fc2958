import type { DiskRecord } from '../../../workflows/domain/batch/records.ts';
import type { Fields } from './fields.ts';
import { fieldsOf, isFields, listOf, numberOf, textOf, typeOf } from './fields.ts';

/** A disk among the devices of a VM or of a snapshot. */
export interface DiskDevice {
  readonly key: number;
  /** `[datastore] dir/file.vmdk` of the base disk. */
  readonly name: string;
  readonly capacity: number;
  /** Empty without change tracking. */
  readonly changeId: string;
  readonly shared: boolean;
  readonly supported: boolean;
}

/**
 * The disks among devices (`config.hardware.device`) in the order of their keys: the list itself changes its order with every
 * edit. Keys follow controller and unit number, so that the first one is the root disk.
 */
export function diskDevices(devices: unknown): readonly DiskDevice[] {
  const all = listOf(devices);
  const sharedControllers = new Set(all.filter(sharesItsBus).map((device) => numberOf(device['key'])));
  return all
    .filter((device) => typeOf(device) === 'VirtualDisk')
    .map((device) => toDisk(device, sharedControllers.has(numberOf(device['controllerKey']))))
    .sort((one, other) => one.key - other.key);
}

export function diskRecords(devices: unknown): readonly DiskRecord[] {
  return diskDevices(devices).map(({ name, capacity, shared, supported }) => ({
    name,
    capacity,
    shared,
    supported,
    background_import_verified: false,
  }));
}

function sharesItsBus(device: Fields): boolean {
  const sharing = textOf(device['sharedBus']);
  return sharing === 'virtualSharing' || sharing === 'physicalSharing';
}

function toDisk(device: Fields, isOnSharedBus: boolean): DiskDevice {
  const backing = fieldsOf(device['backing']);
  const base = baseOf(backing);
  const shared = isOnSharedBus || textOf(backing['sharing']) === 'sharingMultiWriter';
  const key = numberOf(device['key']) ?? 0;
  return {
    key,
    name: nameOf(base) ?? nameOf(backing) ?? `disk ${key}`,
    capacity: numberOf(device['capacityInBytes']) ?? (numberOf(device['capacityInKB']) ?? 0) * 1024,
    changeId: textOf(backing['changeId']),
    shared,
    supported: !shared && !isRaw(backing) && !takesNoSnapshots(backing),
  };
}

/** With snapshots the VM's own file is the last of a chain; the base disk stands at its end. */
function baseOf(backing: Fields): Fields {
  const { parent } = backing;
  return isFields(parent) ? baseOf(parent) : backing;
}

function nameOf(backing: Fields): string | undefined {
  const names = [backing['fileName'], backing['descriptorFileName'], backing['deviceName']];
  return names.map(textOf).find((name) => name !== '');
}

/** A physical disk behind it, whole or in part. */
const isRaw = (backing: Fields): boolean => /RawDisk/.test(typeOf(backing));

const takesNoSnapshots = (backing: Fields): boolean => /^independent|nonpersistent$/.test(textOf(backing['diskMode']));
