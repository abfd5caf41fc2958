import { Context } from '@temporalio/activity';
import type { VmopActivities } from '../../workflows/contracts/activities.ts';
import { vmopKeys } from '../../workflows/contracts/vmop.ts';
import { whileBeating } from '../heartbeat.ts';
import { resources } from '../kubernetes/resources.ts';
import { createDeleteVmop } from './create-vmop.ts';
import type { VmopDeps } from './deps.ts';
import { annotation, conditionOf, vmopOf, type Vmop } from './objects.ts';

/** Deletes finished operations: the old ones, and of each VM all but the newest. */
export function createCollect(deps: VmopDeps): VmopActivities['collectVmops'] {
  const remove = createDeleteVmop(deps);
  return async () => {
    let deleted = 0;
    await whileBeating(
      () => ({ deleted }),
      async () => {
        const vmops = (await deps.cluster.list(resources.vmop)).map((object) => vmopOf(object));
        for (const { ref } of collectable(vmops, deps.settings, Date.now())) {
          Context.current().cancellationSignal.throwIfAborted();
          if (await remove(ref)) deleted += 1;
        }
      },
    );
    return { deleted };
  };
}

/**
 * Which finished operations go. Their age counts from their end. One that an active operation lists as taken over stays as long
 * as that one is active.
 */
export function collectable(
  vmops: readonly Vmop[],
  { keepHours, keepPerVm }: { readonly keepHours: number; readonly keepPerVm: number },
  now: number,
): readonly Vmop[] {
  const needed = new Set(
    vmops
      .filter((vmop) => !vmop.isTerminal)
      .flatMap(({ object }) => annotation(object, vmopKeys.supersedes)?.split(',') ?? [])
      .map((entry) => entry.slice(entry.indexOf('/') + 1)),
  );
  const finished = vmops.filter((vmop) => vmop.isTerminal && !vmop.isDeleting);
  const perVm = new Map<string, Vmop[]>();
  for (const vmop of finished) {
    const key = `${vmop.ref.namespace}/${vmop.ref.vmName}`;
    perVm.set(key, [...(perVm.get(key) ?? []), vmop]);
  }
  return [...perVm.values()]
    .flatMap((ofVm) =>
      ofVm
        .toSorted((a, b) => endOf(b) - endOf(a) || b.ref.name.localeCompare(a.ref.name))
        .filter((vmop, place) => place >= keepPerVm || now - endOf(vmop) > keepHours * 3_600_000),
    )
    .filter(({ ref }) => !needed.has(ref.uid));
}

function endOf({ conditions, ref }: Vmop): number {
  return Date.parse(conditionOf(conditions, 'Completed')?.lastTransitionTime ?? ref.createdAt);
}
