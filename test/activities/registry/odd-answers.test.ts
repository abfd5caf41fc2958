import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Registry, RegistryErrorReason } from '../../../activities/registry/port.ts';
import { readTag } from '../../../activities/registry/snapshot.ts';
import { createRegistry } from '../../../activities/registry/undici-adapter.ts';
import { digestOf, endpointAt, refusal, repository, snapshotManifest } from './builders.ts';
import { errors, startScriptedRegistry, type Scripted, type ScriptedRegistry } from './scripted-registry.ts';

let scripted: ScriptedRegistry;
let registry: Registry;
/** Gives up soon: for what is never answered. */
let hasty: Registry;
const stored = snapshotManifest(1);
const json = { 'content-type': 'application/json' };
const good: Scripted = { status: 200, headers: { 'docker-content-digest': stored.digest }, body: stored.text };

before(async () => {
  scripted = await startScriptedRegistry();
  const within = (requestTimeoutMs: number): Registry =>
    createRegistry(endpointAt(scripted.url, { requestTimeoutMs }), { allowInsecureTls: false });
  [registry, hasty] = [within(30_000), within(300)];
});
after(async () => {
  await Promise.all([registry.close(), hasty.close()]);
  await scripted.stop();
});

const secretPage = '<html>secret-cookie=abc</html>';
const basic = { 'www-authenticate': 'Basic realm="x"' };

/** Answers that leave open whether there is a tag. */
const table: readonly (readonly [what: string, answer: Scripted | undefined, reason: RegistryErrorReason])[] = [
  ['no answer at all', undefined, 'Timeout'],
  ['500', { status: 500, body: errors('UNKNOWN') }, 'Unavailable'],
  ['502 of a proxy', { status: 502, body: secretPage }, 'Unavailable'],
  ['503', { status: 503 }, 'Unavailable'],
  ['429', { status: 429, headers: { 'retry-after': '7' }, body: errors('TOOMANYREQUESTS') }, 'TooManyRequests'],
  ['401', { status: 401, headers: basic, body: errors('UNAUTHORIZED') }, 'Unauthorized'],
  ['403', { status: 403, body: errors('DENIED') }, 'Forbidden'],
  ['404 without a body', { status: 404 }, 'Unexpected'],
  ['404 of a proxy', { status: 404, body: secretPage }, 'Unexpected'],
  ['404 that is text', { status: 404, body: '404 page not found\n' }, 'Unexpected'],
  ['404 of something else', { status: 404, body: errors('BLOB_UNKNOWN') }, 'Unexpected'],
  [
    '404 that means a format',
    {
      status: 404,
      body: JSON.stringify({ errors: [{ code: 'MANIFEST_UNKNOWN', message: 'OCI manifest found, but' }] }),
    },
    'Unexpected',
  ],
  ['404 whose errors are no list', { status: 404, body: '{"errors":"MANIFEST_UNKNOWN"}' }, 'Unexpected'],
  ['404 cut off', { status: 404, body: errors('MANIFEST_UNKNOWN'), half: true }, 'Unavailable'],
  ['a redirect', { status: 307, headers: { location: 'https://elsewhere.example/' } }, 'Unexpected'],
];

describe('nothing is concluded from', () => {
  for (const [what, answer, reason] of table)
    test(`${what}: not on reading, not on deleting`, async () => {
      scripted.play(() => answer);
      const asked = answer === undefined ? hasty : registry;
      const tag = await readTag(asked, repository, 'hibernate');
      assert.equal(tag.state, 'unknown');
      for (const attempt of [
        () => asked.manifest(repository, 'hibernate'),
        () => asked.digest(repository, 'hibernate'),
        () => asked.remove(repository, 'hibernate'),
      ]) {
        const error = await refusal(attempt(), reason);
        assert.doesNotMatch(error.message, /secret-cookie|elsewhere/);
        if (reason === 'TooManyRequests') assert.equal(error.retryAfterS, 7);
      }
    });

  const bodies: readonly (readonly [what: string, answer: Scripted, reason: RegistryErrorReason])[] = [
    ['200 without a digest', { status: 200, body: stored.text }, 'Unexpected'],
    ['200 with a digest of another kind', { ...good, headers: { 'docker-content-digest': 'md5:1' } }, 'Unexpected'],
    ['200 with other content', { ...good, body: snapshotManifest(2).text }, 'Unexpected'],
    ['200 with half the content', { ...good, half: true }, 'Unavailable'],
    ['200 of a login page', ofText('<html>log in</html>'), 'Unexpected'],
    ['200 with a list', ofText('[]'), 'Unexpected'],
    ['200 with something that is no manifest', ofText('{"mediaType":"application/json"}'), 'Unexpected'],
    ['200 with endless content', ofText('x'.repeat(4 * 1024 * 1024 + 1)), 'Unexpected'],
  ];
  for (const [what, answer, reason] of bodies)
    test(what, async () => {
      scripted.play(() => answer);
      await refusal(registry.manifest(repository, 'hibernate'), reason);
    });

  test('another digest than the one asked for', async () => {
    scripted.play(() => good);
    await refusal(registry.manifest(repository, snapshotManifest(2).digest), 'Unexpected');
    await refusal(registry.digest(repository, snapshotManifest(2).digest), 'Unexpected');
    assert.equal(await registry.digest(repository, stored.digest), stored.digest);
  });
});

function ofText(body: string): Scripted {
  return { status: 200, headers: { ...json, 'docker-content-digest': digestOf(body) }, body };
}

describe('reading', () => {
  test('asks for every kind of manifest, or a present one would be denied', async () => {
    scripted.play(() => good);
    await registry.manifest(repository, 'hibernate');
    assert.equal(
      scripted.header('accept'),
      'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json',
    );
  });

  for (const code of ['MANIFEST_UNKNOWN', 'NAME_UNKNOWN'])
    test(`takes ${code} for absent`, async () => {
      scripted.play(() => ({ status: 404, headers: json, body: errors(code) }));
      assert.deepEqual(await readTag(registry, repository, 'hibernate'), { state: 'absent' });
      assert.equal(await registry.remove(repository, 'hibernate'), false);
    });

  test('asks for the reason of a 404 to a HEAD', async () => {
    scripted.play(({ method }) =>
      method === 'HEAD' ? { status: 404 } : { status: 404, body: errors('NAME_UNKNOWN') },
    );
    assert.equal(await registry.digest(repository, 'hibernate'), undefined);
    assert.deepEqual(
      scripted.requests().map((line) => line.split(' ')[0]),
      ['HEAD', 'GET'],
    );
    scripted.play(({ method }) => (method === 'HEAD' ? { status: 404 } : good)); // some proxies answer HEAD like this
    assert.equal(await registry.digest(repository, 'hibernate'), stored.digest);
  });

  test('knows a manifest by its own type, and by the header where it has none', async () => {
    const index = 'application/vnd.oci.image.index.v1+json';
    scripted.play(() => ofText(JSON.stringify({ mediaType: index, manifests: [] })));
    assert.equal((await registry.manifest(repository, 'x'))?.mediaType, index);
    const untyped = ofText(JSON.stringify({ annotations: { a: 'b', c: 1 } }));
    scripted.play(() => ({ ...untyped, headers: { ...untyped.headers, 'content-type': `${index}; charset=utf-8` } }));
    const manifest = await registry.manifest(repository, 'x');
    assert.deepEqual([manifest?.mediaType, manifest?.annotations], [index, { a: 'b' }]);
    assert.equal((await readTag(registry, repository, 'x')).state, 'present');
  });

  test('ends with the reason of whoever gives it up', async () => {
    scripted.play(() => undefined);
    const abort = new AbortController();
    const reading = registry.manifest(repository, 'x', { signal: abort.signal });
    const reason = new Error('the activity was cancelled');
    setImmediate(() => abort.abort(reason));
    await assert.rejects(reading, (error) => error === reason);
    await assert.rejects(registry.ping({ signal: abort.signal }), (error) => error === reason);
  });
});

describe('deleting', () => {
  for (const status of [200, 202, 204])
    test(`is done at ${status}`, async () => {
      scripted.play(() => ({ status }));
      assert.equal(await registry.remove(repository, 'hibernate'), true);
    });

  test('is off where the registry says so in another way', async () => {
    scripted.play(() => ({ status: 400, body: errors('UNSUPPORTED') }));
    await refusal(registry.remove(repository, 'hibernate'), 'DeletionDisabled');
    scripted.play(() => ({ status: 405 }));
    await refusal(registry.remove(repository, 'hibernate'), 'DeletionDisabled');
    await refusal(registry.manifest(repository, 'hibernate'), 'Unexpected');
  });

  test('of a name that the registry refuses is not tried again', async () => {
    scripted.play(() => ({ status: 400, body: errors('NAME_INVALID') }));
    const error = await refusal(registry.remove(repository, 'hibernate'), 'Invalid');
    assert.match(
      error.message,
      /refused to delete vk-demo-web-0:hibernate \(400\): NAME_INVALID name_invalid message\.$/,
    );
  });

  test('long words of the registry are cut', async () => {
    scripted.play(() => ({ status: 403, body: errors('X'.repeat(9_000)) }));
    assert.ok((await refusal(registry.remove(repository, 'hibernate'), 'Forbidden')).message.length < 500);
  });
});

describe('a blob', () => {
  const { configDigest } = stored;
  test('that the registry keeps elsewhere is there', async () => {
    scripted.play(() => ({ status: 307, headers: { location: 'https://bucket.example/signed?secret=1' } }));
    assert.equal(await registry.hasBlob(repository, configDigest), true);
  });

  test('is missing only where the registry says so', async () => {
    scripted.play(() => ({ status: 404, body: errors('BLOB_UNKNOWN') }));
    assert.equal(await registry.hasBlob(repository, configDigest), false);
    scripted.play(({ method }) => (method === 'HEAD' ? { status: 404 } : { status: 206, body: '{' }));
    assert.equal(await registry.hasBlob(repository, configDigest), true);
    for (const [answer, reason] of [
      [{ status: 404 }, 'Unexpected'],
      [{ status: 404, body: errors('MANIFEST_UNKNOWN') }, 'Unexpected'],
      [{ status: 403 }, 'Forbidden'],
      [{ status: 500 }, 'Unavailable'],
    ] as const) {
      scripted.play(() => answer);
      await refusal(registry.hasBlob(repository, configDigest), reason);
    }
  });
});

describe('a server that is no registry', () => {
  for (const [what, answer] of [
    ['a web page', { status: 200, headers: { 'content-type': 'text/html' }, body: '<html></html>' }],
    ['nothing at that path', { status: 404, body: 'not found' }],
  ] as const)
    test(`is noticed: ${what}`, async () => {
      scripted.play(() => answer);
      await refusal(registry.ping(), 'Unexpected');
    });

  test('is none where it says that it is one', async () => {
    for (const answer of [
      { status: 200, body: '{}' },
      { status: 200, headers: { 'docker-distribution-api-version': 'registry/2.0' } },
    ] as const) {
      scripted.play(() => answer);
      await registry.ping();
    }
  });
});

describe('credentials', () => {
  const password = { kind: 'password', user: 'u', password: 'hunter2' } as const;

  async function attempt(challenge: string | readonly string[]): Promise<readonly string[]> {
    const own = createRegistry(endpointAt(scripted.url, { credentials: password }), {
      allowInsecureTls: false,
    });
    scripted.play(({ url = '', headers }) => {
      if (url.startsWith('/token')) return { status: 200, body: '{"access_token":"t-1"}' };
      return headers.authorization === undefined
        ? { status: 401, headers: { 'www-authenticate': challenge } }
        : { status: 404, body: errors('MANIFEST_UNKNOWN') };
    });
    try {
      await own.manifest(repository, 'hibernate');
      return [...scripted.requests()];
    } finally {
      await own.close();
    }
  }

  const read = `GET /v2/${repository}/manifests/hibernate`;
  const bearer = (): string => `Bearer realm="${scripted.url}/token?kind=a",service="s x"`;

  test('are not shown to a registry that does not ask for them', async () => {
    scripted.play(() => good);
    const own = createRegistry(endpointAt(scripted.url, { credentials: password }), { allowInsecureTls: false });
    await own.manifest(repository, 'hibernate');
    assert.equal(scripted.header('authorization'), undefined);
    await own.close();
  });

  test('become a token where several ways are offered, with the scope that was asked for', async () => {
    const token = `GET /token?kind=a&service=s+x&scope=repository%3A${repository}%3Apull`;
    assert.deepEqual(await attempt([basic['www-authenticate'], bearer()]), [read, token, read]);
    assert.equal(scripted.header('authorization'), 'Bearer t-1');
    assert.deepEqual(await attempt(`${basic['www-authenticate']}, ${bearer()}`), [read, token, read]);
  });

  test('become a token for the scope that the registry names', async () => {
    const [, token] = await attempt(`${bearer()},scope="repository:${repository}:pull,push"`);
    assert.match(token ?? '', /scope=repository%3Avk-demo-web-0%3Apull%2Cpush$/);
  });

  test('stay here where the registry names no place for tokens, or a way that we do not know', async () => {
    for (const realm of ['', 'realm="not a url"', 'realm="ftp://x/"', 'realm="https://u:p@x.example/"'])
      await refusal(attempt(`Bearer ${realm || 'service="s"'}`), 'Unexpected');
    await refusal(attempt('Negotiate'), 'Unauthorized');
    await refusal(attempt(''), 'Unauthorized');
  });

  test('a token service that gives none, or no JSON, is no reason to go on', async () => {
    for (const body of ['{}', '{"token":""}', '{"token":1}', '<html>']) {
      scripted.play(({ url = '' }) =>
        url.startsWith('/token') ? { status: 200, body } : { status: 401, headers: { 'www-authenticate': bearer() } },
      );
      await refusal(registry.manifest(repository, 'x'), 'Unexpected');
    }
  });
});
