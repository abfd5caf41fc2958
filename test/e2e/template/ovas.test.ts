import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { OvaOptions } from '../../support/ova-builder.ts';
import { Rig, type Scenario } from '../../support/rig.ts';

let rig: Rig;
before(async () => {
  rig = await Rig.start();
});
after(() => rig.stop());

const edited =
  (from: RegExp, to: string) =>
  (text: string): string => {
    const result = text.replace(from, to);
    assert.notEqual(result, text, `nothing to replace for ${String(from)}`);
    return result;
  };

interface BadOva {
  readonly what: string;
  readonly code: string;
  readonly ova?: Partial<OvaOptions>;
  /** Digest of the request instead of the file's. */
  readonly sha256?: string;
  readonly gzip?: true;
  readonly says?: RegExp;
}

const badOvas: readonly BadOva[] = [
  {
    what: 'truncated tar',
    code: 'OVA_TRUNCATED',
    ova: { truncateTo: -8192 },
    says: /within member "vm-disk1\.vmdk", of which \d+ of \d+ bytes are there/,
  },
  { what: 'wrong sha256', code: 'OVA_SHA256_MISMATCH', sha256: 'ab'.repeat(32) },
  { what: 'manifest mismatch', code: 'MANIFEST_MISMATCH', ova: { manifest: { wrong: ['vm-disk1.vmdk'] } } },
  { what: 'two networks', code: 'OVF_NETWORKS', ova: { descriptor: { networks: ['VM Network', 'other'] } } },
  {
    what: 'missing vmdk',
    code: 'OVF_FILE_MISSING',
    ova: { manifest: false, editMembers: ([descriptor, disk]) => [descriptor!, { ...disk!, name: 'renamed.vmdk' }] },
    says: /refers to file "vm-disk1\.vmdk", which is not in the archive; it has "vm\.ovf", "renamed\.vmdk"/,
  },
  {
    what: 'no VirtualSystem',
    code: 'OVF_NO_VIRTUAL_SYSTEM',
    ova: { editDescriptor: edited(/<VirtualSystem[ >][\s\S]*<\/VirtualSystem>/, '') },
  },
  { what: 'disk without fileRef', code: 'OVF_DISK', ova: { editDescriptor: edited(/ ovf:fileRef="[^"]*"/, '') } },
  { what: 'gz-compressed', code: 'OVA_COMPRESSED', gzip: true },
  {
    what: 'DOCTYPE',
    code: 'OVF_XML',
    ova: { editDescriptor: edited(/\?>/, '?><!DOCTYPE Envelope [<!ENTITY x "y">]>') },
  },
  {
    what: 'two descriptors',
    code: 'OVA_MANY_DESCRIPTORS',
    ova: { editMembers: (members) => [...members, { name: 'other.ovf', body: Buffer.from('<Envelope/>') }] },
  },
];

async function build(
  scenario: Scenario,
  { ova = {}, gzip, sha256 }: BadOva,
): Promise<{ path: string; sha256: string }> {
  const built = await scenario.ova('417.94.2', ova);
  if (gzip) {
    const bytes = gzipSync(await readFile(built.path));
    await writeFile(built.path, bytes);
    return { path: built.path, sha256: createHash('sha256').update(bytes).digest('hex') };
  }
  return { path: built.path, sha256: sha256 ?? built.sha256 };
}

test('template/38, case/54 each bad OVA fails with its code, nothing is changed, and CreateImportSpec still answers', async () => {
  const scenario = await rig.scenario();
  await Promise.all(badOvas.map((_, index) => scenario.template(`fd${index}`, '416.94.1')));
  const before = await scenario.inventory();
  const failures = await Promise.all(
    badOvas.map(async (bad, index) => {
      const ova = await build(scenario, bad);
      const request = { ...scenario.request({ prodName: `fd${index}` }), source: { kind: 'file', ...ova } as const };
      const swap = await scenario.start(request);
      return await swap.failure();
    }),
  );
  assert.deepEqual(
    failures.map(({ details, type }, index) => [badOvas[index]?.what, type, details?.code]),
    badOvas.map(({ what, code }) => [what, 'InvalidRequest', code]),
  );
  for (const [index, { says, what }] of badOvas.entries()) {
    const message = failures[index]?.message ?? '';
    assert.match(message, /nothing was changed/, what);
    if (says) assert.match(message, says);
  }
  assert.deepEqual(rig.proxy.mutating(), []);
  assert.ok(!rig.proxy.requests().some(({ method }) => method === 'CreateImportSpec'));
  assert.deepEqual(await scenario.inventory(), before);

  const result = await scenario.swap({ prodName: 'fd0', ova: await scenario.ova() });
  assert.equal(result.outcome, 'swapped');
});

interface OddOva {
  readonly what: string;
  readonly ova: Partial<OvaOptions>;
  readonly warning?: string;
}

const oddOvas: readonly OddOva[] = [
  {
    what: 'descriptor not first',
    ova: { editMembers: (members) => members.toReversed() },
    warning: 'OVA_DESCRIPTOR_NOT_FIRST',
  },
  { what: './ prefixes', ova: { prefix: './' } },
  {
    what: 'PAX header',
    ova: { editMembers: (members) => members.map((member) => ({ ...member, pax: { comment: 'x', mtime: '1.5' } })) },
  },
  { what: 'manifest spelled SHA256 (x) = …', ova: { manifest: { style: 'blanks' } } },
  { what: 'manifest at the end', ova: { manifest: { position: 'last' } } },
  { what: 'no manifest', ova: { manifest: false } },
  {
    what: 'wrong ovf:size',
    ova: { editDescriptor: edited(/ovf:size="\d+"/, 'ovf:size="7"') },
    warning: 'OVF_SIZE_MISMATCH',
  },
];

test('template/39 odd but good OVAs are imported', async () => {
  const scenario = await rig.scenario();
  const results = await Promise.all(
    oddOvas.map(async ({ ova }, index) => {
      const prodName = `fd${index}`;
      return await scenario.swap({
        prodName,
        ova: await scenario.ova('417.94.2', ova),
        options: { createIfMissing: true },
      });
    }),
  );
  for (const [index, { what, warning }] of oddOvas.entries()) {
    const result = results[index];
    assert.equal(result?.outcome, 'created', what);
    assert.equal(result.prod?.version, '417.94.2', what);
    assert.deepEqual(
      result.warnings.map((text) => /^[A-Z_]+/.exec(text)?.[0]),
      warning === undefined ? [] : [warning],
      what,
    );
  }
  const left = await scenario.inventory();
  assert.deepEqual(left.map(({ name }) => name).sort(), oddOvas.map((_, index) => `fd${index}`).sort());
  assert.ok(left.every(({ template }) => template));
  const uploaded = await rig.vcsim.control.transfers();
  assert.ok(uploaded.filter(({ done }) => done).length >= oddOvas.length);
});
