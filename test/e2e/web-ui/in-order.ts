import assert from 'node:assert/strict';

/** Each part is there, behind the one before it. */
export function assertInOrder(text: string, parts: readonly (string | RegExp)[]): void {
  let from = 0;
  for (const part of parts) {
    const rest = text.slice(from);
    const at = typeof part === 'string' ? rest.indexOf(part) : rest.search(part);
    assert.notEqual(at, -1, `${String(part)} is missing, or not in its place, in:\n${text}`);
    from += at;
  }
}
