import type { MigrateMainResult } from '../../workflows/contracts/hibernate.ts';
import type { Outcome } from '../../workflows/domain/hibernate/step.ts';
import type { WaitEnd } from '../execution/wait.ts';
import { exitCodes, exitOfFailureType, type ExitCode } from '../exit-codes.ts';
import type { Session } from '../session.ts';
import type { SetRef } from '../set/find.ts';

/** What somebody who waits for a migration wants of it. */
export type Goal = 'move' | 'abort' | 'acknowledge-loss';

/** Outcomes that are what was wanted. An abort ends on the node where it began, a loss with a fresh VM: neither is a move. */
const wanted: Readonly<Record<Goal, readonly Outcome[]>> = {
  move: ['migrated'],
  abort: ['aborted', 'superseded'],
  'acknowledge-loss': ['migrated', 'superseded'],
};

/** The exit code of a wait for a migration. */
export function exitOfWait(end: WaitEnd, goal: Goal): ExitCode {
  switch (end.kind) {
    case 'reached':
      return exitCodes.ok.code;
    case 'conflict':
      return exitCodes.refused.code;
    case 'timeout':
      return exitCodes.timeout.code;
    case 'interrupted':
      return exitCodes.interrupted.code;
    case 'ended': {
      const { result, failure } = end.outcome;
      if (failure !== undefined) return exitOfFailureType(failure.type);
      const { outcome } = result as MigrateMainResult;
      return wanted[goal].includes(outcome) ? exitCodes.ok.code : exitCodes.cancelled.code;
    }
  }
}

/** Leaving before the end is no end of the work; says how to come back and how to stop it. */
export function sayHowToComeBack(session: Session, { namespace, name }: SetRef, { kind }: Pick<WaitEnd, 'kind'>): void {
  const again = `vmflow set watch ${name} -n ${namespace}`;
  if (kind === 'timeout') session.note(`--timeout reached, the work goes on: ${again}`);
  if (kind === 'interrupted') {
    session.note(`stopped watching ${namespace}/${name}, the work goes on`);
    session.note(`  watch   ${again}`);
    session.note(`  abort   vmflow migrate abort ${name} -n ${namespace}`);
  }
}
