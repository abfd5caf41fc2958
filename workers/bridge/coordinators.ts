import { WithStartWorkflowOperation, type Client, type Workflow } from '@temporalio/client';
import { longestAttribute, searchKeys } from '../../workflows/contracts/attributes.ts';
import { vmCoordinatorId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type {
  CoordinatorInput,
  OperationNote,
  Submission,
  SubmitAnswer,
  VmopRef,
} from '../../workflows/contracts/vmop.ts';
import { cutToBytes } from '../../workflows/domain/text.ts';

/** The way to the coordinators of VMs. Both calls may be repeated, and fail when it isn't known that they arrived. */
export interface Coordinators {
  /** An operation object exists. Resolves when its coordinator has taken it in. */
  submit(op: VmopRef): Promise<void>;
  /** An operation object is being deleted or gone. */
  deleted(op: VmopRef): Promise<void>;
}

/** An update is accepted by a worker, not by the server: without one there is no answer, and what came later must not wait. */
const answerWithinMs = 3_000;

export function temporalCoordinators(client: Client, taskQueue: string): Coordinators {
  const inTime = <T>(call: () => Promise<T>): Promise<T> => client.withDeadline(Date.now() + answerWithinMs, call);
  return {
    async submit(op) {
      const startWorkflowOperation = new WithStartWorkflowOperation<Workflow>('vmCoordinator', {
        ...coordinatorOf(op, taskQueue),
        workflowIdConflictPolicy: 'USE_EXISTING',
      });
      await inTime(() =>
        client.workflow.startUpdateWithStart<Workflow, SubmitAnswer, [Submission]>(messages.submit, {
          args: [{ op }],
          updateId: op.uid,
          waitForStage: 'ACCEPTED',
          startWorkflowOperation,
        }),
      );
    },
    async deleted(op) {
      await inTime(() =>
        client.workflow.signalWithStart<Workflow, [OperationNote]>('vmCoordinator', {
          ...coordinatorOf(op, taskQueue),
          signal: messages.opDeleted,
          signalArgs: [{ uid: op.uid }],
        }),
      );
    },
  };
}

function coordinatorOf({ namespace, vmName }: VmopRef, taskQueue: string) {
  const input: CoordinatorInput = { namespace, vmName };
  return {
    taskQueue,
    workflowId: vmCoordinatorId(namespace, vmName),
    args: [input],
    staticSummary: cutToBytes(`Operations on ${namespace}/${vmName}`, 200),
    typedSearchAttributes: [
      { key: searchKeys.kind, value: 'vm-coordinator' },
      { key: searchKeys.vm, value: cutToBytes(`${namespace}/${vmName}`, longestAttribute) },
    ],
  };
}
