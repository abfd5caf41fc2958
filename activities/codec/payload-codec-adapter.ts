import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { DataConverter } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { CodecKey, CodecKeys } from './keys.ts';

export type Codec = NonNullable<DataConverter['payloadCodecs']>[number];
type Payload = Parameters<Codec['decode']>[0][number];
type Metadata = NonNullable<Payload['metadata']>;

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;
/** Names and layout of Temporal's own samples, so that other codec servers read them too. */
const encoding = 'binary/encrypted';
const keyIdField = 'encryption-key-id';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts payloads with AES-256-GCM: `data` is nonce (12 bytes), ciphertext, tag (16 bytes). The payload itself is what is encrypted, its
 * metadata included. Plain payloads are read as they are, so it can be turned on under running workflows, and the Web UI may send some.
 */
export function encryptingCodec(keys: CodecKeys): Codec {
  const [current] = keys;
  const byId = new Map(keys.map((key) => [key.id, key]));
  return {
    encode: (payloads) => Promise.resolve(payloads.map((payload) => encrypt(payload, current))),
    // eslint-disable-next-line @typescript-eslint/require-await -- what it throws is a rejection
    async decode(payloads) {
      return payloads.map((payload) => (isEncrypted(payload) ? decrypt(payload, byId) : payload));
    },
  };
}

/** Writes plain payloads; refuses encrypted ones with what is missing. */
export const plainCodec: Codec = {
  encode: (payloads) => Promise.resolve(payloads),
  // eslint-disable-next-line @typescript-eslint/require-await -- what it throws is a rejection
  async decode(payloads) {
    const encrypted = payloads.find(isEncrypted);
    if (encrypted !== undefined)
      throw new CodecError(`the data is encrypted with the key ${keyIdOf(encrypted)}, and no key file is set`);
    return payloads;
  },
};

/** Something that can't be read; the message ends with what to do. */
export class CodecError extends Error {
  override readonly name = 'CodecError';

  constructor(what: string, options?: ErrorOptions) {
    super(`${what}: set VMFLOW_CODEC_KEYS_FILE to the file of keys that the workers have`, options);
  }
}

export function isEncrypted({ metadata }: Payload): boolean {
  return textOf(metadata?.['encoding']) === encoding;
}

function encrypt(payload: Payload, { id, bytes }: CodecKey): Payload {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', bytes, nonce, { authTagLength: tagBytes });
  const plain = PayloadMessage.encode(payload).finish();
  return {
    metadata: { encoding: Buffer.from(encoding), [keyIdField]: Buffer.from(id) },
    data: Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]),
  };
}

function decrypt(payload: Payload, keys: ReadonlyMap<string, CodecKey>): Payload {
  const id = keyIdOf(payload);
  const key = keys.get(id);
  if (key === undefined)
    throw new CodecError(`the data is encrypted with the key ${id}, which the key file here doesn't have`);
  const data = payload.data ?? new Uint8Array();
  if (data.length < nonceBytes + tagBytes)
    throw new CodecError(`the data is too short to be encrypted with the key ${id}`);
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, data.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAuthTag(data.subarray(-tagBytes));
  try {
    return PayloadMessage.decode(
      Buffer.concat([decipher.update(data.subarray(nonceBytes, -tagBytes)), decipher.final()]),
    );
  } catch (cause) {
    throw new CodecError(`the data was changed, or encrypted with another key named ${id}`, { cause });
  }
}

function keyIdOf({ metadata }: Payload): string {
  return textOf(metadata?.[keyIdField]) ?? '(without a name)';
}

function textOf(bytes: Metadata[string] | undefined): string | undefined {
  return bytes == null ? undefined : Buffer.from(bytes).toString('utf8');
}
