import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  deriveName,
  effectiveInstance,
  effectiveName,
  isApiName,
  isHostName,
  runsAtTheEnd,
} from '../../../workflows/domain/batch/effective.ts';
import { aVm, gib } from './record-builders.ts';

test('an instance without overrides is the record', () => {
  assert.deepEqual(effectiveInstance(aVm()), aVm());
  assert.deepEqual(effectiveInstance(aVm(), { comment: 'mine', disable_migration: true }), aVm());
});

test('overrides win field by field, the configuration key by key', () => {
  const vm = effectiveInstance(aVm({ config: { 'tag.env': 'prod', 'tag.team': 'a' } }), {
    name: 'www',
    cpus: 8,
    memory: 16 * gib,
    architecture: 'aarch64',
    config: { 'tag.env': 'test', 'tag.new': '', 'tag.team': '' },
  });
  assert.equal(vm.name, 'www');
  assert.equal(vm.cpus, 8);
  assert.equal(vm.memory, 16 * gib);
  assert.equal(vm.architecture, 'aarch64');
  assert.deepEqual(vm.config, { 'tag.env': 'test', 'tag.team': '', 'tag.new': '' });
});

test('an empty override is none', () => {
  const empty = {
    name: '',
    cpus: 0,
    memory: 0,
    architecture: '',
    config: {},
    distribution: '',
    distribution_version: '',
  };
  assert.deepEqual(effectiveInstance(aVm(), empty), aVm());
  assert.equal(effectiveName(aVm(), { name: '' }), 'web-03');
});

test('the system follows its overrides', () => {
  const { os_type, distribution, distribution_version } = effectiveInstance(aVm(), { distribution: 'debian' });
  assert.deepEqual([os_type, distribution, distribution_version], ['linux', 'debian', '']);
});

const powers: readonly (readonly [running: boolean, started: boolean, stopped: boolean, expected: boolean])[] = [
  [false, false, false, false],
  [true, false, false, true],
  [false, true, false, true],
  [true, true, false, true],
  [true, false, true, false],
  [false, false, true, false],
];

for (const [running, started_after_migration, stopped_after_migration, expected] of powers) {
  test(`a source that ${running ? 'runs' : 'is off'}, started ${started_after_migration}, stopped ${stopped_after_migration}: target ${expected ? 'runs' : 'is off'}`, () => {
    assert.equal(runsAtTheEnd(running, { started_after_migration, stopped_after_migration }), expected);
  });
}

test('host names are told from others', () => {
  for (const good of ['a', 'web-03', 'A1', '1a', 'a'.repeat(63), '0x']) assert.ok(isHostName(good), good);
  for (const bad of ['', '-a', 'a-', '123', 'a.b', 'a b', 'a_b', 'ä', 'a'.repeat(64), 'a\n'])
    assert.ok(!isHostName(bad), JSON.stringify(bad));
});

test('a derived name has nothing that host names do not have, and a name without that stays', () => {
  assert.equal(deriveName('Web 03 (prod).example_com'), 'Web03prodexamplecom');
  assert.equal(deriveName('äöü'), '');
  fc.assert(fc.property(fc.string(), (name) => /^[A-Za-z0-9-]*$/.test(deriveName(name))));
  fc.assert(fc.property(fc.stringMatching(/^[A-Za-z0-9-]{0,70}$/), (name) => deriveName(name) === name));
});

test('names of batches and targets are told from others', () => {
  for (const good of ['a', 'night-1', 'a.b:c', 'über1', '1', 'a'.repeat(64), 'x_y', 'a(b)c', `a${'𝒳'.repeat(62)}b`])
    assert.ok(isApiName(good), good);
  for (const bad of [
    '',
    '-a',
    'a-',
    'a b',
    'a\tb',
    'a/b',
    'a$b',
    'a?b',
    'a&b',
    'a+b',
    'a"b',
    "a'b",
    'a`b',
    'a*b',
    'a\u0007b',
  ])
    assert.ok(!isApiName(bad), JSON.stringify(bad));
  assert.ok(!isApiName('a'.repeat(65)));
});
