import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { findTool, sourcesKey } from '../../stack/tool.ts';
import { tools, type Tool } from '../../stack/tools.ts';

const tool: Tool = {
  name: 'part',
  env: 'VMFLOW_PART_BIN',
  onPath: 'part',
  module: 'part',
  package: '.',
  buildTakes: 'a moment',
};

let dir = '';
before(async () => void (dir = await mkdtemp(join(tmpdir(), 'vmflow-tool-'))));
after(() => rm(dir, { recursive: true, force: true }));

async function executable(...path: string[]): Promise<string> {
  const file = join(dir, ...path);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, '#!/bin/sh\n');
  await chmod(file, 0o755);
  return file;
}

describe('cache key', () => {
  async function moduleWith(name: string, files: Record<string, string>): Promise<string> {
    const root = join(dir, name);
    await mkdir(join(root, 'part'), { recursive: true });
    for (const [file, text] of Object.entries(files)) await writeFile(join(root, 'part', file), text);
    return root;
  }
  const files = { 'go.mod': 'module part', 'go.sum': 'a h1:1', 'main.go': 'package main' };

  test('is the same for the same sources, wherever they are', async () => {
    const [one, two] = [
      await moduleWith('one', files),
      await moduleWith('two', { ...files, 'notes.txt': 'not built' }),
    ];
    assert.equal(await sourcesKey(tool, one), await sourcesKey(tool, two));
  });

  for (const changed of Object.keys(files)) {
    test(`changes with ${changed}`, async () => {
      const base = await moduleWith('base', files);
      const other = await moduleWith(`other-${changed}`, { ...files, [changed]: 'something else' });
      assert.notEqual(await sourcesKey(tool, base), await sourcesKey(tool, other));
    });
  }

  test('changes with the linker flags', async () => {
    const base = await moduleWith('base', files);
    assert.notEqual(await sourcesKey(tool, base), await sourcesKey({ ...tool, ldflags: '-s' }, base));
  });
});

describe('finding a tool', () => {
  const temporal: Tool = tools.temporal;

  test('the environment variable comes first', async () => {
    const named = await executable('named', 'mine');
    await executable('bin', 'temporal');
    const env = { VMFLOW_TEMPORAL_BIN: named, PATH: join(dir, 'bin'), XDG_CACHE_HOME: dir };
    assert.equal(await findTool(temporal, env), named);
  });

  test('an environment variable that names nothing is an error, not a reason to look elsewhere', async () => {
    const env = { VMFLOW_TEMPORAL_BIN: join(dir, 'nothing'), PATH: process.env['PATH'] };
    await assert.rejects(findTool(temporal, env), /VMFLOW_TEMPORAL_BIN names .*nothing, which is no executable file/);
  });

  test('then the PATH', async () => {
    const onPath = await executable('bin', 'temporal');
    assert.equal(await findTool(temporal, { PATH: join(dir, 'bin'), XDG_CACHE_HOME: dir }), onPath);
  });

  test('then the cache, where there is no Go whatever version built it', async () => {
    const key = `${await sourcesKey(temporal)}-go9.9`;
    const cached = await executable('cache', 'vmflow', 'tools', key, 'temporal');
    assert.equal(await findTool(temporal, { PATH: join(dir, 'empty'), XDG_CACHE_HOME: join(dir, 'cache') }), cached);
  });

  test('without Go and without a binary the error says what to install or set', async () => {
    const env = { PATH: join(dir, 'empty'), XDG_CACHE_HOME: join(dir, 'empty') };
    await assert.rejects(findTool(temporal, env), /no Go to build it.*Install Go 1\.26.*VMFLOW_TEMPORAL_BIN/);
  });

  test('a Java program without Java: the error says what to install or set, also where it was fetched before', async () => {
    const tool = tools.temporalTestServer;
    const key = `${await sourcesKey(tool)}-java17`;
    await executable('cache', 'vmflow', 'tools', key, tool.name);
    const env = { PATH: join(dir, 'empty'), XDG_CACHE_HOME: join(dir, 'cache') };
    await assert.rejects(findTool(tool, env), /Java 17 or newer.*Maven.*VMFLOW_TEMPORAL_TEST_SERVER_BIN/);
  });

  test("a program of a Debian package that is on the PATH is taken from there, without asking Debian's tools", async () => {
    const onPath = await executable('debian', 'qemu-img');
    assert.equal(await findTool(tools.qemuImg, { PATH: join(dir, 'debian') }), onPath);
  });

  test('a program of a Debian package that lies elsewhere than on the PATH is found there, the newest of several', async () => {
    await executable('lib', '14', 'qemu-img');
    const newest = await executable('lib', '15', 'qemu-img');
    const tool = { ...tools.qemuImg, elsewhere: join(dir, 'lib/*/qemu-img') };
    assert.equal(await findTool(tool, { PATH: join(dir, 'empty') }), newest);
  });

  test('a program of a Debian package that can not be had: the error says why and what to set', async () => {
    const env = { PATH: join(dir, 'empty'), XDG_CACHE_HOME: join(dir, 'empty') };
    await assert.rejects(findTool(tools.qemuImg, env), /qemu-utils.* no Debian system.*VMFLOW_QEMU_IMG_BIN/);
  });
});
