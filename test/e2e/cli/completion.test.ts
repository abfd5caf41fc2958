import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { debianPackagesMissing } from '../../stack/debian.ts';
import { completingShells } from '../../support/shells.ts';
import { cliEntry, cliEnvironment, vmflow } from './run-process.ts';

let home = '';
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'vmflow-completion-'));
  await mkdir(join(home, 'bin'));
  await writeFile(join(home, 'bin/vmflow'), `#!/bin/sh\nexec '${process.execPath}' '${cliEntry}' "$@"\n`);
  await chmod(join(home, 'bin/vmflow'), 0o755);
});
after(() => rm(home, { recursive: true, force: true }));

const environment = (): Record<string, string> =>
  cliEnvironment({ HOME: home, TERM: 'xterm', PATH: `${join(home, 'bin')}:${process.env['PATH'] ?? ''}` });

const lines: readonly (readonly [what: string, line: string, offered: string])[] = [
  ['a noun', 'vmflow te', 'template'],
  ['a verb', 'vmflow template upd', 'update'],
  ['a flag', 'vmflow template update --dry', '--dry-run'],
  ['a flag of all commands', 'vmflow template list --out', '--output'],
  ['a verb after a plural', 'vmflow templates upd', 'update'],
];

for (const shell of completingShells) {
  const missing = await debianPackagesMissing(shell.packages);
  describe(`in ${shell.name}, with the script that vmflow completion ${shell.name} prints`, { skip: missing }, () => {
    let script = '';
    before(async () => {
      script = join(home, `completion.${shell.name}`);
      const { stdout } = await vmflow({}, 'completion', shell.name);
      await writeFile(script, stdout);
    });
    for (const [what, line, offered] of lines) {
      test(`Tab completes ${what}: ${line}`, async () => {
        assert.deepEqual(await shell.offers(script, line, environment()), [offered]);
      });
    }
  });
}
