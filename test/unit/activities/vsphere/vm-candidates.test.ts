import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Candidate } from '../../../../activities/vsphere/source/vm-candidates.ts';
import { chooseCandidates, placeOf } from '../../../../activities/vsphere/source/vm-candidates.ts';

const candidate = (name: string, props: Record<string, unknown> = {}, uuid = `u-${name}`): Candidate => ({
  ref: { type: 'VirtualMachine', value: `vm-${name}` },
  location: `/DC0/vm/${name}`,
  uuid,
  props: new Map<string, unknown>(Object.entries({ name, ...props })),
});

const names = (all: readonly Candidate[]): readonly string[] => all.map(({ location }) => location.slice(8));

test('what is chosen is in the order of locations', () => {
  const { chosen, leftOut } = chooseCandidates([candidate('b'), candidate('c'), candidate('a')]);
  assert.deepEqual(names(chosen), ['a', 'b', 'c']);
  assert.deepEqual(leftOut, []);
});

for (const [what, odd, why] of [
  ['a template', candidate('x', { 'config.template': true }), 'it is a template'],
  ['a VM without configuration', candidate('x', {}, ''), 'it has no configuration'],
  ['a service VM', candidate('vCLS-4c44', {}, ''), 'it is a service VM of the cluster'],
  ['a service VM of old', candidate('vCLS (1)'), 'it is a service VM of the cluster'],
  [
    'the appliance',
    candidate('x', { 'config.vAppConfig': { product: [{ name: 'VMware vCenter Server Appliance' }] } }),
    'it is a vCenter appliance',
  ],
] as const) {
  test(`${what} is ignored`, () => {
    const { chosen, leftOut } = chooseCandidates([candidate('a'), odd]);
    assert.deepEqual(names(chosen), ['a']);
    assert.deepEqual(
      leftOut.map((left) => [left.type, left.why]),
      [['Instances were ignored', why]],
    );
  });
}

test('of what is ignored, only a VM without configuration may be one to migrate', () => {
  const odd = [candidate('t', { 'config.template': true }), candidate('vCLS-4c44', {}, ''), candidate('x', {}, '')];
  const { leftOut } = chooseCandidates([...odd, candidate('a', {}, 'u-1'), candidate('copy', {}, 'u-1')]);
  assert.deepEqual(
    leftOut.map(({ candidate: { ref }, isNoVm }) => [ref.value, isNoVm]),
    [
      ['vm-copy', false],
      ['vm-t', true],
      ['vm-vCLS-4c44', true],
      ['vm-x', false],
    ],
  );
});

test('a VM that is only named like one of those is chosen', () => {
  const near = [
    candidate('myvCLS-1'),
    candidate('vCLSes'),
    candidate('y', { 'config.vAppConfig': { product: [{ name: 'Other Server' }] } }),
  ];
  assert.equal(chooseCandidates(near).chosen.length, 3);
});

test('of two with one UUID the first location stays, the other is named with it', () => {
  const { chosen, leftOut } = chooseCandidates([candidate('copy', {}, 'u-1'), candidate('a', {}, 'u-1')]);
  assert.deepEqual(names(chosen), ['a']);
  assert.deepEqual(
    leftOut.map(({ candidate: { ref }, type, why }) => [ref.value, type, why]),
    [['vm-copy', 'Instances not imported', 'it has the instance UUID of /DC0/vm/a (u-1)']],
  );
});

test('a template does not take the UUID from the VM that was made of it', () => {
  const { chosen } = chooseCandidates([candidate('a', { 'config.template': true }, 'u-1'), candidate('b', {}, 'u-1')]);
  assert.deepEqual(names(chosen), ['b']);
});

test('two at one location are told apart by their references', () => {
  const one = { ...candidate('a'), uuid: 'u-1' };
  const other = { ...candidate('a'), ref: { type: 'VirtualMachine', value: 'vm-0' }, uuid: 'u-2' };
  assert.deepEqual(
    chooseCandidates([one, other]).chosen.map(({ ref }) => ref.value),
    ['vm-0', 'vm-a'],
  );
});

test('a VM is in its folder or else in its vApp', () => {
  const folder = { type: 'Folder', value: 'group-v3' };
  const vApp = { type: 'VirtualApp', value: 'resgroup-v9' };
  assert.equal(
    placeOf(
      new Map([
        ['parent', folder],
        ['parentVApp', vApp],
      ]),
    ),
    folder,
  );
  assert.equal(placeOf(new Map([['parentVApp', vApp]])), vApp);
  assert.equal(placeOf(new Map()), undefined);
});
