import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import type { ApplyAnswer, ApplyBatch, BatchInput, EditBatch } from '../../workflows/contracts/batch.ts';
import { batchId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { code, codeBlock, pane, plain } from '../../workflows/domain/markdown.ts';
import { cutToBytes } from '../../workflows/domain/text.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import type { StartRequest } from '../gateway.ts';
import { printSent } from '../output/answers.ts';
import type { Session } from '../session.ts';
import { readBatch, withLines, type FileFlags, type ReadBatch } from './file.ts';
import { findBatch } from './find.ts';
import { planOf } from './plan.ts';

export interface EditFlags extends FileFlags {
  readonly etag?: string;
}

/** Finding the members of a large batch takes a while. */
const answerMs = 120_000;

/** `batch apply -f FILE`: makes the batch, or changes the one of that name. The same file twice is one batch. */
export const applyBatch: Action<FileFlags> = async (session, _args, flags) => {
  const file = await readBatch(session, flags.file);
  if (flags.dryRun === true) return await planOf(session, file);
  const { spec } = file;
  const body: ApplyBatch = { spec, by: session.runtime.user() };
  // Two calls of one file are two messages: another file may have come in between.
  const update = { name: messages.apply, updateId: `${messages.apply}/${session.runtime.random()}`, body };
  const gateway = await session.gateway();
  try {
    const { runId, answer } = await gateway.startWithUpdate(startOf(session, file), update);
    return await printApplied(session, file, runId, answer as ApplyAnswer);
  } catch (error) {
    throw withLines(file, error);
  }
};

/** `batch edit -f FILE`: changes a batch that is there. */
export const editBatch: Action<EditFlags> = async (session, _args, flags) => {
  const file = await readBatch(session, flags.file);
  const { workflowId, runId } = await findBatch(session, file.spec.name);
  if (flags.dryRun === true) return await planOf(session, file);
  const body: EditBatch = {
    spec: file.spec,
    by: session.runtime.user(),
    ...(flags.etag === undefined ? {} : { etag: flags.etag }),
  };
  const update = { name: messages.edit, updateId: `${messages.edit}/${session.runtime.random()}`, body, answerMs };
  try {
    const { completed, answer } = await (await session.gateway()).update({ workflowId }, update);
    if (completed) return await printApplied(session, file, runId, answer as ApplyAnswer);
  } catch (error) {
    throw withLines(file, error);
  }
  await printSent(session, {
    id: workflowId,
    runId,
    name: file.spec.name,
    message: messages.edit,
    answer: 'the change was taken, its members are still being found',
    link: await session.link(workflowId, runId),
    then: [['watch', `vmflow batch get ${file.spec.name}`]],
  });
  return exitCodes.ok.code;
};

function startOf(session: Session, { spec, shown }: ReadBatch): StartRequest {
  const { name, include_expression } = spec;
  const kind: OperationKind = 'batch';
  const input: BatchInput = { name };
  return {
    type: 'batch',
    workflowId: batchId(name),
    args: [input],
    summary: cutToBytes(`batch ${name} to ${spec.defaults.placement.target}`, 200),
    details: pane([
      `VMs for which ${code(include_expression)} holds go to ${plain(spec.defaults.placement.target)}, asked by ${plain(session.runtime.user())} (${plain(shown)}).`,
      codeBlock([`vmflow batch get ${name}`, `vmflow batch start ${name}`, `vmflow batch stop ${name}`].join('\n')),
    ]),
    memo: {},
    attributes: [
      { key: searchKeys.kind, value: kind },
      { key: searchKeys.batch, value: name },
    ],
  };
}

async function printApplied(
  session: Session,
  { spec }: ReadBatch,
  runId: string,
  answer: ApplyAnswer,
): Promise<ExitCode> {
  const { name } = spec;
  const { result, members, etag } = answer;
  const id = batchId(name);
  const link = await session.link(id, runId);
  await session.print({
    kind: 'BatchApplied',
    document: { id, runId, name, result, members, etag, link },
    names: [name],
    ids: [id],
    text: [
      `batch ${name} ${result === 'unchanged' ? 'is as the file says' : result}: ${String(members)} VMs`,
      `  start   vmflow batch start ${name}`,
      `  look    vmflow batch get ${name}`,
      `  link    ${session.showLink(link)}`,
      '',
    ].join('\n'),
  });
  return exitCodes.ok.code;
}
