/** A place in a batch: keys and indices from its top. */
export type SpecPath = readonly (string | number)[];

/** `constraints[1].include_expression`, `overrides["5298…"].name`. */
export function pathText(path: SpecPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    if (!/^[A-Za-z_]\w*$/.test(part)) return `${text}[${JSON.stringify(part)}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

/** The other way round; what isn't one of these texts gives the part of it that is. */
export function parsePath(text: string): SpecPath {
  const parts = [...text.matchAll(/\.?([A-Za-z_]\w*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gy)];
  return parts.map(([, name, index, key]) => {
    if (name !== undefined) return name;
    return index === undefined ? (JSON.parse(key ?? '""') as string) : Number(index);
  });
}
