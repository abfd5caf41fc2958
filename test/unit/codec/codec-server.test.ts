import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { request } from 'undici';
import { parseCodecKeys } from '../../../activities/codec/keys.ts';
import { encryptingCodec } from '../../../activities/codec/payload-codec-adapter.ts';
import { serveCodec, type RunningCodecServer } from '../../../workers/codec/codec-server.ts';

const ui = 'https://temporal.example';

describe('the codec server', () => {
  let server: RunningCodecServer;
  const warnings: string[] = [];
  before(async () => {
    server = await serveCodec({
      address: { host: '127.0.0.1', port: 0 },
      codec: encryptingCodec(parseCodecKeys(`k1 ${randomBytes(32).toString('base64')}`, 'keys')),
      origins: [ui],
      log: { warn: (_facts, message) => void warnings.push(message) },
    });
  });
  after(() => server.close());

  async function ask(path: string, body: unknown, more: { method?: 'GET' | 'OPTIONS'; origin?: string } = {}) {
    const { method = 'POST', origin } = more;
    const {
      statusCode,
      headers,
      body: answer,
    } = await request(`http://127.0.0.1:${server.port}${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(origin === undefined ? {} : { origin, 'access-control-request-headers': 'x-namespace,authorization' }),
      },
      body: method === 'POST' ? (typeof body === 'string' ? body : JSON.stringify(body)) : null,
    });
    const text = await answer.text();
    return {
      statusCode,
      headers,
      json: (text === '' ? {} : JSON.parse(text)) as { payloads?: object[]; message?: string },
    };
  }

  const plain = { metadata: { encoding: 'anNvbi9wbGFpbg==' }, data: 'ImhlbGxvIg==' };

  test('encodes and decodes as Temporal asks it to, behind any prefix', async () => {
    const { json: encrypted } = await ask('/encode', { payloads: [plain] });
    assert.doesNotMatch(JSON.stringify(encrypted), /ImhlbGxvIg/);
    const { json: back } = await ask('/any/prefix/decode', encrypted);
    assert.deepEqual(back, { payloads: [plain] });
  });

  test('leaves alone what is plain when decoding, and what is encrypted already when encoding', async () => {
    assert.deepEqual((await ask('/decode', { payloads: [plain] })).json, { payloads: [plain] });
    const { json: once } = await ask('/encode', { payloads: [plain] });
    assert.deepEqual((await ask('/encode', once)).json, once);
  });

  test('lets pages of the Web UI call it, and of nobody else', async () => {
    const allowed = await ask('/decode', '', { method: 'OPTIONS', origin: ui });
    assert.equal(allowed.statusCode, 204);
    assert.equal(allowed.headers['access-control-allow-origin'], ui);
    assert.equal(allowed.headers['access-control-allow-headers'], 'x-namespace,authorization');
    const others = await ask('/decode', '', { method: 'OPTIONS', origin: 'https://elsewhere.example' });
    assert.equal(others.headers['access-control-allow-origin'], undefined);
  });

  const refused: readonly (readonly [string, string, unknown, number, RegExp])[] = [
    ['another path', '/payloads', { payloads: [] }, 404, /there are \/encode and \/decode/],
    ['a body that is no JSON', '/decode', '{', 400, /is no JSON/],
    ['a body without payloads', '/decode', {}, 400, /has no "payloads"/],
    [
      'what it has no key for',
      '/decode',
      { payloads: [{ metadata: { encoding: 'YmluYXJ5L2VuY3J5cHRlZA==', 'encryption-key-id': 'azk=' }, data: '' }] },
      400,
      /the key k9/,
    ],
  ];
  for (const [what, path, body, status, message] of refused) {
    test(`refuses ${what}, and says why there and in its log`, async () => {
      const { statusCode, json } = await ask(path, body);
      assert.equal(statusCode, status);
      assert.match(json.message ?? '', message);
      assert.match(warnings.at(-1) ?? '', message);
    });
  }

  test('GET is no way to decode', async () => {
    assert.equal((await ask('/decode', '', { method: 'GET' })).statusCode, 405);
    assert.equal((await ask('/livez', '', { method: 'GET' })).statusCode, 200);
  });
});
