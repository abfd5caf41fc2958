import type { PlacementExplanation } from '../../workflows/contracts/batch-lookup.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import { waitingText } from '../execution/progress.ts';
import { labelled } from '../output/error.ts';
import type { Session } from '../session.ts';
import { findEntry, type NarrowFlags } from './find.ts';
import { loadEntry, type EntryDocument } from './view.ts';

/** `queue explain VM`: what it waits for, and why it goes where it goes. Changes nothing. */
export const explainEntry: Action<NarrowFlags> = async (session, [text = ''], flags) => {
  const view = await loadEntry(session, await findEntry(session, text, flags));
  const gateway = await session.gateway();
  const { answer } = await gateway.lookup({ what: 'placement', batch: view.batch, uuid: view.uuid });
  const { found } = answer;
  const { id, vm, uuid, batch, phase, link } = view;
  await session.print({
    kind: 'QueueExplanation',
    document: {
      ...{ id, vm, uuid, batch, phase, waiting: reasonOf(session, view), next: view.next },
      ...(found ?? { reasons: [], obstacles: ['its source has no such VM any more'] }),
      link,
    },
    names: [vm],
    ids: [uuid],
    text: render(session, view, found),
  });
  return exitCodes.ok.code;
};

/** The first thing that it waits for, in words. */
function reasonOf(session: Session, view: EntryDocument): string {
  if (view.conflict !== undefined) return `a decision by a person: ${view.conflict.what}`;
  return waitingText(session, view) ?? view.message ?? 'nothing';
}

function render(session: Session, view: EntryDocument, found: PlacementExplanation | undefined): string {
  const { paint } = session;
  const obstacles = found?.obstacles ?? ['its source has no such VM any more'];
  const width = Math.max(0, ...(found?.reasons ?? []).map(({ field, value }) => field.length + value.length + 3));
  const lines = [
    `${paint.bold(view.vm)}   ${view.phase}   batch ${view.batch}`,
    labelled('waiting', reasonOf(session, view), paint),
    ...(found?.constraint === undefined ? [] : [labelled('limit', `constraint ${found.constraint}`, paint)]),
    ...(found?.reasons ?? []).map(({ field, value, why }, place) =>
      labelled(place === 0 ? 'goes to' : '', `${`${field} = ${value}`.padEnd(width)}   ${why}`, paint),
    ),
    ...obstacles.map((obstacle, place) => labelled(place === 0 ? 'blocked' : '', obstacle, paint)),
    ...view.next.map((command, place) => labelled(place === 0 ? 'next' : '', command, paint)),
  ];
  return `${lines.join('\n')}\n`;
}
