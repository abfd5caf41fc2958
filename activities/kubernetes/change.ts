import { ClusterError, type Cluster, type JsonPatchOperation, type KubeObject, type Resource } from './port.ts';

/** How often a change is worked out anew when somebody else was faster. */
const mostRounds = 8;

interface Target {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly status?: boolean;
}

/**
 * Changes an object by compare-and-set: `work` gets it as it is and says what to do; undefined or nothing: leave it. When
 * somebody else was faster it is asked again. Answers the object as it then is; undefined: it isn't there. Fails with
 * `ClusterError`.
 */
export async function change(
  cluster: Cluster,
  { resource, namespace, name, status = false }: Target,
  work: (object: KubeObject) => readonly JsonPatchOperation[] | undefined,
): Promise<KubeObject | undefined> {
  for (let round = 1; ; round++) {
    const object = await cluster.get(resource, namespace, name);
    if (object === undefined) return undefined;
    const operations = work(object) ?? [];
    if (operations.length === 0) return object;
    try {
      return await cluster.patch(resource, namespace, name, [asItWas(object), ...operations], { status });
    } catch (err) {
      if (err instanceof ClusterError && err.reason === 'NotFound') return undefined;
      if (!(err instanceof ClusterError) || err.reason !== 'Conflict' || round === mostRounds) throw err;
    }
  }
}

function asItWas(object: KubeObject): JsonPatchOperation {
  return { op: 'test', path: '/metadata/resourceVersion', value: object.metadata.resourceVersion };
}

type Strings = Readonly<Record<string, string>>;

/** Sets (or with undefined removes) keys of the annotations or labels; nothing when they are so already. */
export function setKeys(
  object: KubeObject,
  field: 'annotations' | 'labels',
  wanted: Readonly<Record<string, string | undefined>>,
): JsonPatchOperation[] {
  const before: Strings = object.metadata[field] ?? {};
  const changed = Object.entries(wanted).filter(([key, value]) => before[key] !== value);
  if (changed.length === 0) return [];
  const after = Object.fromEntries(
    Object.entries({ ...before, ...Object.fromEntries(changed) }).filter(([, value]) => value !== undefined),
  );
  return [{ op: 'add', path: `/metadata/${field}`, value: after }];
}

/** Adds or removes one finalizer; those of others stay. The API refuses new ones on what is being deleted. */
export function setFinalizer(object: KubeObject, finalizer: string, wanted: boolean): JsonPatchOperation[] {
  const before = object.metadata.finalizers ?? [];
  if (before.includes(finalizer) === wanted) return [];
  const after = wanted ? [...before, finalizer] : before.filter((name) => name !== finalizer);
  return [{ op: 'add', path: '/metadata/finalizers', value: after }];
}
