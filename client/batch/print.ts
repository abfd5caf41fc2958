import { exitCodes, type ExitCode } from '../exit-codes.ts';
import type { Session } from '../session.ts';
import { renderBatch } from './render.ts';
import type { BatchDocument } from './view.ts';

export async function printBatch(session: Session, view: BatchDocument): Promise<ExitCode> {
  await session.print({
    kind: 'Batch',
    document: view,
    names: [view.name],
    ids: [view.id],
    text: renderBatch(session, view),
  });
  return exitCodes.ok.code;
}
