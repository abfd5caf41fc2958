import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { sha256Hex } from '../../../workflows/domain/sha256.ts';
import {
  checkNames,
  fromWireName,
  sameWireName,
  swapNames,
  toWireName,
} from '../../../workflows/domain/template/names.ts';
import { canonicalFolder, isVmFolderPath } from '../../../workflows/domain/template/paths.ts';
import { templateSwapFleetId, templateSwapId } from '../../../workflows/contracts/ids.ts';
import type { TemplateSwapRequest } from '../../../workflows/contracts/template.ts';

const vectors: readonly (readonly [string, string])[] = [
  ['demo-rhcos-fd0', '70a6c714'],
  ['mycluster-x7k2p-rhcos-us-east-1a', '7ca8de9a'],
  ['prod-template', '27bcfb59'],
  ['a/b', 'c14cddc0'],
  ['x'.repeat(80), 'd929cdee'],
];

test('temp and rollback names follow from the production name alone and have 16 characters', () => {
  for (const [prod, hash] of vectors) {
    assert.deepEqual(swapNames(prod), { prod, temp: `mco-tmp-${hash}`, rollback: `mco-old-${hash}` });
    assert.equal(swapNames(prod).temp.length, 16);
    assert.equal(swapNames(prod).rollback.length, 16);
  }
});

test('SHA-256 of workflow code equals the one of crypto for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      assert.equal(sha256Hex(text), createHash('sha256').update(text, 'utf8').digest('hex'));
    }),
  );
});

test('a name survives the way to its wire form and back', () => {
  assert.equal(toWireName('a/b\\c%d'), 'a%2fb%5cc%25d');
  assert.equal(toWireName('%2f'), '%252f');
  fc.assert(fc.property(fc.string(), (name) => fromWireName(toWireName(name)) === name));
});

test('wire names are equal but for the case of their escapes', () => {
  assert.ok(sameWireName('a%2Fb', 'a%2fb'));
  assert.ok(!sameWireName('A%2fb', 'a%2fb'));
});

const bad: readonly (readonly [string, string])[] = [
  ['x'.repeat(81), 'NAME_TOO_LONG'],
  ['/'.repeat(27), 'NAME_TOO_LONG'],
  ['', 'NAME_INVALID'],
  [' padded', 'NAME_INVALID'],
  ['tab\there', 'NAME_INVALID'],
  ['mco-tmp-70a6c714', 'RESERVED_NAME'],
  ['mco-old-00000000', 'RESERVED_NAME'],
];

test('bad template names are refused with their code', () => {
  for (const [name, problem] of bad) assert.equal(checkNames(name)?.problem, problem, JSON.stringify(name));
  assert.equal(checkNames('x'.repeat(80)), undefined);
  assert.equal(checkNames('mco-tmp-70a6c71'), undefined);
});

test('prefixes are lower-case, differ and do not end in a dash', () => {
  for (const prefix of ['', 'A', 'a-', '1a', 'a'.repeat(17), 'a.b'])
    assert.equal(checkNames('t', prefix)?.problem, 'PREFIX_INVALID', prefix);
  assert.equal(checkNames('t', 'same', 'same')?.problem, 'PREFIX_INVALID');
  assert.equal(checkNames('t', 'a', 'b-c'), undefined);
});

test('all spellings of a folder are one', () => {
  for (const folder of [undefined, '/DC0/vm', 'DC0/vm/', '/DC0//vm/.', 'vm'])
    assert.equal(canonicalFolder('DC0', folder), '/DC0/vm');
  assert.equal(canonicalFolder('/F/DC0', 'vm/a'), '/F/DC0/vm/a');
  assert.equal(canonicalFolder('DC0', '/DC0/vm/x%2Fy'), '/DC0/vm/x%2fy');
  assert.ok(isVmFolderPath('DC0', '/DC0/vm/a'));
  assert.ok(!isVmFolderPath('DC0', '/DC1/vm'));
  assert.ok(!isVmFolderPath('DC0', '/DC0/host'));
});

const request = (over: Partial<TemplateSwapRequest['placement']> = {}, prodName = 'a/b'): TemplateSwapRequest => ({
  vcenter: 'main',
  placement: { datacenter: 'DC0', cluster: 'c', datastore: 'd', network: 'n', ...over },
  template: { prodName },
  source: { kind: 'file', path: '/x', sha256: '0'.repeat(64) },
  target: { version: '1' },
});

test('the workflow id is the same for every spelling and names can not forge another', () => {
  assert.equal(templateSwapId(request()), 'template-swap/main/DC0/vm/a%2fb');
  assert.equal(templateSwapId(request({ folder: 'DC0/vm/' })), templateSwapId(request({ folder: '/DC0/vm' })));
  assert.notEqual(templateSwapId(request({ folder: '/DC0/vm/a' }, 'b')), templateSwapId(request({}, 'a/b')));
});

test('a long folder becomes a hash so that the id stays short', () => {
  const id = templateSwapId(request({ folder: `/DC0/vm/${'deep/'.repeat(60)}` }));
  assert.match(id, /^template-swap\/main\/~[0-9a-f]{16}\/a%2fb$/);
  assert.notEqual(id, templateSwapId(request({ folder: `/DC0/vm/${'deep/'.repeat(61)}` })));
});

test('a fleet is named by its request id or by what it wants, whatever the order', () => {
  const [a, b] = [request(), request({ folder: '/DC0/vm/z' })];
  assert.equal(templateSwapFleetId({ templates: [a, b] }), templateSwapFleetId({ templates: [b, a] }));
  assert.equal(templateSwapFleetId({ requestId: 'r/1', templates: [a] }), 'template-swap-fleet/r%2f1');
});
