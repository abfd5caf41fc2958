import type { Action } from '../commands/command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { follow, isDrawn, watcher } from '../execution/follow.ts';
import { progressLines } from '../execution/progress.ts';
import { sayHowToComeBack } from '../migrate/end.ts';
import type { Session } from '../session.ts';
import type { PlaceFlags } from '../vm/place.ts';
import { findSet, readSet, type SetRef } from './find.ts';
import { renderSet } from './render.ts';
import { isSettled, loadSet, type SetView } from './view.ts';

export interface GetFlags extends PlaceFlags {
  readonly watch?: boolean;
}

export interface WatchFlags extends PlaceFlags {
  readonly timeout?: string;
}

/** `set get SET`. */
export const getSet: Action<GetFlags> = async (session, args, flags) => {
  if (flags.watch === true) return watchSet(session, args, flags);
  await printSet(session, await loadSet(session, await findSet(session, args[0] ?? '', flags)));
  return exitCodes.ok.code;
};

/** `set watch SET`: the same until nothing is under way. */
export const watchSet: Action<WatchFlags> = async (session, [text = ''], flags) => {
  const first = await findSet(session, text, flags);
  const followed = await follow<SetView>(session, {
    first: await loadSet(session, first),
    look: async () => {
      const set = await readSet(session, first);
      return set === undefined ? undefined : await loadSet(session, set);
    },
    show: watcher(session, {
      kind: 'CocoonSet',
      render: (view, paint) => renderSet(session, view, paint),
      tell: teller(session, first),
    }),
    isEnd: isSettled,
    timeout: flags.timeout,
  });
  if (followed.end === 'gone') return sayGone(session, first);
  if (followed.end !== 'ended') return leave(session, first, followed.end);
  if (!isDrawn(session)) await printSet(session, followed.view);
  return followed.view.phase === 'Failed' ? exitCodes.failed.code : exitCodes.ok.code;
};

function leave(session: Session, set: SetRef, kind: 'timeout' | 'interrupted'): ExitCode {
  sayHowToComeBack(session, set, { kind });
  return exitCodes[kind].code;
}

function sayGone(session: Session, { namespace, name }: SetRef): ExitCode {
  session.note(`${namespace}/${name} is gone`);
  return exitCodes.cancelled.code;
}

function teller(session: Session, { namespace, name }: SetRef): (view: SetView) => void {
  const lines = progressLines(session, `${namespace}/${name}`);
  let before = '';
  return (view) => {
    const phase = `${view.phase ?? 'New'}${view.node === undefined ? '' : ` on ${view.node}`}`;
    if (phase !== before) session.note(`${namespace}/${name}: ${phase}`);
    before = phase;
    if (view.migration !== undefined) lines(view.migration);
  };
}

export async function printSet(session: Session, view: SetView): Promise<void> {
  await session.print({
    kind: 'CocoonSet',
    document: view,
    names: [`${view.namespace}/${view.name}`],
    ids: [view.id],
    text: renderSet(session, view),
  });
}
