import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { runCli } from '../client/run-cli.ts';
import { complaint, idleProgram } from './command-tree.ts';
import { shellCommands } from './shell.ts';

/** `template update`, for each command that does something. */
function leafPaths(command: Command, path: readonly string[] = []): string[][] {
  const children = command.commands.filter((child) => child.name() !== 'complete');
  if (children.length === 0) return [[...path]];
  return children.flatMap((child) => leafPaths(child, [...path, child.name()]));
}

for (const path of leafPaths(idleProgram())) {
  const name = path.join(' ');
  test(`the examples in the help of "${name}" are commands that it takes`, async () => {
    const { stdout } = await runCli([...path, '--help']);
    const examples = shellCommands(/\nExamples:\n([\s\S]*?)\n\n/.exec(stdout)?.[1] ?? '').filter(
      ([program]) => program === 'vmflow',
    );
    assert.ok(
      examples.some((words) => words.slice(1, path.length + 1).join(' ') === name),
      'none of itself',
    );
    for (const words of examples) assert.equal(await complaint(words.slice(1)), undefined, words.join(' '));
  });
}

test('the commands of a first day are commands', async () => {
  const { stdout } = await runCli(['--help']);
  const commands = [.../^ {2}(vmflow .*?)(?: {2}.*)?$/gm[Symbol.matchAll](stdout)].map(([, line = '']) => line);
  assert.ok(commands.length >= 5);
  for (const words of commands.flatMap(shellCommands)) assert.equal(await complaint(words.slice(1)), undefined);
});
