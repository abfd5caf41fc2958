import { messages } from '../../workflows/contracts/messages.ts';
import type { VmopInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { vmOperationId } from '../../workflows/contracts/ids.ts';
import type { OperationOrder } from '../../workflows/contracts/vmop.ts';
import { inWords } from '../../workflows/domain/vmop/matrix.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { printIntent } from '../output/answers.ts';
import type { Session } from '../session.ts';
import type { PlaceFlags } from '../vm/place.ts';
import { tellCoordinator } from '../vm/request.ts';
import { endInWords, endOfInfo, exitOfEnd } from './end.ts';
import { findOperation } from './find.ts';
import { sayHowToComeBack, stepLines, waitForOperation, type WaitFlags } from './wait.ts';

export interface ActFlags extends PlaceFlags, WaitFlags {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** `op cancel ID`: delete the operation; what it can still take back is taken back. */
export const cancelOperation: Action<ActFlags> = async (session, [id = ''], flags) =>
  act(session, id, flags, {
    verb: 'cancel',
    update: messages.cancelOperation,
    effect: (op) => `${op.name} (${inWords(op)} of ${op.vmName}) is deleted; what it has not done yet is taken back`,
  });

/** `op abandon ID`: end a stuck operation as failed, also one that nothing may take over. */
export const abandonOperation: Action<ActFlags> = async (session, [id = ''], flags) =>
  act(session, id, flags, {
    verb: 'abandon',
    update: messages.abandon,
    effect: (op) => `${op.name} (${inWords(op)} of ${op.vmName}) ends as Failed; the VM is free for the next operation`,
  });

interface Order {
  readonly verb: string;
  readonly update: string;
  readonly effect: (op: VmopInfo) => string;
}

async function act(session: Session, id: string, flags: ActFlags, order: Order): Promise<ExitCode> {
  const op = await findOperation(session, id, flags);
  const ended = endOfInfo(op);
  if (ended !== undefined) {
    session.note(`${op.name}: nothing to ${order.verb}, it is over: ${endInWords(ended)}`);
    return exitCodes.ok.code;
  }
  if (flags.dryRun === true)
    return await printIntent(session, {
      id: vmOperationId(op.namespace, op.uid),
      name: op.name,
      verb: order.verb,
      effect: order.effect(op),
    });
  const { namespace, vmName, uid } = op;
  const { reason } = flags;
  const body: OperationOrder = { uid, by: session.runtime.user(), ...(reason === undefined ? {} : { reason }) };
  const attempt = `${order.verb} operation ${namespace}/${op.name}`;
  const answer = await tellCoordinator(session, { namespace, name: vmName }, order.update, body, attempt);
  if (flags.wait === undefined) {
    await printSent(session, op, order.update, String(answer));
    return exitCodes.ok.code;
  }
  const interrupt = session.runtime.onInterrupt();
  try {
    const end = await waitForOperation(session, op, flags, interrupt.signal, stepLines(session, op.name));
    sayHowToComeBack(session, op, end);
    await printSent(session, op, order.update, endInWords(end));
    return exitOfEnd(end);
  } finally {
    interrupt.dispose();
  }
}

async function printSent(session: Session, op: VmopInfo, message: string, answer: string): Promise<void> {
  const id = vmOperationId(op.namespace, op.uid);
  const link = await session.link(id);
  await session.print({
    kind: 'OperationMessageSent',
    document: { id, namespace: op.namespace, name: op.name, vm: op.vmName, message, answer, link },
    names: [`${op.namespace}/${op.name}`],
    ids: [id],
    text: `${op.name}: ${answer}\n  vm      vmflow vm get ${op.vmName} -n ${op.namespace}\n`,
  });
}
