import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import type {
  DrainCancel,
  DrainNodeInput,
  DrainNodeResult,
  DrainNodeStatus,
} from '../../workflows/contracts/hibernate.ts';
import { drainId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { code, codeBlock, pane, plain } from '../../workflows/domain/markdown.ts';
import { cutToBytes } from '../../workflows/domain/text.ts';
import type { Action } from '../commands/command.ts';
import { confirmYes } from '../confirm.ts';
import { parseDuration } from '../durations.ts';
import { CliError, usageError } from '../errors.ts';
import { executionError } from '../execution/failure.ts';
import { endAtOnce, waitForExecution, type WaitEnd, type WaitFlags } from '../execution/wait.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import type { ExecutionRef, StartRequest } from '../gateway.ts';
import { printIntent, printSent } from '../output/answers.ts';
import { namesText } from '../output/names.ts';
import type { Session } from '../session.ts';
import { findNode } from './find.ts';
import { blockedTexts, countsText, renderNode } from './render.ts';
import { loadDrain, loadNode, type NodeView } from './view.ts';

export interface DrainFlags extends WaitFlags {
  readonly to?: string;
  readonly maxParallel?: string;
  readonly deadline?: string;
  readonly keepPin?: boolean;
  readonly yes?: boolean;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

export interface CancelFlags {
  readonly uncordon?: boolean;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** Looks whether a drain ends at once: one that is refused does. */
const firstLooks = 6;

/** `node status NODE`: the node, the sets on it, its drain. */
export const nodeStatus: Action<object> = async (session, [name = '']) => {
  await printNode(session, await loadNode(session, await findNode(session, name)));
  return exitCodes.ok.code;
};

/** `node drain NODE`: cordons it and moves the main VM of every set away. */
export const drainNode: Action<DrainFlags> = async (session, [name = ''], flags) => {
  const input = inputOf(session, name, flags);
  const node = await findNode(session, name);
  const where = input.targets === undefined ? 'wherever they fit' : `to ${input.targets.join(', ')}`;
  const what = node.sets.length === 0 ? 'no set is on it' : `move ${namesText(node.sets)} ${where}`;
  const effect = `node ${name} is cordoned; ${what}; each VM stands still while it is moved`;
  if (flags.dryRun === true) return await printIntent(session, { id: drainId(name), name, verb: 'drain', effect });
  await confirmYes(session, `drain ${effect}`, flags);
  const gateway = await session.gateway();
  const { runId, joined } = await gateway.start(startOf(input));
  const ref = { workflowId: drainId(name), runId };
  if (joined) await requireSame(session, ref, input);
  const atOnce = await endAtOnce(session, ref, firstLooks);
  if (atOnce?.failure !== undefined) throw executionError(atOnce.failure, `drain node ${name}`);
  if (flags.wait === undefined) {
    session.note(`${name}: ${joined ? 'a drain is already in progress' : 'drain started'}`);
    await printNode(session, await loadNode(session, await findNode(session, name)));
    return exitCodes.ok.code;
  }
  return await waited(session, name, flags);
};

/** `node cancel NODE`: starts nothing more; what is on its way arrives. */
export const cancelDrain: Action<CancelFlags> = async (session, [name = ''], flags) => {
  const drain = await loadDrain(session, name);
  if (drain?.execution !== 'running')
    throw new CliError({
      exit: 'refused',
      reason: 'NO_OPEN_DRAIN',
      message: `can't cancel: no drain of node ${name} is open`,
      next: [`vmflow node status ${name}`, `kubectl uncordon ${name}`],
    });
  const effect = `nothing more leaves ${name}, what is on its way arrives${flags.uncordon === true ? '; the cordon is taken back' : '; it stays cordoned'}`;
  if (flags.dryRun === true) return await printIntent(session, { id: drainId(name), name, verb: 'cancel', effect });
  const body: DrainCancel = {
    by: session.runtime.user(),
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
    ...(flags.uncordon === true ? { uncordon: true } : {}),
  };
  const { id, runId, link } = drain;
  const gateway = await session.gateway();
  const updateId = `${messages.cancelDrain}/${flags.uncordon === true ? 'uncordon' : 'keep'}`;
  const update = { name: messages.cancelDrain, updateId, body };
  const { completed, answer } = await gateway.update({ workflowId: id, runId }, update);
  const said = completed && typeof answer === 'string' ? answer : effect;
  const then = [['watch', `vmflow node status ${name}`]] as const;
  await printSent(session, { id, runId, name, message: messages.cancelDrain, answer: said, link, then });
  return exitCodes.ok.code;
};

function inputOf(session: Session, node: string, flags: DrainFlags): DrainNodeInput {
  const targets = flags.to?.split(',').map((one) => one.trim());
  if (targets?.includes('') === true) throw usageError(`--to "${flags.to ?? ''}": write NODE or NODE,NODE`);
  if (targets?.includes(node) === true) throw usageError(`--to ${node}: that is the node that is drained`);
  const maxParallel = flags.maxParallel === undefined ? undefined : Number(flags.maxParallel);
  if (maxParallel !== undefined && !(Number.isSafeInteger(maxParallel) && maxParallel > 0))
    throw usageError(`--max-parallel ${flags.maxParallel ?? ''}: a number from 1 on`);
  const deadlineMs = flags.deadline === undefined ? undefined : parseDuration(flags.deadline, '--deadline');
  const deadline =
    deadlineMs === undefined ? undefined : new Date(session.runtime.now().getTime() + deadlineMs).toISOString();
  return {
    node,
    ...(targets === undefined ? {} : { targets }),
    ...(maxParallel === undefined ? {} : { maxParallel }),
    ...(deadline === undefined ? {} : { deadline }),
    ...(flags.keepPin === true ? { unpinAfter: false } : {}),
    by: session.runtime.user(),
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
  };
}

function startOf(input: DrainNodeInput): StartRequest {
  const { node, targets, by = '', reason } = input;
  const kind: OperationKind = 'drain';
  return {
    type: 'drainNode',
    workflowId: drainId(node),
    args: [input],
    summary: cutToBytes(`drain node ${node}`, 200),
    details: pane([
      `Cordons node ${code(node)} and moves the main VM of every set to ${plain(targets?.join(', ') ?? 'other nodes')}, asked by ${plain(by)}.`,
      ...(reason === undefined ? [] : [plain(reason)]),
      codeBlock([`vmflow node status ${node}`, `vmflow node cancel ${node}`].join('\n')),
    ]),
    memo: {},
    attributes: [
      { key: searchKeys.kind, value: kind },
      { key: searchKeys.source, value: cutToBytes(node, 255) },
    ],
  };
}

/** Two drains of one node are one; what asks for something else is told so instead of being forgotten. */
async function requireSame(session: Session, ref: ExecutionRef, wanted: DrainNodeInput): Promise<void> {
  const open = (await (await session.gateway()).input(ref)) as DrainNodeInput | undefined;
  if (open === undefined || wishOf(open) === wishOf(wanted)) return;
  const { node } = wanted;
  throw new CliError({
    exit: 'refused',
    reason: 'DRAIN_DIFFERS',
    message: `another drain of node ${node} is in progress, with other settings`,
    why: `it was asked by ${open.by ?? 'somebody'}: ${wishOf(open)}`,
    next: [`vmflow node status ${node}`, `vmflow node cancel ${node}`],
  });
}

/** The deadline was counted from the moment of the call, so only whether there is one can be compared. */
function wishOf({ targets, maxParallel, deadline, unpinAfter = true }: DrainNodeInput): string {
  return [
    `to ${targets === undefined ? 'any node' : [...targets].sort().join(', ')}`,
    maxParallel === undefined ? 'as many at a time as the gate allows' : `${String(maxParallel)} at a time`,
    deadline === undefined ? 'no deadline' : 'with a deadline',
    unpinAfter ? 'targets put back afterwards' : 'targets kept',
  ].join(', ');
}

async function waited(session: Session, name: string, flags: DrainFlags): Promise<ExitCode> {
  const interrupt = session.runtime.onInterrupt();
  try {
    const end = await waitForExecution<DrainNodeStatus>(session, {
      workflowId: drainId(name),
      watched: drainId(name),
      name,
      flags,
      stopped: interrupt.signal,
      show: drainLines(session, name),
    });
    sayHowToComeBack(session, name, end);
    if (end.kind === 'ended' && end.outcome.failure !== undefined)
      throw executionError(end.outcome.failure, `drain node ${name}`);
    await printNode(session, await loadNode(session, await findNode(session, name)));
    return exitOfDrain(end);
  } finally {
    interrupt.dispose();
  }
}

/** One line per change, and one per set that can't move. */
function drainLines(session: Session, name: string): (status: DrainNodeStatus) => void {
  let before = '';
  const said = new Set<string>();
  return (status) => {
    const counts = countsText(status);
    if (counts !== before) session.note(`${name}: ${counts}; ends with: vmflow node cancel ${name}`);
    before = counts;
    for (const text of blockedTexts(status.blocked)) {
      if (!said.has(text)) session.note(`${name}: stays for now: ${text}`);
      said.add(text);
    }
  };
}

/** What could not leave before the deadline is told by name; the rest has moved. */
function exitOfDrain(end: WaitEnd): ExitCode {
  switch (end.kind) {
    case 'reached':
    case 'conflict':
      return exitCodes.ok.code;
    case 'timeout':
      return exitCodes.timeout.code;
    case 'interrupted':
      return exitCodes.interrupted.code;
    case 'ended': {
      const { outcome, moved } = end.outcome.result as DrainNodeResult;
      if (outcome === 'drained') return exitCodes.ok.code;
      if (outcome === 'cancelled') return exitCodes.cancelled.code;
      return moved === 0 ? exitCodes.failed.code : exitCodes.partly.code;
    }
  }
}

function sayHowToComeBack(session: Session, name: string, { kind }: WaitEnd): void {
  if (kind === 'timeout') session.note(`--timeout reached, the work goes on: vmflow node drain ${name} --wait`);
  if (kind === 'interrupted') {
    session.note(`stopped watching the drain of ${name}, the work goes on`);
    session.note(`  watch   vmflow node drain ${name} --wait`);
    session.note(`  cancel  vmflow node cancel ${name}`);
  }
}

async function printNode(session: Session, view: NodeView): Promise<void> {
  await session.print({
    kind: 'Node',
    document: view,
    names: [view.name],
    ids: [drainId(view.name)],
    text: renderNode(session, view),
  });
}
