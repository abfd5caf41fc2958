import type { Command } from 'commander';
import { describeExits, type ExitCode, type ExitName } from '../exit-codes.ts';
import type { PrintedKind } from '../output/schemas.ts';
import type { Session } from '../session.ts';

/** What a command does. Loaded when it is called, so that `--help` stays quick. */
export type Action<Flags> = (session: Session, args: readonly string[], flags: Flags) => Promise<ExitCode>;

/** Turns an action into what the parser calls. The flags are what the command's own options declare. */
export type Run = <Flags extends object>(load: () => Promise<Action<Flags>>) => (this: Command) => Promise<void>;

/** A file of `commands/`: adds one noun to the program. */
export type Register = (program: Command, run: Run) => void;

export interface VerbText {
  readonly summary: string;
  readonly examples: readonly string[];
  /** Kinds of the documents that it prints with `-o json`; none: what it prints is no document, whatever `-o` says. */
  readonly prints: readonly PrintedKind[];
  readonly exits: readonly ExitName[];
  readonly notes?: string;
}

/** A noun, with its plural as alias. Without a verb it shows its help. */
export function addNoun(program: Command, name: string, plural: string | undefined, summary: string): Command {
  const noun = program.command(name).summary(summary).description(summary);
  if (plural !== undefined) noun.alias(plural);
  return noun;
}

/** A verb with the help that every one must have: an example and its exit codes. `usage` is `get <name>`. */
export function addVerb(parent: Command, usage: string, text: VerbText): Command {
  const verb = parent.command(usage).summary(text.summary).description(text.summary);
  const help = [
    ...(text.notes === undefined ? [] : [`\n${text.notes}`]),
    `\nExamples:\n${text.examples.map((example) => `  ${example}`).join('\n')}`,
    ...(text.prints.length === 0 ? [] : [`\nWith -o json: ${text.prints.join(', ')} (vmflow schema KIND)`]),
    `\nExit codes:\n${describeExits(text.exits)}`,
  ];
  return verb.addHelpText('after', help.join('\n'));
}
