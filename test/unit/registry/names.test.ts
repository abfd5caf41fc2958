import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositoryOf, repositoryProblem } from '../../../activities/registry/names.ts';

test('the prefix stands before the name, if there is one', () => {
  assert.equal(repositoryOf('', 'vk-a-b-0'), 'vk-a-b-0');
  assert.equal(repositoryOf('team/vms', 'vk-a-b-0'), 'team/vms/vk-a-b-0');
});

for (const name of ['vk-demo-web-0', 'a', 'team/vms/vk-a.b--c-0', 'a__b/c_d', 'v'.repeat(255)])
  test(`a repository can be called ${name.slice(0, 30)}`, () => assert.equal(repositoryProblem(name), undefined));

for (const name of ['', '/', 'a/', '/a', 'a//b', 'A', 'a b', '-a', 'a-', 'a..b', 'a?b', 'a:b', '../a'])
  test(`no repository can be called "${name}"`, () => assert.match(repositoryProblem(name) ?? '', /no name/));

test('a name that the registry would answer 500 to is known before', () => {
  assert.match(repositoryProblem('v'.repeat(256)) ?? '', /has 256 characters, and no registry takes more than 255/);
});
