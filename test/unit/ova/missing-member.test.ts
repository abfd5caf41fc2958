import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { inspectOva } from '../../../activities/ova/inspect.ts';
import { buildOva } from '../../support/ova-builder.ts';
import { scratchDir } from './scratch.ts';

test('case/54 a file that the descriptor lists and the OVA lacks is named, and so are those it has', async (t) => {
  const path = join(await scratchDir(t), 'image.ova');
  await buildOva({
    path,
    manifest: false,
    editMembers: ([descriptor, disk]) => [descriptor!, { ...disk!, name: 'renamed.vmdk' }],
  });
  await assert.rejects(inspectOva(path), {
    code: 'OVF_FILE_MISSING',
    message:
      'OVA image.ova: the descriptor refers to file "vm-disk1.vmdk", which is not in the archive; it has "vm.ovf", "renamed.vmdk"',
  });
});

test('case/54 a truncated OVA names the member it ends in', async (t) => {
  const path = join(await scratchDir(t), 'image.ova');
  const { size } = await buildOva({ path, truncateTo: -8192 });
  await assert.rejects(inspectOva(path), {
    code: 'OVA_TRUNCATED',
    message: new RegExp(
      `^OVA image\\.ova: the file ends after ${String(size)} bytes within member "vm-disk1\\.vmdk", of which \\d+ of \\d+ bytes are there`,
    ),
  });
});
