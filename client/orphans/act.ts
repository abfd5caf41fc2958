import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import type { Orphan, OrphanOrder, OrphanResult } from '../../workflows/contracts/batch-lookup.ts';
import { orphanId } from '../../workflows/contracts/ids.ts';
import { cutToBytes } from '../../workflows/domain/text.ts';
import type { Action } from '../commands/command.ts';
import { confirmByName, confirmYes, type ConfirmFlags } from '../confirm.ts';
import { executionError } from '../execution/failure.ts';
import { waitForExecution } from '../execution/wait.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { printIntent } from '../output/answers.ts';
import type { Session } from '../session.ts';
import { findOrphan, orphanName } from './find.ts';

export interface ActFlags extends ConfirmFlags {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** `orphans adopt NAME`: what it left is undone and its VM begins anew in its batch. */
export const adoptOrphan: Action<ActFlags> = async (session, [text = ''], flags) => {
  const orphan = await findOrphan(session, text);
  const effect = `${orphanName(orphan)} is deleted at the target, its source is switched on where it was on before, and its VM begins anew in batch ${orphan.batch}`;
  if (flags.dryRun === true) return await intend(session, orphan, 'adopt', effect);
  await confirmYes(session, `adopt: ${effect}`, flags);
  return await carryOut(session, orphan, 'adopt', flags);
};

/** `orphans delete NAME`: what it left is undone. */
export const deleteOrphan: Action<ActFlags> = async (session, [text = ''], flags) => {
  const orphan = await findOrphan(session, text);
  const effect = `${orphanName(orphan)} and its volumes are deleted at the target; its source is switched on where it was on before`;
  if (flags.dryRun === true) return await intend(session, orphan, 'delete', effect);
  await confirmByName(session, orphan.name, effect, flags);
  return await carryOut(session, orphan, 'delete', flags);
};

async function intend(session: Session, orphan: Orphan, verb: string, effect: string): Promise<ExitCode> {
  const { target, project, name } = orphan;
  return await printIntent(session, { id: orphanId(target, project, name), name: orphanName(orphan), verb, effect });
}

/** A small workflow does it: it looks at the marks again before it touches anything. */
async function carryOut(
  session: Session,
  orphan: Orphan,
  action: OrphanOrder['action'],
  { reason }: ActFlags,
): Promise<ExitCode> {
  const { target, project, name, uuid, attempt } = orphan;
  const id = orphanId(target, project, name);
  const kind: OperationKind = 'orphan';
  const order: OrphanOrder = {
    ...{ action, target, project, name, uuid, attempt },
    by: session.runtime.user(),
    ...(reason === undefined ? {} : { reason }),
  };
  const gateway = await session.gateway();
  const { runId } = await gateway.start({
    type: 'orphan',
    workflowId: id,
    args: [order],
    summary: cutToBytes(`${action} ${orphanName(orphan)}`, 200),
    details: `What is done about an instance that no entry stands behind: ${action}.`,
    memo: {},
    attributes: [
      { key: searchKeys.kind, value: kind },
      { key: searchKeys.vm, value: name },
      { key: searchKeys.batch, value: orphan.batch },
      { key: searchKeys.target, value: cutToBytes(`${target}/${project}`, 255) },
    ],
  });
  const link = await session.link(id, runId);
  const interrupt = session.runtime.onInterrupt();
  try {
    const end = await waitForExecution(session, {
      ...{ workflowId: id, watched: id, name: orphanName(orphan), flags: {}, stopped: interrupt.signal },
      show: () => undefined,
    });
    if (end.kind !== 'ended') {
      session.note(`stopped waiting, the work goes on: ${link}`);
      return exitCodes.interrupted.code;
    }
    const { result, failure } = end.outcome;
    if (failure !== undefined) throw executionError(failure, `${action} ${orphanName(orphan)}`, link);
    return await printDone(session, orphan, { id, runId, link, action, result: result as OrphanResult });
  } finally {
    interrupt.dispose();
  }
}

async function printDone(
  session: Session,
  orphan: Orphan,
  done: { id: string; runId: string; link: string; action: string; result: OrphanResult },
): Promise<ExitCode> {
  const { result, ...rest } = done;
  const next = result.outcome === 'adopted' ? `  look    vmflow queue get ${orphan.uuid}\n` : '';
  await session.print({
    kind: 'OrphanDone',
    document: { ...rest, name: orphanName(orphan), ...result },
    names: [orphanName(orphan)],
    ids: [rest.id],
    text: `${orphanName(orphan)}: ${result.message}\n${next}`,
  });
  return exitCodes.ok.code;
}
