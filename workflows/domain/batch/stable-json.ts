/** JSON in which the order of keys plays no part: two values are the same when their texts are. */
export function stableJson(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

export function isSameJson(a: unknown, b: unknown): boolean {
  return stableJson(a) === stableJson(b);
}
