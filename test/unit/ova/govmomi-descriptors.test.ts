import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';

import { readDescriptor } from '../../../activities/ova/descriptor.ts';
import { inspectOva } from '../../../activities/ova/inspect.ts';
import { SourceError } from '../../../activities/ova/source-error.ts';
import { attribute, childNamed, childrenNamed, decodeDescriptor, parseXml } from '../../../activities/ova/xml-tree.ts';
import { buildOva, smallDisk } from '../../support/ova-builder.ts';
import { scratchDir } from './scratch.ts';

/** The simulator's own module holds descriptors of real products. */
function govmomi(): { readonly dir: string } | { readonly skip: string } {
  try {
    const cwd = join(import.meta.dirname, '../../stack/tools/vcsim');
    const dir = execFileSync('go', ['list', '-m', '-f', '{{.Dir}}', 'github.com/vmware/govmomi'], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    return dir === '' ? { skip: 'the govmomi module is not in the module cache' } : { dir };
  } catch {
    return { skip: 'go is not installed' };
  }
}

const found = govmomi();
const skip = 'skip' in found ? found.skip : false;
const dir = 'dir' in found ? found.dir : '';

/** Either what is refused and the reason, or how many disks and which product version were read. */
const expected: Readonly<Record<string, string | { readonly disks: number; readonly version?: string }>> = {
  'category-grouping.ovf': 'OVF_DISK',
  'configspec.ovf': 'OVF_DISK',
  'deployment-configs.ovf': 'OVF_DISK',
  'disk-capacity-property.ovf': 'OVF_NETWORKS',
  'dmtf_gos_test.ovf': { disks: 1 },
  'dmtf_gos_versioned_test.ovf': { disks: 1 },
  'empty.ovf': 'OVF_NO_VIRTUAL_SYSTEM',
  'file-ref-path.ovf': 'OVF_NETWORKS',
  'invalid-property-key.ovf': 'OVF_NETWORKS',
  'mixed-disks.ovf': 'OVF_NETWORKS',
  'multiple_disks.ovf': 'OVF_DISK',
  'photon5.ovf': { disks: 1, version: '5.0' },
  'properties.ovf': { disks: 0, version: '16.1' },
  'property-types.ovf': 'OVF_NETWORKS',
  'qualifiers.ovf': 'OVF_NETWORKS',
  'ttylinux.ovf': { disks: 1 },
  'uber.ovf': 'OVF_NETWORKS',
  'ubuntu24.10.ovf': { disks: 1 },
  'unsupported-resourcesubtype.ovf': 'OVF_NETWORKS',
  'unsupported-resourcetype.ovf': 'OVF_NETWORKS',
  'virtualsystemcollection.ovf': 'OVF_COLLECTION',
};

test('the table has a row for every descriptor of the simulator’s module', { skip }, () => {
  const present = readdirSync(join(dir, 'ovf/fixtures')).filter((name) => name.endsWith('.ovf'));
  assert.deepEqual(present.toSorted(), Object.keys(expected).toSorted());
});

for (const [name, outcome] of Object.entries(expected)) {
  const how = typeof outcome === 'string' ? `refused as ${outcome}` : 'accepted';
  const scenario = typeof outcome === 'string' ? 'template/38' : 'template/39';
  test(`${scenario} the real descriptor ${name} is ${how}`, { skip }, async (t) => {
    const path = join(await scratchDir(t), name.replace(/ovf$/, 'ova'));
    const descriptorText = readFileSync(join(dir, 'ovf/fixtures', name));
    const hrefs = new Set(filesOf(descriptorText));
    await buildOva({
      path,
      descriptorText,
      disks: [],
      manifest: false,
      editMembers: (members) => [...members, ...[...hrefs].map((href) => ({ name: href, body: smallDisk() }))],
    });
    if (typeof outcome === 'string') {
      await assert.rejects(inspectOva(path), { code: outcome });
      return;
    }
    const inspection = await inspectOva(path);
    assert.equal(inspection.disks.length, outcome.disks);
    assert.equal(inspection.productVersion, outcome.version);
    assert.equal(inspection.networks.length, 1);
    assert.ok(inspection.disks.every((disk) => inspection.files.some((file) => file.href === disk.fileHref)));
  });
}

const filesOf = (descriptor: Uint8Array): string[] =>
  childrenNamed(childNamed(parseXml(decodeDescriptor(descriptor)), 'References'), 'File').map((file) =>
    attribute(file, 'href')!,
  );

test('every other descriptor of the module is read or refused with a reason', { skip }, () => {
  const outcomes = new Map<string, number>();
  for (const path of globSync(join(dir, 'ovf/fixtures/{external,vmware}/**/*.ovf'))) {
    const outcome = outcomeOf(path);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  const count = (code: string): number => outcomes.get(code) ?? 0;
  assert.ok(count('read') > 200, `read: ${String(count('read'))}`);
  // Each of these makes the simulator crash and then hang, so that one of them accepted is one too many.
  assert.deepEqual(
    {
      systems: count('OVF_NO_VIRTUAL_SYSTEM'),
      collections: count('OVF_COLLECTION'),
      hardware: count('OVF_NO_HARDWARE'),
    },
    { systems: 162, collections: 164, hardware: 75 },
  );
});

function outcomeOf(path: string): string {
  try {
    readDescriptor(parseXml(decodeDescriptor(readFileSync(path))));
    return 'read';
  } catch (error) {
    assert.ok(error instanceof SourceError, `${path}: ${String(error)}`);
    return error.code;
  }
}

test(
  'template/39 the real OVA of the module, whose disk was cut to 1 MiB, is accepted with a warning',
  { skip },
  async () => {
    const path = join(dir, 'vapi/library/testdata/ttylinux-pc_i486-16.1.ova');
    const inspection = await inspectOva(path, { verifyManifest: 'require' });
    assert.deepEqual(inspection.warnings, [
      'OVF_SIZE_MISMATCH: the descriptor gives "ttylinux-pc_i486-16.1-disk1.vmdk" 10595840 bytes, the archive holds 1048576 bytes',
    ]);
    assert.equal(inspection.virtualSystemType, 'vmx-09');
  },
);

test('template/38 the same OVA is refused by who wants strictness', { skip }, async () => {
  const path = join(dir, 'vapi/library/testdata/ttylinux-pc_i486-16.1.ova');
  await assert.rejects(inspectOva(path, { strictOva: true }), {
    code: 'OVF_SIZE_MISMATCH',
    message: new RegExp(`^OVA ${basename(path)}: `),
  });
});
