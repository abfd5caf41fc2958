import { CommanderError } from 'commander';
import { refuseSecrets, spellOutWait } from '../../../client/argv-guard.ts';
import { nouns } from '../../../client/nouns.ts';
import { createProgram } from '../../../client/program.ts';
import type { Runtime } from '../../../client/runtime.ts';

const sink = { isTTY: false, write: () => undefined };

/** The command tree of `vmflow`, whose commands do nothing. */
export function idleProgram(): ReturnType<typeof createProgram> {
  return createProgram(
    nouns,
    () => () => Promise.resolve(),
    { stdout: sink, stderr: sink } as unknown as Runtime,
    () => undefined,
  );
}

/** What is wrong with these words after `vmflow`: unknown command or flag, too few or too many arguments. */
export async function complaint(words: readonly string[]): Promise<string | undefined> {
  try {
    refuseSecrets(words);
    await idleProgram().parseAsync(spellOutWait(words), { from: 'user' });
    return undefined;
  } catch (error) {
    const isHelp = error instanceof CommanderError && error.code === 'commander.helpDisplayed';
    return isHelp ? undefined : String(error);
  }
}
