import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { hasUserInfo, refuseSecrets, spellOutWait } from '../../../client/argv-guard.ts';
import { nouns } from '../../../client/nouns.ts';
import { createProgram } from '../../../client/program.ts';
import type { Runtime } from '../../../client/runtime.ts';
import { FakeGateway } from './fake-gateway.ts';
import { errorOf, runCli } from './run-cli.ts';

test('without an argument it shows the five commands of a first day', async () => {
  const { exit, stdout, stderr } = await runCli([]);
  assert.equal(exit, 0);
  assert.equal(stderr, '');
  for (const command of ['doctor', 'vm list', 'op list', 'template update', 'open template']) {
    assert.match(stdout.slice(stdout.indexOf('On a first day')), new RegExp(`vmflow ${command}`));
  }
});

function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

test('the help of every command has an example and its exit codes', async () => {
  const sink = { isTTY: false, write: () => undefined };
  const runtime = { stdout: sink, stderr: sink } as unknown as Runtime;
  const program = createProgram(
    nouns,
    () => () => Promise.resolve(),
    runtime,
    () => undefined,
  );
  const all = leaves(program).filter((command) => command.name() !== 'complete');
  assert.ok(all.length >= 20, `only ${all.length} commands`);
  for (const command of all) {
    const path = command.parent === program ? [command.name()] : [command.parent?.name() ?? '', command.name()];
    const { exit, stdout } = await runCli([...path, '--help']);
    assert.equal(exit, 0);
    assert.match(stdout, new RegExp(`Examples:\\n  .*vmflow ${path.join(' ')}`), path.join(' '));
    assert.match(stdout, /Exit codes:\n {2}0 /, path.join(' '));
  }
});

test('a noun without a verb shows its help', async () => {
  const { exit, stdout } = await runCli(['template']);
  assert.equal(exit, 0);
  assert.match(stdout, /update \[options\] \[name\]/);
});

test('the plural of a noun means the noun', async () => {
  assert.equal((await runCli(['templates', 'list'])).exit, 0);
});

const wrong: readonly [string, readonly string[], RegExp][] = [
  ['a wrong noun', ['tempalte', 'list'], /unknown command 'tempalte'\n {2}next {4}\(Did you mean template\?\)/],
  ['a wrong verb', ['template', 'lst'], /unknown command 'lst'\n {2}next {4}\(Did you mean list\?\)/],
  ['a wrong flag', ['template', 'list', '--nope'], /unknown option '--nope'/],
  ['a missing name', ['template', 'get'], /missing required argument 'name'/],
  ['a wrong output format', ['template', 'list', '-o', 'xml'], /--output xml: not one of table, wide, json/],
  [
    'an unknown column',
    ['template', 'list', '--columns', 'NOPE'],
    /--columns: there is no column "NOPE"\n.*columns: NAME,/,
  ],
];
for (const [what, argv, message] of wrong) {
  test(`${what} is wrong usage, said on standard error`, async () => {
    const { exit, stdout, stderr } = await runCli(argv);
    assert.equal(exit, 2);
    assert.equal(stdout, '');
    assert.match(stderr, message);
  });
}

test('wrong usage is one JSON document with -o json', async () => {
  assert.equal(errorOf(await runCli(['-o', 'json', 'template', 'lst'])).reason, 'USAGE');
  assert.equal(errorOf(await runCli(['template', 'lst', '--output=json'])).code, 2);
});

const secrets: readonly string[][] = [
  ['endpoint', 'check', '--password', 'planted-Pa55'],
  ['endpoint', 'check', '--password=planted-Pa55'],
  ['endpoint', 'check', '--vcenter-password=planted-Pa55'],
  ['endpoint', 'check', '--api-key=planted-Pa55'],
  ['template', 'update', 'x', '--ova', 'https://user:planted-Pa55@host/x.ova'],
];
for (const argv of secrets) {
  test(`a secret in the arguments is refused and never repeated: ${argv.slice(2, 4).join(' ')}`, async () => {
    const gateway = new FakeGateway();
    const { exit, stdout, stderr } = await runCli(argv, { gateway });
    assert.equal(exit, 2);
    assert.doesNotMatch(stdout + stderr, /planted/);
    assert.match(stderr, /not taken from the command line/);
    assert.match(stderr, /vmflow\.yaml/);
  });
}

test('what only looks like a secret is taken', () => {
  refuseSecrets([
    'template',
    'update',
    'password-vault',
    '--ova',
    'https://host/a@b.ova',
    '--reason',
    'new password policy',
  ]);
  assert.equal(hasUserInfo('https://host/path?x=a@b'), false);
});

test('--wait takes a phase only after =, so that it never swallows a name', () => {
  assert.deepEqual(spellOutWait(['update', '--wait', 'x', '--wait=Swapping']), [
    'update',
    '--wait=',
    'x',
    '--wait=Swapping',
  ]);
  assert.deepEqual(spellOutWait(['complete', '--', '--wait']), ['complete', '--', '--wait']);
});

test('the connection is closed whatever happens', async () => {
  const gateway = new FakeGateway();
  await runCli(['template', 'get', 'nope'], { gateway });
  assert.equal(gateway.isClosed, true);
});

test('-v says what is asked, --debug how long it took; bodies are never shown', async () => {
  const argv = ['template', 'get', 'nope'];
  const verbose = await runCli([...argv, '-v']);
  assert.match(verbose.stderr, /^temporal: list OpKind = 'template-swap'\n/);
  const debug = await runCli([...argv, '--debug']);
  assert.match(debug.stderr, /^temporal: list OpKind = 'template-swap': ok after 0 ms\n/);
  assert.match(debug.stderr, /CliError: .*\n\s+at /);
  assert.doesNotMatch((await runCli(argv)).stderr, /temporal:/);
});

test('colour is off without a terminal and on with --color always', async () => {
  const plain = await runCli(['template', 'get', 'nope']);
  assert.ok(!plain.stderr.includes('\u001b'));
  const painted = await runCli(['template', 'get', 'nope', '--color', 'always']);
  assert.ok(painted.stderr.includes('\u001b['));
});
