import { CliError, usageError } from './errors.ts';
import type { Session } from './session.ts';

export interface ConfirmFlags {
  readonly yes?: boolean;
  readonly confirm?: string;
}

/** How the word is called that has to be typed, and the flag that gives it in a script. */
export interface TypedWord {
  readonly flag: string;
  readonly what: string;
}

/**
 * For what can't be taken back: the person types the name. In a script `--yes --confirm NAME`. Without a terminal and
 * without the flags it refuses, it never assumes.
 */
export async function confirmByName(
  session: Session,
  name: string,
  question: string,
  flags: ConfirmFlags,
  { flag, what }: TypedWord = { flag: '--confirm', what: 'the name' },
): Promise<void> {
  if (flags.confirm !== undefined && flags.confirm !== name) {
    throw usageError(`${flag} "${flags.confirm}" is not ${what} "${name}"`, undefined, 'NOT_CONFIRMED');
  }
  if (flags.yes === true && flags.confirm === name) return;
  if (!session.runtime.canAsk) {
    throw usageError(
      `${question}: a confirmation is needed and there is no terminal`,
      `add --yes ${flag} ${name}`,
      'NOT_CONFIRMED',
    );
  }
  const answer = await session.runtime.ask(`${question}. Type ${what} to go on (${name}): `);
  if (answer.trim() !== name) {
    throw new CliError({ exit: 'usage', reason: 'NOT_CONFIRMED', message: 'not confirmed, nothing was done' });
  }
}

/** For what reaches far but can be undone: yes or no. In a script `--yes`; without a terminal and without it, refused. */
export async function confirmYes(session: Session, question: string, flags: { readonly yes?: boolean }): Promise<void> {
  if (flags.yes === true) return;
  if (!session.runtime.canAsk) {
    throw usageError(`${question}: a confirmation is needed and there is no terminal`, 'add --yes', 'NOT_CONFIRMED');
  }
  const answer = await session.runtime.ask(`${question}. Go on? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) {
    throw new CliError({ exit: 'usage', reason: 'NOT_CONFIRMED', message: 'not confirmed, nothing was done' });
  }
}
