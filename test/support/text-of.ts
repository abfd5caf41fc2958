/** Payloads are bytes: they are searched as the text they hold. */
export function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (typeof value !== 'object' || value === null) return String(value);
  const parts = value instanceof Map ? [...value] : Object.entries(value);
  return parts.map(([key, part]) => `${String(key)}: ${textOf(part)}`).join('\n');
}
