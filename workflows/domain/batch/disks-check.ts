import type { Baseline, Finding } from './records.ts';

/** Disks of a VM in the order of its devices, and what of them counts for its identity. */
export type DiskIdentity = Baseline['disks'][number];

interface Difference {
  /** From 1, as people count. */
  readonly place: number;
  readonly expected: string;
  readonly found: string;
}

/**
 * M2, before the first byte of a pass is written: the disks of a snapshot against those that were placed. Disks that can't be
 * copied need not be in a snapshot.
 */
export function disksCheck(
  name: string,
  baseline: Pick<Baseline, 'disks'>,
  snapshot: readonly { readonly name: string; readonly capacity: number }[],
): Finding<'DISKS_CHANGED'> | undefined {
  const seen = new Set(snapshot.map((disk) => disk.name));
  const expected = baseline.disks.filter((disk) => disk.supported || seen.has(disk.name));
  const difference = firstDifference(expected.map(sizeInWords), snapshot.map(sizeInWords));
  if (difference === undefined) return undefined;
  return {
    code: 'DISKS_CHANGED',
    message: `disk ${difference.place} of ${name} is not as it was when it was placed, nothing of this pass was copied: undo the change at the source or keep it, then cancel with cleanup and retry`,
    expected: difference.expected,
    found: difference.found,
  };
}

/** M4: the same, with everything that makes the disks of a VM, in their order. */
export function disksIdentity(
  name: string,
  baseline: Pick<Baseline, 'disks'>,
  disks: readonly DiskIdentity[],
): Finding<'IDENTITY_DISKS'> | undefined {
  const difference = firstDifference(baseline.disks.map(diskInWords), disks.map(diskInWords));
  if (difference === undefined) return undefined;
  return {
    code: 'IDENTITY_DISKS',
    message: `disk ${difference.place} of ${name} is not as it was when it was placed, so what was copied is not the VM any more: cancel with cleanup and retry`,
    expected: difference.expected,
    found: difference.found,
  };
}

function firstDifference(expected: readonly string[], found: readonly string[]): Difference | undefined {
  const length = Math.max(expected.length, found.length);
  const place = Array.from({ length }, (_, i) => i).find((i) => expected[i] !== found[i]);
  if (place === undefined) return undefined;
  return { place: place + 1, expected: expected[place] ?? 'no such disk', found: found[place] ?? 'no such disk' };
}

function sizeInWords({ name, capacity }: { readonly name: string; readonly capacity: number }): string {
  return `${name}, ${capacity} bytes`;
}

function diskInWords({ name, capacity, shared, supported }: DiskIdentity): string {
  const flags = [...(shared ? ['shared'] : []), ...(supported ? [] : ["can't be copied"])];
  return [sizeInWords({ name, capacity }), ...flags].join(', ');
}
