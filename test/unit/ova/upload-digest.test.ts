import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { inspectOva } from '../../../activities/ova/inspect.ts';
import { buildOva, smallDisk, type OvaOptions } from '../../support/ova-builder.ts';

let dir: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmflow-digest-'));
});
after(() => rm(dir, { recursive: true, force: true }));

const disks = [smallDisk(8 * 1024 * 1024, 'first'), smallDisk(16 * 1024 * 1024, 'second')];
const expected = disks.map((disk) => createHash('sha1').update(disk).digest('hex'));

const variants: readonly (readonly [string, Partial<OvaOptions>])[] = [
  ['with a SHA256 manifest', {}],
  ['with a SHA1 manifest', { manifest: { spelling: 'SHA1' } }],
  ['without a manifest', { manifest: false }],
  ['with the manifest at the end', { manifest: { position: 'last' } }],
];

for (const [i, [what, options]] of variants.entries()) {
  test(`an OVA ${what} tells the digest that vCenter will tell of each upload`, async () => {
    const { path } = await buildOva({ path: join(dir, `${i}.ova`), disks, ...options });
    const { files } = await inspectOva(path);
    assert.deepEqual(
      files.map(({ sha1 }) => sha1),
      expected,
    );
  });
}

test('the digests are there too when the manifest is not looked at', async () => {
  const { path } = await buildOva({ path: join(dir, 'off.ova'), disks });
  const { files } = await inspectOva(path, { verifyManifest: 'off' });
  assert.deepEqual(
    files.map(({ sha1 }) => sha1),
    expected,
  );
});
