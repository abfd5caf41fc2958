import { exitCodes, type ExitCode } from '../exit-codes.ts';
import type { Session } from '../session.ts';

/** A message that an open workflow has taken. */
export interface Sent {
  readonly id: string;
  readonly runId: string;
  readonly name: string;
  readonly message: string;
  /** What it said. */
  readonly answer: string;
  readonly link: string;
  /** Lines below the answer: label and command. */
  readonly then: readonly (readonly [label: string, command: string])[];
}

export async function printSent(session: Session, { then, ...sent }: Sent): Promise<void> {
  const { id, name, answer } = sent;
  await session.print({
    kind: 'MessageSent',
    document: sent,
    names: [name],
    ids: [id],
    text: `${name}: ${answer}\n${then.map(([label, command]) => `  ${label.padEnd(8)}${command}\n`).join('')}`,
  });
}

/** What would be sent, and what it would do. */
export interface Intended {
  readonly id: string;
  readonly name: string;
  readonly verb: string;
  readonly effect: string;
}

/** The end of a dry run. */
export async function printIntent(session: Session, intended: Intended): Promise<ExitCode> {
  const { id, name, verb, effect } = intended;
  await session.print({
    kind: 'Plan',
    document: intended,
    names: [name],
    ids: [id],
    text: `${verb} would do: ${effect} (dry run, nothing was sent)\n`,
  });
  return exitCodes.ok.code;
}
