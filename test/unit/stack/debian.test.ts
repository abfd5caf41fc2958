import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { debianPackagesMissing, unpackDebianPackage, type DebianHost } from '../../stack/debian.ts';

let dir = '';
before(async () => void (dir = await mkdtemp(join(tmpdir(), 'vmflow-debian-'))));
after(() => rm(dir, { recursive: true, force: true }));
beforeEach(async () => {
  await rm(dir, { recursive: true, force: true });
  await mkdir(join(dir, 'bin'), { recursive: true });
  await command('dpkg-query', `[ -e ${dir}/installed-$4 ] && printf 'install ok installed'`);
});

async function command(name: string, body: string): Promise<void> {
  const path = join(dir, 'bin', name);
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
}

/** An apt that notes what it is asked for, and fails (2) where somebody else runs it at the same time. */
function apt(rest: string): Promise<void> {
  return command(
    'apt-get',
    `mkdir ${dir}/apt-runs || exit 2\necho "$1" >>${dir}/calls\n${rest}\nrmdir ${dir}/apt-runs`,
  );
}

const host = (more: Partial<DebianHost> = {}): DebianHost => ({
  env: { PATH: `${join(dir, 'bin')}:/usr/bin:/bin`, XDG_CACHE_HOME: join(dir, 'cache') },
  isRoot: true,
  ...more,
});
const calls = async (): Promise<string[]> => (await readFile(join(dir, 'calls'), 'utf8')).trim().split('\n');

/** What the last of its arguments names is there from then on. */
const installLast = 'for name; do :; done; : >${0%/bin/*}/installed-$name';

describe("Debian's packages", () => {
  test('that are there are not installed again', async () => {
    await writeFile(join(dir, 'installed-part'), '');
    assert.equal(await debianPackagesMissing(['part'], host()), undefined);
  });

  test('are installed where they are missing, with new lists where the old ones do not do', async () => {
    await apt(
      `if [ "$1" = update ]; then : >${dir}/lists; elif [ -e ${dir}/lists ]; then ${installLast}; else rmdir ${dir}/apt-runs; exit 1; fi`,
    );
    assert.equal(await debianPackagesMissing(['part'], host()), undefined);
    assert.deepEqual(await calls(), ['install', 'update', 'install']);
  });

  test('can not be installed by others than root: the reason says what to run', async () => {
    const reason = await debianPackagesMissing(['part', 'other'], host({ isRoot: false }));
    assert.match(reason ?? '', /part, other are not installed: only root may: run "apt-get install part other"/);
  });

  test('are not to be had on another system', async () => {
    const env = { ...host().env, PATH: join(dir, 'nothing') };
    assert.match((await debianPackagesMissing(['part'], host({ env }))) ?? '', /this is no Debian system/);
  });

  test('that apt does not have are missing, for the reason that apt gives', async () => {
    await apt(`rmdir ${dir}/apt-runs; echo 'E: Unable to locate package part' >&2; exit 100`);
    assert.match((await debianPackagesMissing(['part'], host())) ?? '', /part are not installed: .*Unable to locate/s);
  });

  test('that two processes ask for at once are installed once', async () => {
    await apt(`sleep 0.3\n${installLast}`);
    const program = `
      import { debianPackagesMissing } from ${JSON.stringify(join(import.meta.dirname, '../../stack/debian.ts'))};
      const reason = await debianPackagesMissing(['part'], ${JSON.stringify(host())});
      if (reason !== undefined) throw new Error(reason);`;
    const processes = [1, 2].map(() =>
      spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' }),
    );
    const codes = await Promise.all(processes.map(async (child) => (await once(child, 'exit'))[0] as unknown));
    assert.deepEqual(codes, [0, 0]);
    assert.deepEqual(await calls(), ['install']);
  });
});

describe('a Debian package that is only unpacked', () => {
  const unpacked = (): string => join(dir, 'cache', 'part');
  /** A dpkg-deb that unpacks one binary. */
  const dpkg = (): Promise<void> => command('dpkg-deb', 'mkdir -p "$3/usr/bin" && echo tool >"$3/usr/bin/tool"');

  test('is fetched and unpacked by anybody, and nothing is installed', async () => {
    await apt(': >part_1_all.deb');
    await dpkg();
    await unpackDebianPackage('part', unpacked(), host({ isRoot: false }));
    assert.equal(await readFile(join(unpacked(), 'usr/bin/tool'), 'utf8'), 'tool\n');
    assert.deepEqual(await calls(), ['download']);
  });

  test('that can not be had leaves nothing behind, and the reason is told', async () => {
    await apt(`rmdir ${dir}/apt-runs; echo 'E: Unable to locate package part' >&2; exit 100`);
    await assert.rejects(unpackDebianPackage('part', unpacked(), host({ isRoot: false })), /part .*Unable to locate/s);
    assert.deepEqual(await readdir(join(dir, 'cache')), []);
  });
});
