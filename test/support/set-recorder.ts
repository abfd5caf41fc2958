import type { Cluster, KubeObject } from '../../activities/kubernetes/port.ts';
import { resources } from '../../activities/kubernetes/resources.ts';
import { keyOf, viewOf } from '../sim/node-agent/pod-view.ts';
import { agentUserAgent } from '../sim/node-agent/snapshots.ts';
import type { Happening, Timeline } from '../sim/node-agent/timeline.ts';
import type { RegistryProxy } from '../sim/registry-proxy.ts';

export interface Recorder {
  stop(): void;
}

/**
 * Writes into a timeline what others than agents do: what becomes of Pods and sets, and which tags they put and delete. The
 * cluster must be allowed to watch Pods and sets. Resolves when both are watched.
 */
export async function recordSets(
  timeline: Timeline,
  cluster: Cluster,
  proxy?: RegistryProxy,
  prefix = '',
): Promise<Recorder> {
  const pods = cluster.watch(resources.pod);
  const sets = cluster.watch(resources.set);
  await Promise.all([pods.ready, sets.ready]);
  const stops = [
    follow(pods, (before, after) => podChanges(before, after)),
    follow(sets, (before, after) => setChanges(before, after)),
    proxy?.subscribe(({ verb, repository, reference, digest = '', userAgent }) => {
      if (userAgent === agentUserAgent) return; // agents tell it themselves, with the counter
      const vm = prefix === '' ? repository : repository.replace(`${prefix}/`, '');
      const by = userAgent === '' ? 'somebody' : userAgent;
      if (verb === 'DELETE') timeline.add({ what: 'tag-deleted', vm, reference, by });
      else timeline.add({ what: 'tag-put', vm, tag: reference, digest, by });
    }),
  ];
  return {
    stop() {
      for (const stop of stops) stop?.();
    },
  };

  function follow(
    watch: typeof pods,
    changes: (before: KubeObject | undefined, after: KubeObject | undefined) => readonly Happening[],
  ): () => void {
    const known = new Map<string, KubeObject>(watch.items().map((object) => [object.metadata.uid, object]));
    return watch.subscribe(({ type, object }) => {
      const { uid } = object.metadata;
      const before = known.get(uid);
      if (type === 'deleted') known.delete(uid);
      else known.set(uid, object);
      // The last state of a deleted object may be news: its deletion timestamp.
      if (type === 'deleted') for (const one of changes(before, object)) timeline.add(one);
      for (const one of type === 'deleted' ? changes(object, undefined) : changes(before, object)) timeline.add(one);
    });
  }
}

function podChanges(before: KubeObject | undefined, after: KubeObject | undefined): readonly Happening[] {
  const some = after ?? before;
  if (some === undefined) return [];
  const base = { pod: keyOf(some.metadata), uid: some.metadata.uid, revision: Number(some.metadata.resourceVersion) };
  if (after === undefined) return [{ what: 'pod-gone', ...base }];
  const now = viewOf(after);
  const was = before === undefined ? undefined : viewOf(before);
  const said = `${now.lifecycle} ${now.lifecycleGeneration}`;
  return [
    ...(was === undefined ? [{ what: 'pod-created', ...base } as const] : []),
    ...(now.nodeName !== (was?.nodeName ?? '') ? [{ what: 'pod-bound', node: now.nodeName, ...base } as const] : []),
    ...(now.hibernate === (was?.hibernate ?? false)
      ? []
      : [{ what: now.hibernate ? 'hibernate-set' : 'hibernate-cleared', ...base } as const]),
    ...(now.vmId === (was?.vmId ?? '') ? [] : [{ what: 'vm-id', id: now.vmId, ...base } as const]),
    ...(now.lifecycle === '' || said === `${was?.lifecycle ?? ''} ${was?.lifecycleGeneration ?? 0}`
      ? []
      : [{ what: 'lifecycle', state: now.lifecycle, generation: now.lifecycleGeneration, ...base } as const]),
    ...(now.isDeleting && was?.isDeleting !== true ? [{ what: 'pod-deleting', ...base } as const] : []),
  ];
}

function setChanges(before: KubeObject | undefined, after: KubeObject | undefined): readonly Happening[] {
  const some = after ?? before;
  if (some === undefined) return [];
  const base = { set: keyOf(some.metadata), uid: some.metadata.uid, revision: Number(some.metadata.resourceVersion) };
  if (after === undefined) return [{ what: 'set-gone', ...base }];
  const phaseOf = (set: KubeObject | undefined): string => (set?.status?.['phase'] as string | undefined) ?? '';
  const isDeleting = (set: KubeObject | undefined): boolean => set?.metadata.deletionTimestamp !== undefined;
  return [
    ...(phaseOf(after) === phaseOf(before) ? [] : [{ what: 'set-phase', phase: phaseOf(after), ...base } as const]),
    ...(isDeleting(after) && !isDeleting(before) ? [{ what: 'set-deleting', ...base } as const] : []),
  ];
}
