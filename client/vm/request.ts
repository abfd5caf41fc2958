import { searchKeys, type OperationKind as ExecutionKind } from '../../workflows/contracts/attributes.ts';
import { vmCoordinatorId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { CoordinatorInput, RequestAnswer, VmRequest } from '../../workflows/contracts/vmop.ts';
import { code, codeBlock, pane } from '../../workflows/domain/markdown.ts';
import { cutToBytes } from '../../workflows/domain/text.ts';
import { CliError } from '../errors.ts';
import { gatewayReasons, type StartRequest } from '../gateway.ts';
import type { Session } from '../session.ts';
import { explainSilence, whatHoldsUp } from './silence.ts';
import type { VmRef } from './targets.ts';

/** Values of search attributes end at 255 bytes, summaries at 200. */
const longestAttribute = 255;
const longestSummary = 200;
/** A coordinator that closes in this very moment, a Temporal that is restarted: the same request again meets the next one. */
const attempts = 3;
const pauseMs = 300;

/** Sends a request for an operation to the VM's coordinator. `verb` names it in errors: `stop`. */
export async function sendRequest(
  session: Session,
  vm: VmRef,
  request: VmRequest,
  verb: string,
): Promise<RequestAnswer> {
  const answer = await tellCoordinator(session, vm, messages.request, request, `${verb} ${vm.namespace}/${vm.name}`);
  return answer as RequestAnswer;
}

/**
 * Sends an update to the coordinator of a VM, which is started when there is none: what is active it finds in the cluster. The id
 * of the update is one for all attempts, so that it is carried out once.
 */
export async function tellCoordinator(
  session: Session,
  vm: VmRef,
  name: string,
  body: unknown,
  attempt: string,
): Promise<unknown> {
  const gateway = await session.gateway();
  const updateId = `${name}/${session.runtime.random()}`;
  const start = coordinatorStart(vm);
  const answered = new AbortController();
  // A courtesy: the answer never waits for it.
  void explainSilence(session, start.workflowId, answered.signal).catch(() => undefined);
  try {
    for (let left = attempts - 1; ; left--) {
      try {
        return (await gateway.startWithUpdate(start, { name, updateId, body })).answer;
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        if (left === 0 || !isPassing(error)) throw await explained(session, error, attempt, start.workflowId);
        await session.runtime.sleep(pauseMs);
      }
    }
  } finally {
    answered.abort();
  }
}

function isPassing({ reason }: CliError): boolean {
  return reason === gatewayReasons.notFound || reason === gatewayReasons.unreachable;
}

/** People ask for a stop of a VM, not for the start of its coordinator; and one that doesn't answer has its reason. */
async function explained(session: Session, error: CliError, attempt: string, workflowId: string): Promise<CliError> {
  const why = error.reason === gatewayReasons.unfinished ? await whatHoldsUp(session, workflowId) : undefined;
  const message = error.message.replace(`can't start ${workflowId}`, `can't ${attempt}`);
  return error.with({
    message,
    ...(why === undefined ? {} : { why }),
    ...(error.reason === gatewayReasons.unfinished ? { link: await session.link(workflowId) } : {}),
  });
}

function coordinatorStart({ namespace, name }: VmRef): StartRequest {
  const kind: ExecutionKind = 'vm-coordinator';
  const input: CoordinatorInput = { namespace, vmName: name };
  return {
    type: 'vmCoordinator',
    workflowId: vmCoordinatorId(namespace, name),
    args: [input],
    summary: cutToBytes(`operations on ${namespace}/${name}`, longestSummary),
    details: pane([
      `Gives the operations on VM ${code(`${namespace}/${name}`)} their order and decides what happens to each.`,
      codeBlock([`vmflow vm get ${name} -n ${namespace}`, `vmflow op list --vm ${name} -n ${namespace}`].join('\n')),
    ]),
    memo: {},
    attributes: [
      { key: searchKeys.kind, value: kind },
      { key: searchKeys.vm, value: cutToBytes(`${namespace}/${name}`, longestAttribute) },
    ],
  };
}
