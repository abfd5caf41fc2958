import { vmOperationId } from '../../workflows/contracts/ids.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import { apiVersion } from '../output/result.ts';
import { LiveBlock } from '../output/live.ts';
import type { Session } from '../session.ts';
import type { PlaceFlags } from '../vm/place.ts';
import { endInWords, endOfInfo, exitOfEnd } from './end.ts';
import { findOperation, readOperation } from './find.ts';
import { renderOperation } from './render.ts';
import { loadOperation, mergeOperation, type OperationView } from './view.ts';
import { sayHowToComeBack, stepLines, waitForOperation, type Show, type WaitFlags } from './wait.ts';

export interface GetFlags extends PlaceFlags {
  readonly watch?: boolean;
}

export type WatchFlags = PlaceFlags & Pick<WaitFlags, 'timeout'>;

/** `op get ID`. */
export const getOperation: Action<GetFlags> = async (session, args, flags) => {
  if (flags.watch === true) return watchOperation(session, args, flags);
  await printOperation(session, await loadOperation(session, await findOperation(session, args[0] ?? '', flags)));
  return exitCodes.ok.code;
};

/** `op watch ID`: the same until it is over. */
export const watchOperation: Action<WatchFlags> = async (session, args, flags) => {
  const info = await findOperation(session, args[0] ?? '', flags);
  const link = await session.link(vmOperationId(info.namespace, info.uid));
  const known = endOfInfo(info);
  if (known !== undefined) {
    await printEnd(session, await loadOperation(session, info));
    return exitOfEnd(known);
  }
  const interrupt = session.runtime.onInterrupt();
  try {
    const block = drawsInPlace(session) ? new LiveBlock(session.runtime.stderr) : undefined;
    const show = watcher(session, info.name, block, (status) => mergeOperation(info, status, link));
    const end = await waitForOperation(session, info, { wait: '', ...flags }, interrupt.signal, show);
    sayHowToComeBack(session, info, end);
    const last = await readOperation(session, info).catch(() => undefined);
    const view = last === undefined ? undefined : await loadOperation(session, last);
    if (view !== undefined && block !== undefined) block.draw(renderOperation(session, view, session.paintErr));
    else if (view !== undefined) await printEnd(session, view);
    else if (!session.isMachineReadable) session.note(`${info.name}: ${endInWords(end)}`);
    return exitOfEnd(end);
  } finally {
    interrupt.dispose();
  }
};

/** With `-o jsonl` the last line, else the last state. */
async function printEnd(session: Session, view: OperationView): Promise<void> {
  if (session.flags.output === 'jsonl') session.runtime.stdout.write(`${jsonLine(view)}\n`);
  else await printOperation(session, view);
}

/** On a terminal the state is drawn again in place, the last one too. */
function drawsInPlace({ flags, runtime, isMachineReadable }: Session): boolean {
  return !isMachineReadable && flags.quiet !== true && runtime.stdout.isTTY && runtime.stderr.isTTY;
}

/** Changes are the result of watching with `-o jsonl`; else they go where they don't disturb it. */
function watcher(
  session: Session,
  name: string,
  block: LiveBlock | undefined,
  viewOf: (status: Parameters<Show>[0]) => OperationView,
): Show | undefined {
  const { flags, runtime, isMachineReadable } = session;
  if (flags.output === 'jsonl') {
    let before = '';
    return (status) => {
      const line = jsonLine(viewOf(status));
      if (line !== before) runtime.stdout.write(`${line}\n`);
      before = line;
    };
  }
  if (isMachineReadable || flags.quiet === true) return undefined;
  if (block === undefined) return stepLines(session, name);
  return (status) => block.draw(renderOperation(session, viewOf(status), session.paintErr));
}

function jsonLine(view: OperationView): string {
  return JSON.stringify({ apiVersion, kind: 'Operation', ...view });
}

export async function printOperation(session: Session, view: OperationView): Promise<void> {
  await session.print({
    kind: 'Operation',
    document: view,
    names: [`${view.namespace}/${view.name}`],
    ids: [view.id],
    text: renderOperation(session, view),
  });
}
