import type { Resource } from './port.ts';

/** Of all objects of a kind, in one namespace or in all; those without a namespace are in `''`. */
export function collectionPath({ group, version, plural }: Resource, namespace?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const inNamespace = namespace === undefined || namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${inNamespace}/${plural}`;
}

export function objectPath(resource: Resource, namespace: string, name: string): string {
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
}

/** The path with those parameters that have a value. */
export function withQuery(path: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) if (value !== undefined) given.set(key, value);
  return given.size === 0 ? path : `${path}?${given.toString()}`;
}
