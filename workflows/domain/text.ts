/** Length in UTF-8 bytes: what limits of servers count. */
export function byteLength(text: string): number {
  let bytes = 0;
  for (const char of text) bytes += bytesOf(char);
  return bytes;
}

/** The beginning of a text that fits into so many UTF-8 bytes, never half a character. */
export function cutToBytes(text: string, most: number): string {
  let bytes = 0;
  let end = 0;
  for (const char of text) {
    bytes += bytesOf(char);
    if (bytes > most) break;
    end += char.length;
  }
  return text.slice(0, end);
}

function bytesOf(char: string): number {
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
