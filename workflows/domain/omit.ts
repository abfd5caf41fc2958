/** An object without these fields. */
export function omit<T extends object, K extends keyof T>(from: T, ...keys: readonly K[]): Omit<T, K> {
  const left = new Set<PropertyKey>(keys);
  return Object.fromEntries(Object.entries(from).filter(([key]) => !left.has(key))) as Omit<T, K>;
}
