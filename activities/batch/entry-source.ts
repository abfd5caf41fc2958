import type { EntryActivities } from '../../workflows/contracts/batch-activities.ts';
import { pause } from '../heartbeat.ts';
import type { Source, SourceCallOptions } from '../vsphere/source-port.ts';
import type { BatchDeps } from './deps.ts';
import { resuming } from './resuming.ts';

/** How often a guest that may be shutting down is looked at. */
const lookEveryMs = 1_000;

/** Beats while it works, and hands the task that an earlier attempt has begun to this one. */
export async function onSource<T>(
  deps: BatchDeps,
  name: string,
  work: (source: Source, options: SourceCallOptions & { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const source = await deps.source(name);
  return await resuming(({ signal, onBegun, earlier }) =>
    work(source, { signal, onTask: onBegun, ...(earlier === undefined ? {} : { taskRef: earlier }) }),
  );
}

type SourceCalls = Pick<EntryActivities, 'readSourcePower' | 'powerOffSource' | 'powerOnSource' | 'changedSince'>;

/** What happens to the source VM of an entry. Each reads first: what is so already is done. */
export function createEntrySource(deps: BatchDeps): SourceCalls {
  return {
    async readSourcePower({ source, vm }) {
      const power = await onSource(deps, source, (port, options) => port.power(vm, options));
      return power === undefined ? {} : { power };
    },
    async powerOffSource({ scope, graceMs }) {
      await onSource(deps, scope.source, (port, options) => port.powerOff(scope.vm, { ...options, graceMs }));
    },
    async powerOnSource({ source, vm, shutdownMs = 0 }) {
      return await onSource(deps, source, async (port, options) => {
        const until = performance.now() + shutdownMs;
        while (performance.now() < until && (await port.power(vm, options)) === 'on')
          await pause(lookEveryMs, options.signal);
        if ((await port.power(vm, options)) === undefined) return { gone: true };
        await port.powerOn(vm, options);
        return { gone: false };
      });
    },
    async changedSince({ scope, changeIds }) {
      return await onSource(deps, scope.source, async (port, options) => {
        const disks = await port.snapshotDisks(scope.vm, undefined, options);
        let changed: 'none' | 'unknown' = 'none';
        for (const { name, key, capacity } of disks) {
          const since = changeIds[name];
          if (since === undefined) continue;
          const areas =
            since === '' ? undefined : await port.changedAreas(scope.vm, undefined, { key, capacity }, since, options);
          if (areas === undefined) changed = 'unknown';
          else if (areas.length > 0) return { changed: 'some' };
        }
        return { changed };
      });
    },
  };
}
