import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConfig, parseConfig } from '../../../activities/config.ts';
import type { Target } from '../../../activities/incus/port.ts';
import { TargetError } from '../../../activities/incus/target-error.ts';
import { checkTarget } from '../../../activities/lookup/check-target.ts';
import type { Check } from '../../../workflows/contracts/lookup.ts';

const sections = { targets: { tgt: { url: 'http://127.0.0.1:9', allowPlainHttp: true } } };
const config = createConfig(parseConfig(JSON.stringify(sections), 'vmflow.yaml'), 'vmflow.yaml', {});

/** The checks of a target that answers so. */
async function checked(check: () => ReturnType<Target['check']>): Promise<readonly Check[]> {
  const target: Partial<Target> = { check };
  return await checkTarget({ config, target: () => Promise.resolve(target as Target) }, 'tgt');
}

test('a target that is reached, knows us and takes disks is well', async () => {
  const checks = await checked(() => Promise.resolve({ version: '6.0', extensions: ['storage_volume_nbd'] }));
  assert.deepEqual(
    checks.map(({ name, ok }) => [name, ok]),
    [
      ['certificate', true],
      ['log in', true],
      ['disks', true],
    ],
  );
});

test('one that takes no disks is wrong', async () => {
  const disks = (await checked(() => Promise.resolve({ version: '5.0', extensions: [] })))[2];
  assert.deepEqual([disks?.ok, disks?.failure], [false, 'wrong']);
  assert.match(disks?.remedy ?? '', /update/);
});

const failures = [
  ['UNREACHABLE', 'unreachable'],
  ['TIMEOUT', 'unreachable'],
  ['UNTRUSTED', 'forbidden'],
  ['CERTIFICATE', 'forbidden'],
  ['FORBIDDEN', 'forbidden'],
  ['INVALID', 'wrong'],
] as const;
for (const [code, failure] of failures)
  test(`${code} is ${failure}, with what to do about it`, async () => {
    const logIn = (await checked(() => Promise.reject(new TargetError(code, 'because', { next: 'do that' }))))[1];
    assert.deepEqual(logIn, { name: 'log in', ok: false, detail: 'because', failure, remedy: 'do that' });
  });
