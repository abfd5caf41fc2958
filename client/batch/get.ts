import type { Action } from '../commands/command.ts';
import { findBatch } from './find.ts';
import { printBatch } from './print.ts';
import { loadBatch, membersOf, specOf } from './view.ts';
import { watchBatch } from './watch.ts';

export interface GetFlags {
  readonly members?: boolean;
  readonly watch?: boolean;
}

/** `batch get NAME`: totals, windows, what was asked for; with `-o wide` or `--members` each VM. */
export const getBatch: Action<GetFlags> = async (session, args, flags) => {
  if (flags.watch === true) return await watchBatch(session, args, {});
  const batch = await loadBatch(session, await findBatch(session, args[0] ?? ''));
  const spec = await specOf(session, batch.name);
  const wantsMembers = flags.members === true || session.flags.output === 'wide';
  const items = wantsMembers ? await membersOf(session, batch) : undefined;
  return await printBatch(session, {
    ...batch,
    ...(spec === undefined ? {} : { spec }),
    ...(items === undefined ? {} : { items }),
  });
};
