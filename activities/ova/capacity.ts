import { SourceError } from './source-error.ts';

/** Largest virtual disk of vSphere. A published image once asked for 8192 TB because of a wrong unit. */
const maxCapacityBytes = 62 * 2 ** 40;

/** Spellings from before programmatic units. */
const legacyUnits: ReadonlyMap<string, number> = new Map([
  ['bytes', 1],
  ['kilobytes', 2 ** 10],
  ['megabytes', 2 ** 20],
  ['gigabytes', 2 ** 30],
  ['terabytes', 2 ** 40],
  ['kb', 2 ** 10],
  ['mb', 2 ** 20],
  ['gb', 2 ** 30],
  ['tb', 2 ** 40],
]);

function bytesPerUnit(unit: string): number | undefined {
  const plain = unit.trim().toLowerCase();
  const legacy = legacyUnits.get(plain);
  if (legacy !== undefined) return legacy;
  const match = /^byte(?:\s*\*\s*(\d{1,10})(?:\s*\^\s*(\d{1,3}))?)?$/.exec(plain);
  if (match === null) return undefined;
  const [, base = '1', exponent = '1'] = match;
  return Number(base) ** Number(exponent);
}

/** Capacity of a disk in bytes. Fails with `OVF_CAPACITY`. */
export function capacityInBytes(diskId: string, capacity: string | undefined, unit: string | undefined): number {
  const refuse = (why: string): SourceError =>
    new SourceError('OVF_CAPACITY', `disk "${diskId}" has the capacity "${capacity ?? ''}" ${unit ?? 'byte'}: ${why}`);
  if (capacity === undefined || !/^\d+$/.test(capacity.trim()) || Number(capacity) <= 0) {
    throw refuse('this is no positive number');
  }
  const factor = unit === undefined ? 1 : bytesPerUnit(unit);
  if (factor === undefined) throw refuse('the unit is unknown');
  const bytes = Number(capacity) * factor;
  if (!(bytes >= 1)) throw refuse('this is no positive number');
  if (bytes > maxCapacityBytes) throw refuse('this is more than 62 TiB, the most vSphere can make; check the unit');
  return bytes;
}
