import { VSphereError } from '../faults.ts';
import type { LeaseDeviceUrl } from '../port.ts';
import type { Fields } from './fields.ts';
import { listOf, numberOf, typeOf } from './fields.ts';

/**
 * Which file of an export lease is the disk with this key. Servers name controller, bus and unit in the file's key
 * (`/vm-12/ParaVirtualSCSIController0:1`); where the name tells nothing, files and disks are in the same order.
 */
export function exportedDisk(devices: unknown, key: number, urls: readonly LeaseDeviceUrl[]): LeaseDeviceUrl {
  const all = listOf(devices);
  const disks = all.filter((device) => typeOf(device) === 'VirtualDisk');
  const files = urls.filter(({ isDisk }) => isDisk);
  const index = disks.findIndex((disk) => numberOf(disk['key']) === key);
  const disk = disks[index];
  if (disk === undefined) throw unmapped(key, 'the snapshot has no such disk');
  const places = files.map((file) => placeOf(file, all));
  const byPlace = places.findIndex((place) => place !== undefined && isAt(disk, place));
  const file = files[byPlace];
  if (file === undefined && places.some((place) => place !== undefined))
    throw unmapped(key, 'none of its files is this disk');
  if (files.length !== disks.length) throw unmapped(key, `it has ${files.length} files for ${disks.length} disks`);
  const found = file ?? files[index];
  if (found === undefined || files.filter(({ url }) => url === found.url).length > 1)
    throw unmapped(key, 'several disks have the same file');
  return found;
}

interface Place {
  readonly controllerKey: number | undefined;
  readonly unit: number;
}

function placeOf({ key }: LeaseDeviceUrl, devices: readonly Fields[]): Place | undefined {
  const [, kind, bus, unit] = /([A-Za-z]\w*Controller)(\d+):(\d+)$/.exec(key) ?? [];
  const controller = devices.find((device) => typeOf(device) === kind && numberOf(device['busNumber']) === Number(bus));
  return controller === undefined ? undefined : { controllerKey: numberOf(controller['key']), unit: Number(unit) };
}

const isAt = (disk: Fields, { controllerKey, unit }: Place): boolean =>
  numberOf(disk['controllerKey']) === controllerKey && numberOf(disk['unitNumber']) === unit;

function unmapped(key: number, why: string): VSphereError {
  const message = `The export lease doesn't tell which file is disk ${key}: ${why}.`;
  return new VSphereError('LEASE_MAPPING', message, { kind: 'lease-error', method: 'ExportSnapshot', message });
}
