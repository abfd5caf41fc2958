import type { Device, Instance } from './instances.ts';
import { sourceKey } from './marks.ts';
import type { NewDisk } from './port.ts';
import { sizeText } from './sizes.ts';
import { volumeName } from './volumes.ts';

/** Extension of servers that delete an attached volume together with its instance. */
const dependent = 'dependent';

export const rootDevice = 'root';

export function rootDisk({ pool, size, disk }: NewDisk): Device {
  return { type: 'disk', path: '/', pool, size: sizeText(size), [sourceKey]: disk };
}

/** The device of a disk other than the first, `disk<index>`. */
export function extraDisk(
  instance: string,
  index: number,
  { pool, disk }: NewDisk,
  extensions: readonly string[],
): Device {
  return {
    type: 'disk',
    pool,
    source: volumeName(instance, index),
    ...(extensions.includes(dependent) ? { dependent: 'true' } : {}),
    [sourceKey]: disk,
  };
}

/** Where the bytes of a disk are. */
export interface DiskVolume {
  readonly pool: string;
  readonly type: 'virtual-machine' | 'custom';
  readonly volume: string;
}

/** The disk with this place among the disks of an instance; undefined: it has no such disk. */
export function diskVolume({ name, devices }: Instance, index: number): DiskVolume | undefined {
  const { pool = '', source = '' } = devices[index === 0 ? rootDevice : `disk${index}`] ?? {};
  if (pool === '') return undefined;
  if (index === 0) return { pool, type: 'virtual-machine', volume: name };
  return source === '' ? undefined : { pool, type: 'custom', volume: source };
}

/** Custom volumes that are attached to an instance. */
export function attachedVolumes({ devices }: Instance): { readonly pool: string; readonly name: string }[] {
  return Object.values(devices).flatMap(({ type, pool, source }) =>
    type === 'disk' && pool !== undefined && source !== undefined ? [{ pool, name: source }] : [],
  );
}
