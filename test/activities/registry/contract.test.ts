import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Registry, RegistryEndpoint } from '../../../activities/registry/port.ts';
import { dropTag, readTag } from '../../../activities/registry/snapshot.ts';
import { createRegistry } from '../../../activities/registry/undici-adapter.ts';
import { startRegistry, type RegistryOptions, type RegistryUnderTest } from '../../stack/registry.ts';
import { waitFor } from '../../support/wait-for.ts';
import { endpointAt, push, refusal, repository, snapshotManifest } from './builders.ts';

const open: Registry[] = [];
const running: RegistryUnderTest[] = [];

async function started(options: RegistryOptions = {}): Promise<RegistryUnderTest> {
  const registry = await startRegistry(options);
  running.push(registry);
  return registry;
}

function connect(real: RegistryUnderTest, more: Partial<RegistryEndpoint> = {}): Registry {
  const { user, password } = real;
  const registry = createRegistry(
    endpointAt(real.url, { credentials: { kind: 'password', user, password }, ...more }),
    {
      allowInsecureTls: false,
    },
  );
  open.push(registry);
  return registry;
}

after(async () => {
  await Promise.all(open.map((registry) => registry.close()));
  await Promise.all(running.map((registry) => registry.stop()));
});

for (const auth of ['none', 'htpasswd', 'token'] as const) {
  describe(`a registry with auth ${auth}`, () => {
    let real: RegistryUnderTest;
    let registry: Registry;
    before(async () => {
      real = await started({ auth });
      registry = connect(real);
    });

    test('is there and knows us', () => registry.ping());

    test('says of a tag what it stands for, by tag and by digest', async () => {
      const stored = await push(real, 'read');
      const manifest = await registry.manifest(repository, 'read');
      assert.deepEqual(manifest, {
        digest: stored.digest,
        mediaType: 'application/vnd.oci.image.manifest.v1+json',
        artifactType: 'application/vnd.cocoonstack.snapshot.v1+json',
        annotations: {
          'cocoonstack.snapshot.baseimage': 'base:1',
          'org.opencontainers.image.created': '2026-01-02T03:04:05Z',
        },
        config: manifest?.config,
        layers: [],
      });
      assert.equal(manifest.config?.digest, stored.configDigest);
      assert.deepEqual(await registry.manifest(repository, stored.digest), manifest);
      assert.equal(await registry.digest(repository, 'read'), stored.digest);
      assert.equal(await registry.digest(repository, stored.digest), stored.digest);
    });

    test('says that a tag, a digest and a repository are unknown', async () => {
      await push(real, 'other');
      const { digest } = snapshotManifest(404);
      for (const reference of ['nothing', digest])
        for (const name of [repository, 'vk-demo-nobody-0']) {
          assert.equal(await registry.manifest(name, reference), undefined);
          assert.equal(await registry.digest(name, reference), undefined);
          assert.equal(await registry.remove(name, reference), false);
        }
    });

    test('drops a tag once, and leaves others with the same content', async () => {
      const { digest } = await push(real, 'first', 2);
      await push(real, 'second', 2);
      assert.equal(await registry.remove(repository, 'first'), true);
      assert.equal(await registry.remove(repository, 'first'), false);
      assert.equal(await registry.digest(repository, 'second'), digest);
    });

    test('drops by digest every tag with that content', async () => {
      const { digest } = await push(real, 'one', 3);
      await push(real, 'two', 3);
      assert.equal(await registry.remove(repository, digest), true);
      assert.equal(await registry.digest(repository, 'one'), undefined);
      assert.equal(await registry.digest(repository, 'two'), undefined);
      assert.equal(await registry.remove(repository, digest), false);
    });

    test('knows which blobs it has', async () => {
      const { configDigest } = await push(real, 'blobs', 4);
      assert.equal(await registry.hasBlob(repository, configDigest), true);
      assert.equal(await registry.hasBlob(repository, snapshotManifest(404).configDigest), false);
      assert.equal(await registry.hasBlob('vk-demo-nobody-0', configDigest), false);
    });

    test('keeps what lies below the prefix apart', async () => {
      const below = connect(real, { prefix: 'team/vms' });
      const { digest } = await push(real, 'below', 5, { name: `team/vms/${repository}` });
      assert.equal(await below.digest(repository, 'below'), digest);
      assert.equal(await registry.digest(repository, 'below'), undefined);
    });
  });
}

describe('a registry that wants a password', () => {
  let real: RegistryUnderTest;
  before(async () => void (real = await started({ auth: 'htpasswd' })));

  for (const [what, credentials] of [
    ['none', { kind: 'none' }],
    ['a wrong one', { kind: 'password', user: 'vmflow', password: 'mistyped' }],
    ['a token instead', { kind: 'token', token: 'secret-token' }],
  ] as const)
    test(`refuses who brings ${what}, and nothing is absent for them`, async () => {
      const registry = connect(real, { credentials });
      for (const attempt of [
        () => registry.ping(),
        () => registry.manifest(repository, 'hibernate'),
        () => registry.digest(repository, 'hibernate'),
        () => registry.remove(repository, 'hibernate'),
      ]) {
        const error = await refusal(attempt(), 'Unauthorized');
        assert.equal(error.status, 401);
        assert.match(error.message, /^The registry main refused to .* \(401\).* Check the credentials/);
        assert.doesNotMatch(error.message, /mistyped|secret-token/);
      }
      const tag = await readTag(registry, repository, 'hibernate');
      assert.equal(tag.state, 'unknown');
    });
});

describe('a registry that wants tokens', () => {
  let real: RegistryUnderTest;
  before(async () => void (real = await started({ auth: 'token' })));
  const asked = (): readonly string[] => real.tokens!.requests().map(({ scope }) => scope);

  test('gets one token for many requests of one kind, and another one for deletions', async () => {
    await push(real, 'tokens');
    const registry = connect(real);
    const before_ = asked().length;
    for (let round = 0; round < 3; round += 1) await registry.manifest(repository, 'tokens');
    await registry.digest(repository, 'tokens');
    assert.deepEqual(asked().slice(before_), [`repository:${repository}:pull`]);
    await registry.remove(repository, 'tokens');
    await registry.remove(repository, 'tokens');
    assert.deepEqual(asked().slice(before_ + 1), [`repository:${repository}:delete`]);
  });

  test('gets a new one when the old one has ended', async () => {
    real.tokens!.setLifetime(1);
    const registry = connect(real);
    await registry.manifest(repository, 'x');
    const before_ = asked().length;
    await waitFor('a new token to be asked for', async () => {
      await registry.manifest(repository, 'x');
      return asked().length > before_;
    });
    real.tokens!.setLifetime(60);
  });

  test('asks anew when the registry no longer takes a kept one', async () => {
    const own = await started({ auth: 'token' });
    const registry = connect(own);
    own.tokens!.setLifetime(-120); // dead on arrival for the registry, for us it lives a minute
    await refusal(registry.manifest(repository, 'x'), 'Unauthorized');
    own.tokens!.setLifetime(60);
    assert.equal(await registry.manifest(repository, 'x'), undefined);
  });

  test('says that a right is missing as soon as it is, and takes it when it is given', async () => {
    await push(real, 'guarded');
    real.tokens!.setUser('reader', { password: 'r', actions: ['pull'] });
    const reader = connect(real, { credentials: { kind: 'password', user: 'reader', password: 'r' } });
    assert.equal((await readTag(reader, repository, 'guarded')).state, 'present');
    const error = await refusal(reader.remove(repository, 'guarded'), 'Forbidden');
    assert.equal(error.status, 401);
    assert.match(error.message, /refused to delete vk-demo-web-0:guarded \(401\).* Grant the account this right/);
    real.tokens!.setUser('reader', { password: 'r' });
    assert.equal(await reader.remove(repository, 'guarded'), true);
  });

  test('lets read who brings nothing, where the service does', async () => {
    await push(real, 'public');
    const anonymous = connect(real, { credentials: { kind: 'none' } });
    assert.equal((await readTag(anonymous, repository, 'public')).state, 'present');
    await refusal(anonymous.remove(repository, 'public'), 'Forbidden');
  });

  test('takes a token that was made beforehand, and only for what it allows', async () => {
    const { digest } = await push(real, 'static');
    const token = real.tokens!.issue([{ type: 'repository', name: repository, actions: ['pull'] }]);
    const registry = connect(real, { credentials: { kind: 'token', token } });
    const before_ = asked().length;
    await registry.ping();
    assert.equal(await registry.digest(repository, 'static'), digest);
    await refusal(registry.remove(repository, 'static'), 'Forbidden');
    const ended = real.tokens!.issue([{ type: 'repository', name: repository, actions: ['pull'] }], -120);
    const late = connect(real, { credentials: { kind: 'token', token: ended } });
    const error = await refusal(late.manifest(repository, 'static'), 'Unauthorized');
    assert.ok(!error.message.includes(ended));
    assert.equal(asked().length, before_, 'no other token is asked for');
  });

  test('is not asked while the service refuses the password, is busy or away', async () => {
    const wrong = connect(real, { credentials: { kind: 'password', user: 'vmflow', password: 'mistyped' } });
    const refused = await refusal(wrong.manifest(repository, 'x'), 'Unauthorized');
    assert.match(
      refused.message,
      /^The token service 127\.0\.0\.1:\d+ refused to give a token to read vk-demo-web-0:x/,
    );
    assert.doesNotMatch(refused.message, /mistyped/);
    for (const [status, reason] of [
      [429, 'TooManyRequests'],
      [503, 'Unavailable'],
      [403, 'Forbidden'],
      [404, 'Unexpected'],
    ] as const) {
      real.tokens!.setFailure(status);
      await refusal(connect(real).manifest(repository, 'x'), reason);
    }
    real.tokens!.setFailure(undefined);
  });
});

test('a registry that deletes nothing says so', async () => {
  const real = await started({ deletion: false });
  const { digest } = await push(real, 'kept');
  const registry = connect(real);
  for (const reference of ['kept', 'nothing', digest]) {
    const error = await refusal(registry.remove(repository, reference), 'DeletionDisabled');
    assert.match(
      error.message,
      /\(405\): UNSUPPORTED The operation is unsupported\. Turn deletion on in the registry\./,
    );
  }
  assert.equal(await registry.digest(repository, 'kept'), digest);
});

describe('names that no registry takes', () => {
  let real: RegistryUnderTest;
  before(async () => void (real = await started()));

  for (const [what, name, reference] of [
    ['capitals', 'VM', 'hibernate'],
    ['an empty name', '', 'hibernate'],
    ['a way out', '../catalog', 'hibernate'],
    ['a query', 'vm?x=1', 'hibernate'],
    ['a name too long', 'v'.repeat(256), 'hibernate'],
    ['a tag with a slash', 'vm', 'a/b'],
    ['an empty tag', 'vm', ''],
    ['half a digest', 'vm', 'sha256:abc'],
  ] as const)
    test(`${what}: never sent`, async () => {
      const registry = connect(real);
      await real.kill();
      await refusal(registry.manifest(name, reference), 'Invalid');
      await refusal(registry.remove(name, reference), 'Invalid');
    });

  test('the longest name is taken', async () => {
    await real.restart();
    assert.equal(await connect(real).manifest('v'.repeat(255), 'hibernate'), undefined);
  });
});

describe('the tag of a VM', () => {
  let real: RegistryUnderTest;
  let registry: Registry;
  before(async () => {
    real = await started();
    registry = connect(real);
  });

  test('is read as what was stored under it', async () => {
    assert.deepEqual(await readTag(registry, repository, 'hibernate'), { state: 'absent' });
    const { digest } = await push(real, 'hibernate');
    const present = { state: 'present', digest, isSnapshot: true, baseImage: 'base:1' };
    assert.deepEqual(await readTag(registry, repository, 'hibernate'), {
      ...present,
      createdAt: '2026-01-02T03:04:05.000Z',
    });
  });

  test('goes when it is the one that was meant, and once', async () => {
    const { digest } = await push(real, 'meant', 6);
    assert.equal(await dropTag(registry, repository, 'meant', digest), 'dropped');
    assert.equal(await dropTag(registry, repository, 'meant', digest), 'absent');
    await push(real, 'meant', 7);
    assert.equal(await dropTag(registry, repository, 'meant'), 'dropped');
  });

  test('stays when another snapshot stands under it meanwhile', async () => {
    const { digest: old } = await push(real, 'moved', 8);
    const { digest } = await push(real, 'moved', 9);
    assert.equal(await dropTag(registry, repository, 'moved', old), 'changed');
    assert.equal(await registry.digest(repository, 'moved'), digest);
  });

  test('stays when what it stands for is no snapshot', async () => {
    const artifactType = 'application/vnd.example.thing+json';
    const { digest } = await push(real, 'thing', 10, { artifactType });
    const tag = await readTag(registry, repository, 'thing');
    assert.equal(tag.state === 'present' && tag.isSnapshot, false);
    assert.equal(await dropTag(registry, repository, 'thing', digest), 'invalid');
    assert.equal(await registry.digest(repository, 'thing'), digest);
  });
});
