import assert from 'node:assert/strict';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { readEntry } from '../../../activities/ova/entry-reader.ts';
import { inspectOva, type InspectOptions, type OvaInspection } from '../../../activities/ova/inspect.ts';
import { buildOva, smallDisk, type OvaOptions } from '../../support/ova-builder.ts';
import { scratchDir } from './scratch.ts';

interface Row {
  readonly what: string;
  readonly ova: Omit<OvaOptions, 'path'>;
  readonly inspect?: InspectOptions;
  /** Codes of the warnings. */
  readonly warnings?: readonly string[];
  readonly also?: (inspection: OvaInspection) => void;
}

const disk = smallDisk();
const strict: InspectOptions = { strictOva: true, verifyManifest: 'require' };
const onDisk =
  (change: object): NonNullable<OvaOptions['editMembers']> =>
  (members) =>
    members.map((member) => (member.name.endsWith('.vmdk') ? { ...member, ...change } : member));
const longName = `${'directory/'.repeat(20)}disk.vmdk`;

const rows: readonly Row[] = [
  { what: 'an OVA by the book', ova: {}, inspect: strict },
  {
    what: 'a descriptor that is not first',
    ova: { editMembers: (members) => members.toReversed() },
    warnings: ['OVA_DESCRIPTOR_NOT_FIRST'],
  },
  { what: 'names with ./ in front', ova: { prefix: './' }, inspect: strict },
  { what: 'a PAX header', ova: { editMembers: onDisk({ pax: { comment: 'x', mtime: '1.5' } }) }, inspect: strict },
  {
    what: 'a PAX header of 3 MiB',
    ova: { editMembers: onDisk({ pax: { comment: 'x'.repeat(3 * 2 ** 20) } }) },
    inspect: strict,
  },
  { what: 'a size in a PAX record', ova: { editMembers: onDisk({ sizeAs: 'pax' }) }, inspect: strict },
  { what: 'a size in base 256', ova: { editMembers: onDisk({ sizeAs: 'base256' }) }, inspect: strict },
  {
    what: 'a GNU long name',
    ova: {
      manifest: false,
      editDescriptor: (text) => text.replace('ovf:href="vm-disk1.vmdk"', `ovf:href="${longName}"`),
      editMembers: onDisk({ name: longName, gnuLongName: true }),
    },
    also: (inspection) => assert.equal(inspection.files[0]?.entryName, longName),
  },
  {
    what: 'a PAX path',
    ova: {
      manifest: false,
      editDescriptor: (text) => text.replace('ovf:href="vm-disk1.vmdk"', `ovf:href="${longName}"`),
      editMembers: onDisk({ pax: { path: longName } }),
    },
  },
  { what: 'GNU tar', ova: { tar: { magic: 'gnu' } }, inspect: strict },
  { what: 'a tar of version 7', ova: { tar: { magic: 'v7' } }, inspect: strict },
  { what: 'no end blocks', ova: { tar: { endBlocks: 0 } }, inspect: strict },
  { what: 'a single end block', ova: { tar: { endBlocks: 1 } }, inspect: strict },
  { what: 'blocking up to 10 KiB', ova: { tar: { endBlocks: 20 } }, inspect: strict },
  { what: 'anything behind the end blocks', ova: { tar: { trailer: Buffer.alloc(700, 'garbage') } }, inspect: strict },
  ...(['SHA1', 'SHA256', 'SHA512', 'SHA2-256', 'SHA-256', 'sha256'] as const).map((spelling): Row => ({
    what: `a manifest spelled ${spelling} (x) = …`,
    ova: { manifest: { spelling, style: 'blanks' } },
    inspect: strict,
  })),
  {
    what: 'a manifest with CRLF that lists itself',
    ova: { manifest: { extraLines: `SHA256(vm.mf)= ${'0'.repeat(64)}\r\n\r\n` } },
    inspect: strict,
  },
  { what: 'a manifest at the end', ova: { manifest: { position: 'last' } }, inspect: strict },
  { what: 'a manifest first', ova: { manifest: { position: 'first' } }, warnings: ['OVA_DESCRIPTOR_NOT_FIRST'] },
  { what: 'no manifest', ova: { manifest: false } },
  {
    what: 'a wrong manifest nobody wants to see',
    ova: { manifest: { wrong: ['vm.ovf'] } },
    inspect: { verifyManifest: 'off' },
  },
  {
    what: 'a manifest without the disk',
    ova: { manifest: { omit: ['vm-disk1.vmdk'] } },
    warnings: ['MANIFEST_MISSING'],
  },
  {
    what: 'a manifest with a line for a file that is not there',
    ova: { manifest: { extraLines: `SHA1(readme.txt)= ${'0'.repeat(40)}\n` } },
    warnings: ['MANIFEST_MISMATCH'],
  },
  {
    what: 'a wrong file size',
    ova: { editDescriptor: (text) => text.replace(/ovf:size="\d+"/, 'ovf:size="7"') },
    warnings: ['OVF_SIZE_MISMATCH'],
    also: (inspection) => assert.equal(inspection.files[0]?.size, disk.length),
  },
  { what: 'no file size', ova: { editDescriptor: (text) => text.replace(/ ovf:size="\d+"/, '') } },
  { what: 'a disk of unknown format', ova: { disks: [Buffer.alloc(5000, 1)] }, warnings: ['VMDK_FORMAT'] },
  { what: 'another product version', ova: {}, inspect: { targetVersion: '1.0' }, warnings: ['OVF_VERSION_MISMATCH'] },
  { what: 'no product version', ova: { descriptor: { productVersion: null } }, inspect: { targetVersion: '1.0' } },
  {
    what: 'companion files of macOS',
    ova: { editMembers: (members) => [...members, { name: './._vm.ovf', body: disk }] },
  },
  {
    what: 'links and devices nobody refers to',
    ova: {
      editMembers: (members) => [
        ...members,
        { name: '../../etc/passwd', typeFlag: '2', linkName: '/etc' },
        { name: 'null', typeFlag: '3' },
      ],
    },
  },
  { what: 'a byte order mark', ova: { editDescriptor: (text) => `\uFEFF${text}` } },
  { what: 'the envelope of version 2', ova: { descriptor: { namespace: 'http://schemas.dmtf.org/ovf/envelope/2' } } },
  { what: 'the legacy envelope', ova: { descriptor: { namespace: 'http://www.vmware.com/schema/ovf/1/envelope' } } },
  {
    what: 'an escaped file name',
    ova: {
      manifest: false,
      editDescriptor: (text) => text.replace('ovf:href="vm-disk1.vmdk"', 'ovf:href="my%20disk.vmdk"'),
      editMembers: onDisk({ name: 'my disk.vmdk' }),
    },
    also: (inspection) => assert.equal(inspection.files[0]?.href, 'my%20disk.vmdk'),
  },
];

for (const row of rows) {
  test(`template/39 ${row.what} is accepted`, async (t) => {
    const path = join(await scratchDir(t), 'odd.ova');
    const ova = await buildOva({ path, ...row.ova });
    const inspection = await inspectOva(path, { expectedSha256: ova.sha256, ...row.inspect });
    assert.deepEqual(
      inspection.warnings.map((warning) => warning.split(':')[0]),
      row.warnings ?? [],
    );
    assert.equal(inspection.sha256, ova.sha256);
    assert.equal(inspection.size, ova.size);
    assert.equal(inspection.disks.length, 1);
    row.also?.(inspection);
    if (row.ova.disks === undefined) assert.deepEqual(await readAll(path, inspection), [disk]);
  });
}

async function readAll(path: string, inspection: OvaInspection): Promise<Buffer[]> {
  return Promise.all(inspection.files.map((file) => readEntry(path, file)));
}

test('members behind the end marker do not exist', async (t) => {
  const dir = await scratchDir(t);
  const path = join(dir, 'two.ova');
  await buildOva({ path, manifest: false, editMembers: ([descriptor]) => [descriptor!] });
  const second = await buildOva({
    path: join(dir, 'second.ova'),
    manifest: false,
    editMembers: ([, member]) => [member!],
  });
  await appendFile(path, await readFile(second.path));
  await assert.rejects(inspectOva(path), { code: 'OVF_FILE_MISSING' });
});

test('an inspection tells all that an import needs', async (t) => {
  const path = join(await scratchDir(t), 'full.ova');
  const iso = Buffer.from('not really an ISO');
  const ova = await buildOva({
    path,
    name: 'node',
    disks: [smallDisk(), smallDisk(16 * 2 ** 20, 'second')],
    descriptor: {
      secureBoot: true,
      productVersion: '9.1',
      hardware: 'vmx-19',
      networks: ['prod net'],
      capacity: '3',
      capacityUnits: 'GigaBytes',
    },
    manifest: false,
    editDescriptor: (text) =>
      text
        .replace(
          '</References>',
          '<File ovf:id="iso" ovf:href="seed.iso"/><File ovf:id="eula" ovf:href="eula.txt"/></References>',
        )
        .replace(
          '</System>',
          '</System><Item><rasd:HostResource>ovf:/file/iso</rasd:HostResource><rasd:InstanceID>8</rasd:InstanceID><rasd:Parent>3</rasd:Parent><rasd:ResourceType>15</rasd:ResourceType></Item>',
        ),
    editMembers: ([descriptor, ...disks]) => [
      descriptor!,
      { name: 'eula.txt', body: iso },
      { name: 'seed.iso', body: iso },
      ...disks.toReversed(),
    ],
  });
  const { descriptor, files, ...facts } = await inspectOva(path, { targetVersion: '9.1' });
  assert.deepEqual(facts, {
    sha256: ova.sha256,
    size: ova.size,
    networks: ['prod net'],
    disks: [
      {
        diskId: 'vmdisk1',
        fileId: 'file1',
        fileHref: 'node-disk1.vmdk',
        capacityBytes: 3 * 2 ** 30,
        populatedBytes: 65536,
      },
      {
        diskId: 'vmdisk2',
        fileId: 'file2',
        fileHref: 'node-disk2.vmdk',
        capacityBytes: 3 * 2 ** 30,
        populatedBytes: 65536,
      },
    ],
    secureBoot: true,
    productVersion: '9.1',
    virtualSystemType: 'vmx-19',
    warnings: [],
  });
  assert.equal(descriptor.name, 'node.ovf');
  assert.match(descriptor.text, /^<\?xml/);
  assert.deepEqual(
    files.map(({ id, href }) => [id, href]),
    [
      ['file1', 'node-disk1.vmdk'],
      ['file2', 'node-disk2.vmdk'],
      ['iso', 'seed.iso'],
    ],
  );
  const contents = await readAll(path, { descriptor, files, ...facts });
  assert.deepEqual(contents, [smallDisk(), smallDisk(16 * 2 ** 20, 'second'), iso]);
});
