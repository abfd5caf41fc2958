import type { Command as ParserCommand } from 'commander';
import { RootCommand, script } from '@bomb.sh/tab';
import type { Action } from './commands/command.ts';
import { usageError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';

const shells = ['bash', 'zsh', 'fish'];

/** `completion SHELL`: the script for the shell's start-up file. */
export const printScript: Action<object> = (session, [shell = '']) => {
  if (!shells.includes(shell))
    return Promise.reject(usageError(`no completion for "${shell}"`, `shells: ${shells.join(', ')}`));
  session.runtime.stdout.write(printed(() => script(shell, 'vmflow', 'vmflow')));
  return Promise.resolve(exitCodes.ok.code);
};

/** `complete -- WORDS`: what the scripts ask while somebody types. */
export function completeWords(program: ParserCommand): Action<object> {
  return (session, words) => {
    const root = describeTree(program);
    session.runtime.stdout.write(printed(() => root.parse(withoutAliases(program, words))));
    return Promise.resolve(exitCodes.ok.code);
  };
}

/** Plurals mean their nouns; they are understood and not offered. The last word is still being typed. */
function withoutAliases(program: ParserCommand, words: readonly string[]): string[] {
  let at = program;
  return words.map((word, i) => {
    const found = at.commands.find((one) => one.aliases().includes(word) || one.name() === word);
    if (found === undefined || i === words.length - 1) return word;
    at = found;
    return found.name();
  });
}

/** The parser's tree in the completion library's terms. Flags of the program may stand after every command. */
function describeTree(program: ParserCommand): RootCommand {
  const root = new RootCommand();
  const visit = (command: ParserCommand, path: readonly string[]): void => {
    const node = path.length === 0 ? root : root.command(path.join(' '), command.description());
    const options = command === program ? command.options : [...command.options, ...program.options];
    for (const option of options) {
      const long = option.long?.slice(2);
      if (long === undefined) continue;
      const short = option.short?.slice(1);
      if (option.required) node.option(long, option.description, () => undefined, short);
      else node.option(long, option.description, short);
    }
    for (const argument of command.registeredArguments) node.argument(argument.name(), undefined, argument.variadic);
    for (const child of command.createHelp().visibleCommands(command)) visit(child, [...path, child.name()]);
  };
  visit(program, []);
  return root;
}

/** The library prints with `console.log` and offers no other way; its lines are taken from there. */
function printed(print: () => void): string {
  const lines: string[] = [];
  /* eslint-disable no-console -- borrowed for the time of one synchronous call */
  const { log } = console;
  console.log = (...values: unknown[]) => void lines.push(values.join(' '));
  try {
    print();
  } finally {
    console.log = log;
  }
  /* eslint-enable no-console */
  return lines.map((line) => `${line}\n`).join('');
}
