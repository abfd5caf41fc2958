/** Names that others rely on: Pods, VMs and their place in the registry. */

export function podNameOf(set: string, slot: number): string {
  return `${set}-${slot}`;
}

/** `vk-<namespace>-<set>-<slot>`. Different sets can have the same: hyphens join what may hold hyphens. */
export function vmNameOf(namespace: string, set: string, slot: number): string {
  return `vk-${namespace}-${set}-${slot}`;
}

/** Other sets (`<namespace>/<name>`) in which the main VM has the same name as in this one. */
export function sharingVmName(
  set: { readonly namespace: string; readonly name: string },
  all: readonly { readonly namespace: string; readonly name: string }[],
): string[] {
  const name = vmNameOf(set.namespace, set.name, 0);
  return all
    .filter((other) => other.namespace !== set.namespace || other.name !== set.name)
    .filter((other) => vmNameOf(other.namespace, other.name, 0) === name)
    .map((other) => `${other.namespace}/${other.name}`);
}

/** VM names in the annotation that outlives the Pods of a set. */
export function parseVmNames(annotation: string | undefined): string[] {
  return (annotation ?? '').split(',').filter((name) => name !== '');
}

/**
 * Every VM that a set may have left something in the registry for: by its spec, its status, its Pods and what was noted before.
 * The spec alone would forget scaled-down agents, status and Pods alone a main that has no Pod at the moment.
 */
export function vmNamesToCollect(
  set: { readonly namespace: string; readonly name: string; readonly replicas: number },
  known: readonly (readonly string[])[],
): string[] {
  const bySpec = Array.from({ length: set.replicas + 1 }, (_, slot) => vmNameOf(set.namespace, set.name, slot));
  return [...new Set([...bySpec, ...known.flat()])].sort();
}

/**
 * Names that another set would need to have for its main VM to be called like this one's: every other place where the joined name
 * can be cut into a namespace and a set. Most sets have none.
 */
export function namesakesOf(set: { readonly namespace: string; readonly name: string }): {
  readonly namespace: string;
  readonly name: string;
}[] {
  const parts = `${set.namespace}-${set.name}`.split('-');
  return parts
    .slice(1)
    .map((_, at) => ({ namespace: parts.slice(0, at + 1).join('-'), name: parts.slice(at + 1).join('-') }))
    .filter((one) => one.namespace !== set.namespace && isDnsLabel(one.namespace) && one.name !== '');
}

function isDnsLabel(text: string): boolean {
  return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);
}
