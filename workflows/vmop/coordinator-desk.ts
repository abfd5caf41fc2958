import {
  ApplicationFailure,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import type { VmopActivities } from '../contracts/activities.ts';
import { messages } from '../contracts/messages.ts';
import type {
  CoordinatorStatus,
  OperationNote,
  OperationOrder,
  RequestAnswer,
  Submission,
  SubmitAnswer,
  TakeDown,
  VmRequest,
} from '../contracts/vmop.ts';
import { problemWithRequest } from '../domain/vmop/vm-request.ts';
import { failure, knownFailure } from '../shared/failures.ts';
import { control } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';
import type { Ledger } from './coordinator-state.ts';
import { acceptedOf, failOperation, takeDown } from './operation-runs.ts';
import { answerRequest } from './request.ts';

interface Coordinator {
  readonly vm: { readonly namespace: string; readonly vmName: string };
  readonly ledger: Ledger;
  /** Whether it knows what is active. */
  isReady(): boolean;
  /** What keeps it from deciding, where something does. */
  trouble(): string | undefined;
  status(): CoordinatorStatus;
  /** Something has changed. */
  show(): void;
}

/** What people, the bridge and operations say to a coordinator. Deciding is not done here. */
export class CoordinatorDesk {
  readonly #coordinator: Coordinator;
  /** Requests of people are answered one after the other: two equal ones make one operation. */
  #requests: Promise<unknown> = Promise.resolve();

  constructor(coordinator: Coordinator) {
    this.#coordinator = coordinator;
  }

  listen(): void {
    setHandler(defineQuery<CoordinatorStatus>(messages.status), () => this.#coordinator.status(), {
      description: 'Active operations of this VM in their order',
    });
    setHandler(
      defineUpdate<SubmitAnswer, [Submission]>(messages.submit),
      async (submission) => {
        await this.#untilReady();
        const seq = this.#coordinator.ledger.accept(submission);
        this.#coordinator.show();
        return { accepted: true, seq };
      },
      {
        description: 'An operation object exists: { op: { namespace, name, uid, type, vmName, createdAt } }',
        validator: (submission: Submission) => refuse(this.#problemWithSubmission(submission)),
      },
    );
    setHandler(
      defineUpdate<RequestAnswer, [VmRequest]>(messages.request),
      (request) => this.#inTurn(() => this.#request(request)),
      {
        description: 'Ask for an operation: { spec: { type, force? }, by, reason?, dryRun? }',
        validator: (request: VmRequest) => refuse(problemWithRequest(request)),
      },
    );
    setHandler(
      defineUpdate<string, [OperationOrder]>(messages.abandon),
      (order) => this.#takeDown(order, { kind: 'abandon', by: order.by, reason: order.reason ?? 'no reason given' }),
      {
        description: 'End a stuck operation as failed: { uid, by, reason? }',
        validator: (order: OperationOrder) => refuse(problemWithOrder(order)),
      },
    );
    setHandler(
      defineUpdate<string, [OperationOrder]>(messages.cancelOperation),
      async (order) => await this.#cancel(order),
      {
        description: 'Delete an operation object: { uid, by }',
        validator: (order: OperationOrder) => refuse(problemWithOrder(order)),
      },
    );
    setHandler(
      defineSignal<[OperationNote]>(messages.opDeleted),
      async ({ uid }) => {
        await this.#untilReady();
        await this.#deleted(uid);
      },
      { description: 'An operation object is being deleted or gone: { uid }' },
    );
    setHandler(
      defineSignal<[OperationNote]>(messages.opEnded),
      (note) => {
        this.#coordinator.ledger.end(note);
        this.#coordinator.show();
      },
      { description: 'The workflow of an operation ended: { uid }' },
    );
  }

  #problemWithSubmission(submission: Partial<Submission> | undefined): string | undefined {
    const op = submission?.op as Partial<Submission['op']> | undefined;
    if (typeof op?.uid !== 'string' || typeof op.name !== 'string' || typeof op.type !== 'string')
      return 'a submission is { "op": { "namespace", "name", "uid", "type", "vmName", "createdAt" } }';
    if (op.namespace === this.#coordinator.vm.namespace && op.vmName === this.#coordinator.vm.vmName) return undefined;
    return `this is the coordinator of ${this.#coordinator.vm.namespace}/${this.#coordinator.vm.vmName}, not of ${String(op.namespace)}/${String(op.vmName)}`;
  }

  /** A person isn't kept waiting for somebody who has to mend something first: nothing would be said until then. */
  async #request(request: VmRequest): Promise<RequestAnswer> {
    await condition(() => this.#coordinator.isReady() || this.#coordinator.trouble() !== undefined);
    const trouble = this.#coordinator.trouble();
    if (trouble !== undefined)
      throw failure('Unavailable', `${trouble}; nothing was asked for`, { code: 'TROUBLE', next: 'vmflow doctor' });
    try {
      return await answerRequest(this.#coordinator.vm, this.#coordinator.ledger, request);
    } finally {
      this.#coordinator.show();
    }
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#requests.then(work, work);
    this.#requests = mine.catch(() => undefined);
    return await mine.catch((err: unknown) => {
      throw inPlainWords(err);
    });
  }

  /** Ends an operation from outside. Without a workflow there is nothing to end: it is closed here. */
  async #takeDown({ uid }: OperationOrder, order: TakeDown): Promise<string> {
    await this.#untilReady();
    const op = this.#coordinator.ledger.get(uid);
    if (op === undefined) return `there is no active operation ${uid} of this VM; nothing to do`;
    if (!(await takeDown(op, order))) {
      const why = order.kind === 'abandon' ? `abandoned by ${order.by}: ${order.reason}` : order.kind;
      if (await failOperation(acceptedOf(op), why)) this.#coordinator.ledger.drop([uid]);
      else await takeDown(op, order);
    }
    return `${op.name} is being ended`;
  }

  async #cancel({ uid, by }: OperationOrder): Promise<string> {
    await this.#untilReady();
    const op = this.#coordinator.ledger.get(uid);
    if (op === undefined) throw failure('Refused', `operation ${uid} is not active`, { code: 'NOT_ACTIVE' });
    try {
      await control<VmopActivities>(budgets.person, `delete ${op.name}, asked by ${by}`).deleteVmop(op);
    } catch (err) {
      throw inPlainWords(err);
    }
    await this.#deleted(uid);
    return `${op.name} is being deleted`;
  }

  async #deleted(uid: string): Promise<void> {
    const op = this.#coordinator.ledger.get(uid);
    if (op === undefined || op.deleted === true) return;
    this.#coordinator.ledger.update(uid, { deleted: true });
    if (op.stage === 'queued') return;
    if (await takeDown(op, { kind: 'deleted' })) return;
    this.#coordinator.ledger.update(uid, { stage: 'queued', again: true });
  }

  async #untilReady(): Promise<void> {
    await condition(() => this.#coordinator.isReady());
  }
}

/** A person gets the reason, not the names of what it came through. */
function inPlainWords(err: unknown): ApplicationFailure {
  const { type, message, details } = knownFailure(err);
  return ApplicationFailure.create({
    type,
    message,
    nonRetryable: true,
    ...(details === undefined ? {} : { details: [details] }),
  });
}

function problemWithOrder(order: Partial<OperationOrder> | undefined): string | undefined {
  if (typeof order?.uid !== 'string' || order.uid === '') return 'say which operation: uid';
  return typeof order.by === 'string' && order.by !== '' ? undefined : 'say who asks: by';
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw ApplicationFailure.nonRetryable(problem, 'InvalidRequest', { code: 'INVALID' });
}
