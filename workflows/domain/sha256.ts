/** Bits of SHA-256's round constants: the fractional parts of the cube roots of the first 64 primes (FIPS 180-4). */
const roundConstants = fractionalBits(64, Math.cbrt);
const initialHash = fractionalBits(8, Math.sqrt);

function fractionalBits(count: number, root: (n: number) => number): Uint32Array {
  const words = new Uint32Array(count);
  let found = 0;
  for (let candidate = 2; found < count; candidate++) {
    if (isPrime(candidate)) words[found++] = (root(candidate) % 1) * 2 ** 32;
  }
  return words;
}

function isPrime(n: number): boolean {
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
  return true;
}

/** UTF-8 bytes of a string; workflow code has no `Buffer` and need not have a `TextEncoder`. */
function utf8(text: string): number[] {
  const bytes: number[] = [];
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  }
  return bytes;
}

function padded(bytes: readonly number[]): DataView {
  const length = Math.ceil((bytes.length + 9) / 64) * 64;
  const block = new Uint8Array(length);
  block.set(bytes);
  block[bytes.length] = 0x80;
  const view = new DataView(block.buffer);
  view.setUint32(length - 8, Math.floor((bytes.length * 8) / 2 ** 32));
  view.setUint32(length - 4, (bytes.length * 8) >>> 0);
  return view;
}

const rotate = (x: number, n: number): number => (x >>> n) | (x << (32 - n));

function at(words: Uint32Array, i: number): number {
  return words[i] ?? 0;
}

function compress(hash: Uint32Array, block: DataView, offset: number): void {
  const w = new Uint32Array(64);
  for (let i = 0; i < 16; i++) w[i] = block.getUint32(offset + i * 4);
  for (let i = 16; i < 64; i++) {
    const x = at(w, i - 15);
    const y = at(w, i - 2);
    const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    w[i] = at(w, i - 16) + s0 + at(w, i - 7) + s1;
  }
  let [a, b, c, d, e, f, g, h] = hash as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + at(roundConstants, i) + at(w, i)) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (hash[i] = at(hash, i) + word));
}

/** SHA-256 of the UTF-8 bytes of `text`, 64 lower-case hex digits. Pure, for workflow code that has no crypto module. */
export function sha256Hex(text: string): string {
  const hash = Uint32Array.from(initialHash);
  const message = padded(utf8(text));
  for (let offset = 0; offset < message.byteLength; offset += 64) compress(hash, message, offset);
  return Array.from(hash, (word) => word.toString(16).padStart(8, '0')).join('');
}
