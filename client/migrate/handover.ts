import type { MigrateMainResult } from '../../workflows/contracts/hibernate.ts';
import { formatDuration } from '../durations.ts';
import type { Paint } from '../output/colors.ts';
import { labelled } from '../output/error.ts';

/** What proves that a VM was handed over: the old VM, the snapshot it went through, the new VM, how long none ran. */
export interface Handover {
  readonly vmIdBefore?: string;
  readonly snapshotDigest?: string;
  readonly vmIdAfter?: string;
  readonly downtimeMs?: number;
}

/** `seen`: digest that the migration showed while it ran. Undefined: nothing was handed over. */
export function handoverOf(result: MigrateMainResult | undefined, seen?: string): Handover | undefined {
  if (result?.vmIdBefore === undefined || result.vmIdAfter === undefined) return undefined;
  const { vmIdBefore, vmIdAfter, downtimeMs, snapshotDigest = seen } = result;
  // Called off before it was stored: the VM has run on.
  if (vmIdBefore === vmIdAfter) return undefined;
  return {
    ...{ vmIdBefore, vmIdAfter },
    ...(snapshotDigest === undefined ? {} : { snapshotDigest }),
    ...(downtimeMs === undefined ? {} : { downtimeMs }),
  };
}

/** @param route the nodes that it went between, where they are known */
export function handoverLines(
  { vmIdBefore = '?', vmIdAfter = '?', snapshotDigest, downtimeMs }: Handover,
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  paint: Paint,
): string[] {
  const on = (node: string | undefined): string => (node === undefined ? '' : ` on ${node}`);
  return [
    labelled('old VM', `${vmIdBefore}${on(from)}, stored and removed`, paint),
    ...(snapshotDigest === undefined ? [] : [labelled('stored', snapshotDigest, paint)]),
    labelled('new VM', `${vmIdAfter}${on(to)}, restored from it`, paint),
    ...(downtimeMs === undefined ? [] : [labelled('paused', pauseText(downtimeMs), paint)]),
  ];
}

/** Seconds with a tenth while that matters. */
export function pauseText(ms: number): string {
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : formatDuration(ms);
}
