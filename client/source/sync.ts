import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import type { SourceInput, SyncResult } from '../../workflows/contracts/batch.ts';
import { sourceId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import { requireSource } from './find.ts';

/** `source sync NAME`: reads a source now, or joins the sync that reads it. */
export const syncSource: Action<object> = async (session, [name = '']) => {
  await requireSource(session, name);
  const kind: OperationKind = 'source';
  const input: SourceInput = { name };
  const id = sourceId(name);
  const { runId, answer } = await (
    await session.gateway()
  ).startWithUpdate(
    {
      type: 'source',
      workflowId: id,
      args: [input],
      summary: `syncs of source ${name}`,
      details: `Reads source ${name} and tells the VMs that wait for it.`,
      memo: {},
      attributes: [
        { key: searchKeys.kind, value: kind },
        { key: searchKeys.source, value: name },
      ],
    },
    { name: messages.sync, updateId: `${messages.sync}/${session.runtime.random()}`, body: {} },
  );
  const result = answer as SyncResult;
  const { instances, networks, updated, missing, warnings } = result;
  await session.print({
    kind: 'SourceSync',
    document: { id, name, ...result, link: await session.link(id, runId) },
    names: [name],
    ids: [id],
    text: `${name}: ${String(instances)} VMs, ${String(networks)} networks; ${String(updated)} entries updated, ${String(missing)} without their VM\n`,
  });
  for (const { type, messages: texts, count } of warnings)
    session.note(`warning: ${type} (${String(count)}): ${texts.join('; ')}`);
  return exitCodes.ok.code;
};
