import type { Extent } from '../../batch/disk-port.ts';

/** In ascending order; what touches or overlaps is one. */
export function mergeExtents(extents: readonly Extent[]): readonly Extent[] {
  const merged: { start: number; length: number }[] = [];
  for (const { start, length } of extents.toSorted((one, other) => one.start - other.start)) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last.start + last.length) {
      last.length = Math.max(last.length, start + length - last.start);
    } else merged.push({ start, length });
  }
  return merged;
}
