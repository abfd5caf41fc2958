import type { Codec } from './payload-codec-adapter.ts';
import { readCodecKeys } from './keys.ts';

/** The codec that `VMFLOW_CODEC_KEYS_FILE` asks for; undefined without it. Its packages are loaded only then. */
export async function codecOf(env: Readonly<Record<string, string | undefined>>): Promise<Codec | undefined> {
  const path = env['VMFLOW_CODEC_KEYS_FILE'];
  if (path === undefined || path === '') return undefined;
  const [keys, { encryptingCodec }] = await Promise.all([readCodecKeys(path), import('./payload-codec-adapter.ts')]);
  return encryptingCodec(keys);
}
