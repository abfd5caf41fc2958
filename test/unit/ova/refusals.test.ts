import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { inspectOva, type InspectOptions } from '../../../activities/ova/inspect.ts';
import { SourceError, type SourceErrorCode } from '../../../activities/ova/source-error.ts';
import { buildOva, type OvaOptions } from '../../support/ova-builder.ts';
import { scratchDir } from './scratch.ts';

type Edit = (text: string) => string;

const replace =
  (from: string | RegExp, to: string): Edit =>
  (text) => {
    const edited = text.replace(from, to);
    assert.notEqual(edited, text, `nothing to replace for ${String(from)}`);
    return edited;
  };

/** Cuts an element with everything in it. */
const without = (name: string): Edit => replace(new RegExp(`<${name}[ >][\\s\\S]*</${name}>`), '');

const inDiskItem = (from: RegExp, to: string): Edit =>
  replace(new RegExp(`${from.source}(?=(?:(?!</Item>)[\\s\\S])*<rasd:ResourceType>17<)`), to);

interface Row {
  readonly what: string;
  readonly code: SourceErrorCode;
  /** What the message must name. */
  readonly says: RegExp;
  readonly ova?: Omit<OvaOptions, 'path'>;
  readonly inspect?: InspectOptions;
  /** Replaces the file after it was built. */
  readonly rewrite?: (bytes: Buffer) => Uint8Array;
}

const ofDescriptor = (what: string, code: SourceErrorCode, editDescriptor: Edit, says: RegExp): Row => ({
  what,
  code,
  says,
  ova: { editDescriptor },
});

const rows: readonly Row[] = [
  {
    what: 'something that is no tar',
    code: 'OVA_NOT_TAR',
    says: /no tar/,
    rewrite: () => Buffer.from(`<html>${'please log in '.repeat(100)}</html>`),
  },
  {
    what: 'a file shorter than a header',
    code: 'OVA_NOT_TAR',
    says: /no tar/,
    rewrite: () => Buffer.from('not found\n'),
  },
  {
    what: 'a damaged header behind the first member',
    code: 'OVA_NOT_TAR',
    says: /follows member "vm\.ovf"/,
    rewrite: (bytes) => {
      const manifest = bytes.indexOf('vm.mf\0');
      return bytes.fill(0x41, manifest, manifest + 8);
    },
  },
  {
    what: 'a gzip-compressed OVA',
    code: 'OVA_COMPRESSED',
    says: /compressed with gzip/,
    rewrite: (bytes) => gzipSync(bytes),
  },
  {
    what: 'an xz-compressed OVA',
    code: 'OVA_COMPRESSED',
    says: /compressed with xz/,
    rewrite: (bytes) => Buffer.concat([Buffer.from('fd377a585a000004', 'hex'), bytes]),
  },
  {
    what: 'a zip file',
    code: 'OVA_COMPRESSED',
    says: /compressed with zip/,
    rewrite: (bytes) => Buffer.concat([Buffer.from('PK\x03\x04'), bytes]),
  },
  { what: 'an empty file', code: 'OVA_TRUNCATED', says: /empty/, rewrite: () => Buffer.alloc(0) },
  {
    what: 'a tar cut within a disk',
    code: 'OVA_TRUNCATED',
    says: /within member "vm-disk1\.vmdk"/,
    ova: { truncateTo: 30_000 },
  },
  { what: 'a tar cut within a header', code: 'OVA_TRUNCATED', says: /in the header/, ova: { truncateTo: 4_096 + 300 } },
  {
    what: 'a tar cut right behind a header',
    code: 'OVA_TRUNCATED',
    says: /0 of \d+ bytes/,
    ova: { manifest: false, truncateTo: 4_096 + 512 },
  },
  {
    what: 'a disk whose PAX size of 9 GiB is not there',
    code: 'OVA_TRUNCATED',
    says: /of 9663676416 bytes/,
    ova: {
      editMembers: (members) =>
        members.map((member) =>
          member.name.endsWith('.vmdk') ? { ...member, sizeAs: 'pax', claimedSize: 9 * 2 ** 30 } : member,
        ),
    },
  },
  {
    what: 'another digest than requested',
    code: 'OVA_SHA256_MISMATCH',
    says: /sha256 is [0-9a-f]{64}, the request says 0{64}/,
    inspect: { expectedSha256: '0'.repeat(64) },
  },
  {
    what: 'an archive without descriptor',
    code: 'OVA_NO_DESCRIPTOR',
    says: /"vm\.mf", "vm-disk1\.vmdk"/,
    ova: { editMembers: (members) => members.filter((member) => !member.name.endsWith('.ovf')) },
  },
  {
    what: 'a descriptor below a directory only',
    code: 'OVA_NO_DESCRIPTOR',
    says: /"export\/vm\.ovf"/,
    ova: { editMembers: (members) => members.map((member) => ({ ...member, name: `export/${member.name}` })) },
  },
  {
    what: 'an empty archive',
    code: 'OVA_NO_DESCRIPTOR',
    says: /no members/,
    ova: { editMembers: () => [] },
  },
  {
    what: 'two descriptors',
    code: 'OVA_MANY_DESCRIPTORS',
    says: /"vm\.ovf", "other\.ovf"/,
    ova: { editMembers: (members) => [...members, { name: 'other.ovf', body: Buffer.from('<Envelope/>') }] },
  },
  {
    what: 'with strictOva a descriptor that is not first',
    code: 'OVA_DESCRIPTOR_NOT_FIRST',
    says: /not the first member/,
    ova: { editMembers: (members) => members.toReversed() },
    inspect: { strictOva: true },
  },
  {
    what: 'a descriptor that is a symbolic link',
    code: 'OVA_UNSAFE_ENTRY',
    says: /"vm\.ovf" is no regular file.*symlink/,
    ova: {
      editMembers: ([, ...others]) => [{ name: 'vm.ovf', typeFlag: '2', linkName: '/etc/passwd' }, ...others],
    },
  },
  {
    what: 'a descriptor with an absolute path',
    code: 'OVA_UNSAFE_ENTRY',
    says: /"\/vm\.ovf" has an absolute path/,
    ova: { editMembers: ([first, ...others]) => [{ ...first!, name: '/vm.ovf' }, ...others] },
  },
  ...(['1', '2', '3'] as const).map((typeFlag): Row => ({
    what: `a disk of type flag ${typeFlag}`,
    code: 'OVA_UNSAFE_ENTRY',
    says: /"vm-disk1\.vmdk" is no regular file/,
    ova: {
      manifest: false,
      editMembers: ([descriptor]) => [descriptor!, { name: 'vm-disk1.vmdk', typeFlag, linkName: 'vm.ovf' }],
    },
  })),
  {
    what: 'a disk that leads out of the archive',
    code: 'OVA_UNSAFE_ENTRY',
    says: /"\.\.\/vm-disk1\.vmdk" has an absolute path or leads out/,
    ova: {
      manifest: false,
      editDescriptor: replace('ovf:href="vm-disk1', 'ovf:href="../vm-disk1'),
      editMembers: ([descriptor, disk]) => [descriptor!, { ...disk!, name: '../vm-disk1.vmdk' }],
    },
  },
  {
    what: 'a disk that is in the archive twice',
    code: 'OVA_UNSAFE_ENTRY',
    says: /"vm-disk1\.vmdk" is in the archive 2 times/,
    ova: { editMembers: (members) => [...members, { ...members.at(-1)!, name: './vm-disk1.vmdk' }] },
  },
  {
    what: 'a descriptor of more than 10 MiB',
    code: 'OVF_TOO_LARGE',
    says: /10 MiB/,
    ova: { editDescriptor: (text) => text + ' '.repeat(10 * 2 ** 20) },
  },
  ofDescriptor('a descriptor cut short', 'OVF_XML', (text) => text.slice(0, -20), /not well-formed/),
  ofDescriptor('an undeclared entity', 'OVF_XML', replace('A virtual machine', '&who;'), /not well-formed.*entity/i),
  ofDescriptor(
    'a document type declaration',
    'OVF_XML',
    replace('?>', '?><!DOCTYPE Envelope SYSTEM "http://127.0.0.1/x.dtd">'),
    /document type declaration/,
  ),
  ofDescriptor(
    'entity declarations',
    'OVF_XML',
    replace('?>', '?><!DOCTYPE Envelope [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'),
    /document type declaration/,
  ),
  ofDescriptor('another declared encoding', 'OVF_XML', replace('UTF-8', 'UTF-16'), /encoding "UTF-16"/),
  {
    what: 'bytes that are no UTF-8',
    code: 'OVF_XML',
    says: /not encoded in UTF-8/,
    ova: {
      descriptorText: Buffer.from('<?xml version="1.0" encoding="UTF-8"?><Envelope>caf\xe9</Envelope>', 'latin1'),
    },
  },
  ofDescriptor('another root element', 'OVF_XML', () => '<html><body/></html>', /root element is "html"/),
  {
    what: 'an unknown envelope namespace',
    code: 'OVF_XML',
    says: /namespace "http:\/\/example\.org\/ovf"/,
    ova: { descriptor: { namespace: 'http://example.org/ovf' } },
  },
  ofDescriptor(
    'elements nested without end',
    'OVF_XML',
    replace('<Info>A virtual machine</Info>', `${'<x>'.repeat(200)}${'</x>'.repeat(200)}`),
    /deeper than 100/,
  ),
  ofDescriptor('no VirtualSystem', 'OVF_NO_VIRTUAL_SYSTEM', without('VirtualSystem'), /no VirtualSystem/),
  ofDescriptor(
    'a collection of virtual machines',
    'OVF_COLLECTION',
    (text) => text.replaceAll(/VirtualSystem(?=[ >])/g, 'VirtualSystemCollection'),
    /vApp/,
  ),
  ofDescriptor(
    'no hardware section',
    'OVF_NO_HARDWARE',
    without('VirtualHardwareSection'),
    /no VirtualHardwareSection/,
  ),
  ofDescriptor('hardware without System', 'OVF_NO_HARDWARE', without('System'), /no System element/),
  ofDescriptor(
    'a hardware item without type',
    'OVF_ITEM',
    replace('<rasd:ResourceType>3</rasd:ResourceType>', ''),
    /"2 virtual CPU\(s\)" \(InstanceID 1\) has no ResourceType/,
  ),
  ofDescriptor(
    'memory without quantity',
    'OVF_ITEM',
    replace('<rasd:VirtualQuantity>512</rasd:VirtualQuantity>', ''),
    /"512MB of memory".*no VirtualQuantity/,
  ),
  ofDescriptor(
    'a CD drive without Parent',
    'OVF_ITEM',
    replace(
      '</System>',
      '</System><Item><rasd:InstanceID>9</rasd:InstanceID><rasd:ResourceType>15</rasd:ResourceType></Item>',
    ),
    /CD drive without Parent/,
  ),
  { what: 'two networks', code: 'OVF_NETWORKS', says: /has "a", "b"/, ova: { descriptor: { networks: ['a', 'b'] } } },
  { what: 'no network', code: 'OVF_NETWORKS', says: /has none/, ova: { descriptor: { networks: [] } } },
  ofDescriptor(
    'a disk item without HostResource',
    'OVF_DISK',
    inDiskItem(/<rasd:HostResource>.*?<\/rasd:HostResource>/, ''),
    /"disk1" \(InstanceID 10\) is a disk without HostResource/,
  ),
  ofDescriptor(
    'a disk item without Parent',
    'OVF_DISK',
    inDiskItem(/<rasd:Parent>3<\/rasd:Parent>/, ''),
    /"disk1" .* is a disk without Parent/,
  ),
  ofDescriptor(
    'a disk item whose Parent does not exist',
    'OVF_DISK',
    inDiskItem(/<rasd:Parent>3<\/rasd:Parent>/, '<rasd:Parent>33</rasd:Parent>'),
    /Parent "33" is no controller/,
  ),
  ofDescriptor(
    'a disk item whose Parent is the memory',
    'OVF_DISK',
    inDiskItem(/<rasd:Parent>3<\/rasd:Parent>/, '<rasd:Parent>2</rasd:Parent>'),
    /Parent "2" is no controller/,
  ),
  ofDescriptor(
    'a disk item that points to an unknown disk',
    'OVF_DISK',
    replace('ovf:/disk/vmdisk1', 'ovf:/disk/vmdisk7'),
    /"ovf:\/disk\/vmdisk7", which is no Disk/,
  ),
  ofDescriptor('a disk without fileRef', 'OVF_DISK', replace(' ovf:fileRef="file1"', ''), /"vmdisk1" has no fileRef/),
  ofDescriptor(
    'a disk whose fileRef names no file',
    'OVF_DISK',
    replace('ovf:fileRef="file1"', 'ovf:fileRef="file7"'),
    /fileRef "file7", which is no File/,
  ),
  ofDescriptor(
    'an InstanceID used twice',
    'OVF_DISK',
    replace('<rasd:InstanceID>2<', '<rasd:InstanceID>1<'),
    /"512MB of memory" \(InstanceID 1\) has an InstanceID that another/,
  ),
  ofDescriptor(
    'a file id used twice',
    'OVF_DISK',
    replace('</References>', '<File ovf:id="file1" ovf:href="other"/></References>'),
    /File id "file1" is given twice/,
  ),
  ofDescriptor(
    'a disk id used twice',
    'OVF_DISK',
    replace('</DiskSection>', '<Disk ovf:diskId="vmdisk1" ovf:capacity="1"/></DiskSection>'),
    /diskId "vmdisk1" is given twice/,
  ),
  {
    what: 'a missing disk file',
    code: 'OVF_FILE_MISSING',
    says: /"vm-disk1\.vmdk", which is not in the archive; it has "vm\.ovf", "vm\.mf"/,
    ova: { editMembers: (members) => members.filter((member) => !member.name.endsWith('.vmdk')) },
  },
  {
    what: 'with strictOva another file size than declared',
    code: 'OVF_SIZE_MISMATCH',
    says: /gives "vm-disk1\.vmdk" 7 bytes/,
    ova: { editDescriptor: replace(/ovf:size="\d+"/, 'ovf:size="7"') },
    inspect: { strictOva: true },
  },
  ofDescriptor(
    'a file stored compressed',
    'OVF_COMPRESSED_FILE',
    replace('<File ', '<File ovf:compression="gzip" '),
    /"vm-disk1\.vmdk" is stored with compression "gzip"/,
  ),
  ofDescriptor(
    'a file in chunks',
    'OVF_CHUNKED_FILE',
    replace('<File ', '<File ovf:chunkSize="1000" '),
    /"vm-disk1\.vmdk" is split/,
  ),
  ...(
    [
      ['0', 'byte * 2^20', /no positive number/],
      ['-8', 'byte * 2^20', /no positive number/],
      ['${size}', 'byte * 2^30', /no positive number/],
      ['8', 'furlong', /unit is unknown/],
      ['8', 'byte * 2^50', /more than 62 TiB/],
    ] as const
  ).map(([capacity, capacityUnits, says]): Row => ({
    what: `a capacity of ${capacity} "${capacityUnits}"`,
    code: 'OVF_CAPACITY',
    says,
    ova: { descriptor: { capacity, capacityUnits } },
  })),
  {
    what: 'with strictOva a disk that is no VMDK',
    code: 'VMDK_FORMAT',
    says: /magic KDMV/,
    ova: { disks: [Buffer.alloc(4096)] },
    inspect: { strictOva: true },
  },
  {
    what: 'a disk whose digest differs from the manifest',
    code: 'MANIFEST_MISMATCH',
    says: /"vm-disk1\.vmdk" has the sha256/,
    ova: { manifest: { wrong: ['vm-disk1.vmdk'] } },
  },
  {
    what: 'a descriptor whose digest differs from a manifest at the end',
    code: 'MANIFEST_MISMATCH',
    says: /"vm\.ovf" has the sha1/,
    ova: { manifest: { wrong: ['vm.ovf'], spelling: 'SHA1', position: 'last' } },
  },
  {
    what: 'a manifest line that is no digest',
    code: 'MANIFEST_MISMATCH',
    says: /line 3 of manifest "vm\.mf"/,
    ova: { manifest: { extraLines: 'hello\n' } },
  },
  {
    what: 'an unknown digest algorithm',
    code: 'MANIFEST_ALGORITHM',
    says: /unknown digest "MD5"/,
    ova: { manifest: { spelling: 'MD5' } },
  },
  {
    what: 'no manifest when one is required',
    code: 'MANIFEST_MISSING',
    says: /there is none/,
    ova: { manifest: false },
    inspect: { verifyManifest: 'require' },
  },
  {
    what: 'a required manifest without the disk',
    code: 'MANIFEST_MISSING',
    says: /no line for "vm-disk1\.vmdk"/,
    ova: { manifest: { omit: ['vm-disk1.vmdk'] } },
    inspect: { verifyManifest: 'require' },
  },
];

for (const row of rows) {
  test(`template/38 ${row.what} is refused as ${row.code}`, async (t) => {
    const path = join(await scratchDir(t), 'bad.ova');
    await buildOva({ path, ...row.ova });
    if (row.rewrite !== undefined) await writeFile(path, row.rewrite(await readFile(path)));
    await assert.rejects(inspectOva(path, row.inspect), (error) => {
      assert.ok(error instanceof SourceError, String(error));
      assert.equal(error.code, row.code, error.message);
      assert.equal(error.permanent, true);
      assert.match(error.message, /^OVA bad\.ova: /);
      assert.match(error.message, row.says);
      return true;
    });
  });
}

test('a file that is not there is refused for good, one that is a directory, too', async (t) => {
  const dir = await scratchDir(t);
  for (const path of [join(dir, 'no.ova'), dir]) {
    await assert.rejects(inspectOva(path), { code: 'SOURCE_UNREADABLE', permanent: true });
  }
});

test('a URL as label is told without its query', async (t) => {
  const path = join(await scratchDir(t), 'bad.ova');
  await buildOva({ path, editMembers: () => [] });
  await assert.rejects(inspectOva(path, { label: 'https://mirror.example/image.ova?token=s3cret' }), {
    message: /^OVA https:\/\/mirror\.example\/image\.ova\?…: there is no \.ovf descriptor/,
  });
});
