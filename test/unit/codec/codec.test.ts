import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { defaultPayloadConverter } from '@temporalio/client';
import { codecOf } from '../../../activities/codec/codec.ts';
import { decoded } from '../../../activities/codec/decoded.ts';
import { parseCodecKeys, type CodecKeys } from '../../../activities/codec/keys.ts';
import {
  encryptingCodec,
  isEncrypted,
  plainCodec,
  type Codec,
} from '../../../activities/codec/payload-codec-adapter.ts';

type Payload = Parameters<Codec['decode']>[0][number];

const key = (): string => randomBytes(32).toString('base64');
const keysOf = (...lines: readonly string[]): CodecKeys => parseCodecKeys(lines.join('\n'), 'keys');
const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const valueOf = (payload: Payload): unknown => defaultPayloadConverter.fromPayload(payload);

async function one(payloads: Promise<Payload[]>): Promise<Payload> {
  const [payload, ...others] = await payloads;
  assert.deepEqual(others, []);
  assert.ok(payload !== undefined);
  return payload;
}

describe('the codec', () => {
  const codec = encryptingCodec(keysOf(`k1 ${key()}`));

  test('gives back what it was given, and shows nothing of it meanwhile, not even what it is', async () => {
    const encrypted = await one(codec.encode([payloadOf({ vm: 'planted-name' })]));
    assert.deepEqual(Object.keys(encrypted.metadata ?? {}), ['encoding', 'encryption-key-id']);
    const text = JSON.stringify(Object.values({ ...encrypted.metadata, data: encrypted.data }).map(String));
    assert.doesNotMatch(text, /planted|json\/plain/);
    assert.deepEqual(valueOf(await one(codec.decode([encrypted]))), { vm: 'planted-name' });
  });

  test('makes something else of the same value each time', async () => {
    const [a, b] = await codec.encode([payloadOf('same'), payloadOf('same')]);
    assert.notDeepEqual(a?.data, b?.data);
  });

  test('reads what is plain as it is', async () => {
    const plain = payloadOf('from the Web UI');
    assert.deepEqual(await codec.decode([plain]), [plain]);
  });

  test('refuses what was changed on the way, cut, or encrypted with another key of the same name', async () => {
    const encrypted = await one(codec.encode([payloadOf('true')]));
    const data = Buffer.from(encrypted.data ?? '');
    for (const index of [0, 12, data.length - 1]) {
      const changed = Buffer.from(data);
      changed[index] = (changed[index] ?? 0) ^ 1;
      await assert.rejects(
        codec.decode([{ ...encrypted, data: changed }]),
        /was changed, or encrypted with another key named k1/,
      );
    }
    await assert.rejects(codec.decode([{ ...encrypted, data: data.subarray(0, 27) }]), /too short/);
    const other = encryptingCodec(keysOf(`k1 ${key()}`));
    await assert.rejects(other.decode([encrypted]), /another key named k1.*VMFLOW_CODEC_KEYS_FILE/);
  });

  test('a new first key encrypts from then on, the old one still decrypts; without it the message names it', async () => {
    const [old, fresh] = [`k1 ${key()}`, `k2 ${key()}`];
    const before = await one(encryptingCodec(keysOf(old)).encode([payloadOf('old')]));
    const rotated = encryptingCodec(keysOf('# from today', '', fresh, old));
    assert.equal(valueOf(await one(rotated.decode([before]))), 'old');
    const after = await one(rotated.encode([payloadOf('new')]));
    assert.equal(String(after.metadata?.['encryption-key-id']), 'k2');
    await assert.rejects(
      encryptingCodec(keysOf(fresh)).decode([before]),
      /encrypted with the key k1, which the key file here doesn't have/,
    );
  });

  test('without keys what is encrypted is refused with the key that is missing', async () => {
    const encrypted = await one(codec.encode([payloadOf(1)]));
    await assert.rejects(
      plainCodec.decode([encrypted]),
      /encrypted with the key k1, and no key file is set: set VMFLOW_CODEC_KEYS_FILE/,
    );
    assert.deepEqual(await plainCodec.encode([payloadOf(1)]), [payloadOf(1)]);
  });

  test('a whole message is decoded, however deep; what has a lost key stays', async () => {
    const lost = encryptingCodec(keysOf(`k0 ${key()}`));
    const message = {
      time: { seconds: 1, unsigned: false },
      events: [
        { input: { payloads: await codec.encode([payloadOf('one')]) } },
        { memo: { fields: { a: await one(codec.encode([payloadOf(2)])), b: await one(lost.encode([payloadOf(3)])) } } },
        {
          failure: {
            message: 'Encoded failure',
            encodedAttributes: await one(codec.encode([payloadOf({ message: 'disk is full', stack_trace: 'at x' })])),
          },
        },
      ],
    } as const;
    const { events, time } = await decoded(message, codec);
    const [started, upserted, failed] = events;
    assert.equal(time, message.time);
    assert.equal(valueOf(started.input.payloads[0]!), 'one');
    assert.equal(valueOf(upserted.memo.fields.a), 2);
    assert.ok(isEncrypted(upserted.memo.fields.b));
    assert.equal(failed.failure.message, 'disk is full');
  });

  test('decoding leaves the message as it was, and takes over what has nothing to decode', async () => {
    const encrypted = await one(codec.encode([payloadOf('one')]));
    const message = { events: [{ payloads: [payloadOf('plain')] }, { payloads: [encrypted] }] };
    const { events } = await decoded(message, codec);
    assert.equal(events[0], message.events[0]);
    assert.equal(valueOf(events[1]!.payloads[0]!), 'one');
    assert.ok(isEncrypted(message.events[1]!.payloads[0]!));
    assert.equal(await decoded(message.events[0], codec), message.events[0]);
  });

  test('a long history is decoded without holding up the process', async () => {
    const payloads = await codec.encode(Array.from({ length: 1_000 }, (_, index) => payloadOf(index)));
    let hadItsTurn = false;
    setImmediate(() => (hadItsTurn = true));
    assert.deepEqual((await decoded({ payloads }, codec)).payloads.map(valueOf).slice(-2), [998, 999]);
    assert.ok(hadItsTurn);
  });
});

describe('a file of keys', () => {
  const bad: readonly (readonly [string, string, RegExp])[] = [
    ['no key at all', '# nothing yet\n', /keys has no key; one is made with/],
    ['a line that is no key', 'k1\n', /keys:1: a line is a name/],
    ['a short key', `# x\nk1 ${randomBytes(16).toString('base64')}`, /keys:2: the key k1 is not 32 bytes/],
    ['something else than Base64', `k1 ${'!'.repeat(44)}`, /keys:1: the key k1 is not 32 bytes/],
    ['a name twice', `k1 ${key()}\nk1 ${key()}`, /two keys named k1/],
  ];
  for (const [what, text, message] of bad) {
    test(`${what} is refused with its place, without telling a key`, () => {
      assert.throws(
        () => parseCodecKeys(text, 'keys'),
        (error: Error) => {
          assert.match(error.message, message);
          const secret = /k1 (\S{20,})/.exec(text)?.[1];
          return secret === undefined || !error.message.includes(secret);
        },
      );
    });
  }

  test('is needed only where it is named, must be there, and is no file for everybody', async (t) => {
    assert.equal(await codecOf({}), undefined);
    const dir = await mkdtemp(join(tmpdir(), 'vmflow-keys-'));
    t.after(() => rm(dir, { recursive: true }));
    const path = join(dir, 'keys');
    await assert.rejects(codecOf({ VMFLOW_CODEC_KEYS_FILE: path }), /can't be read: .*ENOENT/);
    await writeFile(path, `k1 ${key()}\n`, { mode: 0o600 });
    assert.ok((await codecOf({ VMFLOW_CODEC_KEYS_FILE: path })) !== undefined);
    await chmod(path, 0o644);
    await assert.rejects(codecOf({ VMFLOW_CODEC_KEYS_FILE: path }), /can be read by everybody.*chmod o=/);
  });
});
