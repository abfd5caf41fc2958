import type { Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

/** One AES-256 key and the name it has in the metadata of payloads. */
export interface CodecKey {
  readonly id: string;
  readonly bytes: Buffer;
}

/** The first one encrypts; all of them decrypt. */
export type CodecKeys = readonly [CodecKey, ...CodecKey[]];

const keyBytes = 32;
const line = /^(?<id>[A-Za-z0-9._-]{1,64})\s+(?<key>\S+)$/;

/**
 * Reads a file of keys: one per line, a name and 32 bytes in Base64; empty lines and those that begin with `#` are left out.
 * Rejects with what is wrong and where; never with a key.
 */
export async function readCodecKeys(path: string): Promise<CodecKeys> {
  const { text, found } = await fileAt(path);
  if ((found.mode & 0o007) !== 0)
    throw new Error(`The key file ${path} can be read by everybody, so nothing in it is secret: chmod o= ${path}`);
  return parseCodecKeys(text, path);
}

async function fileAt(path: string): Promise<{ readonly text: string; readonly found: Stats }> {
  try {
    return { text: await readFile(path, 'utf8'), found: await stat(path) };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The key file that VMFLOW_CODEC_KEYS_FILE names can't be read: ${why}`, { cause });
  }
}

/** @param path for messages */
export function parseCodecKeys(text: string, path: string): CodecKeys {
  const lines = text.split(/\r?\n/).map((content, index) => ({ content: content.trim(), number: index + 1 }));
  const [first, ...others] = lines
    .filter(({ content }) => content !== '' && !content.startsWith('#'))
    .map(({ content, number }) => keyOf(content, `${path}:${number}`));
  if (first === undefined)
    throw new Error(`The key file ${path} has no key; one is made with: echo "k1 $(openssl rand -base64 32)"`);
  const ids = [first, ...others].map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined)
    throw new Error(`The key file ${path} has two keys named ${twice}; a name stands for one key`);
  return [first, ...others];
}

function keyOf(content: string, where: string): CodecKey {
  const { id, key } = line.exec(content)?.groups ?? {};
  if (id === undefined || key === undefined)
    throw new Error(`${where}: a line is a name (letters, digits, . _ -), a space, and ${keyBytes} bytes in Base64`);
  const bytes = Buffer.from(key, 'base64');
  if (bytes.length !== keyBytes || bytes.toString('base64') !== key)
    throw new Error(`${where}: the key ${id} is not ${keyBytes} bytes in Base64 (openssl rand -base64 ${keyBytes})`);
  return { id, bytes };
}
