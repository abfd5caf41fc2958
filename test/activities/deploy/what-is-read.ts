/** The names that the code asks for, whatever they hold. */
export function namesRead(read: (env: Record<string, string>) => unknown): ReadonlySet<string> {
  const names = new Set<string>();
  const note = (_: object, name: string | symbol): undefined => void names.add(String(name));
  read(new Proxy({}, { get: note }));
  return names;
}

export const secondsOf = (text: string): number => Number(/^(\d+) seconds$/.exec(text)?.[1]);

/** What the sample has commented out, as if it were filled in. */
export const uncommented = (text: string): string => text.replace(/^# (?=(\w+:$| +\w))/gm, '');

/** What a `vmflow.yaml` says of secrets and other files that somebody has to put there. */
export function filesNamedIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    /(File|kubeconfig)$/.test(key) && typeof inner === 'string' ? [inner] : filesNamedIn(inner),
  );
}
