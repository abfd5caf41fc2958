import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { runCli } from '../client/run-cli.ts';
import { idleProgram } from './command-tree.ts';

const program = idleProgram();

function all(command: Command, path: readonly string[] = []): { command: Command; path: readonly string[] }[] {
  const children = command.commands.filter((child) => child.name() !== 'complete');
  return [{ command, path }, ...children.flatMap((child) => all(child, [...path, child.name()]))];
}

test('completion offers every flag of every command as the parser takes it, and no other', async () => {
  const ofAll = program.options.map(({ long }) => long);
  for (const { command, path } of all(program)) {
    const { stdout } = await runCli(['complete', '--', ...path, '--']);
    const offered = stdout.split('\n').flatMap((line) => /^--[\w-]+/.exec(line) ?? []);
    const taken = new Set([...command.options.map(({ long }) => long), ...ofAll]);
    assert.deepEqual(offered.sort(), [...taken].sort(), path.join(' '));
  }
});
