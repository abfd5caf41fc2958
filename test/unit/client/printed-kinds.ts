import assert from 'node:assert/strict';
import { mock } from 'node:test';
import type { Command } from 'commander';
import { nouns } from '../../../client/nouns.ts';
import { apiVersion } from '../../../client/output/result.ts';
import { createProgram } from '../../../client/program.ts';
import type { Runtime } from '../../../client/runtime.ts';
import { Session } from '../../../client/session.ts';
import { kindOfDocument, publishedKinds, unpublishedFields } from '../../support/cli-documents.ts';
import type { CliResult } from './run-cli.ts';

/** Calls through. */
const printing = mock.method(Session.prototype, 'print');

/** What each command prints with `-o json` by its own help: kinds by the words of the command. */
export const kindsInHelp: ReadonlyMap<string, readonly string[]> = new Map(
  leaves().map(([name, help]) => [
    name,
    /^With -o json: (.+) \(vmflow schema KIND\)$/m.exec(help)?.[1]?.split(', ') ?? [],
  ]),
);

/** Every command that does something, with its help. */
function leaves(): readonly (readonly [name: string, help: string])[] {
  let text = '';
  const sink = { isTTY: false, write: (more: string) => void (text += more) };
  const runtime = { stdout: sink, stderr: sink } as unknown as Runtime;
  const nothing = (): Promise<void> => Promise.resolve();
  const below = (command: Command, words: readonly string[]): readonly (readonly [string, string])[] => {
    if (command.commands.length > 0) return command.commands.flatMap((one) => below(one, [...words, one.name()]));
    text = '';
    command.outputHelp();
    return [[words.join(' '), text]];
  };
  const root = createProgram(
    nouns,
    () => nothing,
    runtime,
    () => undefined,
  );
  return below(root, []);
}

/**
 * Holds all documents of a run against the schemas, and their kinds against the help of the command. What is printed is looked at as it
 * would be with `-o json`, whatever the format of the run was.
 */
export function checkPrinted(argv: readonly string[], result: CliResult, runtime: Runtime, command: string): void {
  const documents = printing.mock.calls
    .filter(({ this: session }) => (session as Session).runtime === runtime)
    .map(({ arguments: [{ kind, document }] }) => JSON.stringify({ apiVersion, kind, ...document }));
  const printed = documents.map((text) => {
    const document = JSON.parse(text) as object;
    const kind = kindOfDocument(document, command);
    assert.deepEqual(unpublishedFields(document, kind), [], `${command} prints fields that its schema doesn't name`);
    return kind;
  });
  for (const kind of [...printed, ...publishedKinds(argv, result)])
    assert.ok(kindsInHelp.get(command)?.includes(kind), `${command} prints ${kind}, which its help doesn't name`);
}
