/** How a registry wants to be shown who asks. */
export interface Challenge {
  /** Lower case. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** A scheme before its first parameter or alone; else a parameter, in quotes or bare. */
const part = /(?:^|,)\s*([\w-]+)(?=\s+[\w-]+\s*=|\s*(?:,|$))|([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

/** Several challenges can stand in one header, with the commas of their parameters between them. */
export function challengesOf(header: string | undefined): Challenge[] {
  const found: { scheme: string; parameters: Record<string, string> }[] = [];
  for (const [, scheme, name, quoted, bare] of (header ?? '').matchAll(part)) {
    if (scheme !== undefined) found.push({ scheme: scheme.toLowerCase(), parameters: {} });
    const current = found.at(-1);
    if (name !== undefined && current !== undefined)
      current.parameters[name.toLowerCase()] = quoted?.replace(/\\(.)/g, '$1') ?? bare ?? '';
  }
  return found;
}
