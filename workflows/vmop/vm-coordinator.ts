import {
  ApplicationFailure,
  ParentClosePolicy,
  TemporalFailure,
  WorkflowIdReusePolicy,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  isCancellation,
  setCurrentDetails,
  setHandler,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { IntakeResult, VmopActivities } from '../contracts/activities.ts';
import { searchKeys } from '../contracts/attributes.ts';
import { vmOperationId } from '../contracts/ids.ts';
import { messages } from '../contracts/messages.ts';
import type {
  AcceptedOperation,
  ActiveOperation,
  CoordinatorInput,
  CoordinatorStatus,
  OperationInput,
  OperationNote,
  OperationOrder,
  RequestAnswer,
  Submission,
  SubmitAnswer,
  TakeDown,
  Verdict,
  VmOperationMemo,
  VmRequest,
} from '../contracts/vmop.ts';
import { cutToBytes } from '../domain/text.ts';
import { decide } from '../domain/vmop/decide.ts';
import { inWords } from '../domain/vmop/matrix.ts';
import { problemWithRequest } from '../domain/vmop/vm-request.ts';
import { longestAttribute } from '../shared/attributes.ts';
import { failure, knownFailure } from '../shared/failures.ts';
import { control, oneLine } from '../shared/proxies.ts';
import { budgets, coordinatorIdle, troublePause } from './budgets.ts';
import { coordinatorDetails, coordinatorStatus } from './coordinator-status.ts';
import { Ledger } from './coordinator-state.ts';
import { answerRequest } from './request.ts';
import type { vmOperation } from './vm-operation.ts';

/**
 * The one who decides for a VM: gives operations their order, one after the other decides what happens to them, and starts a
 * workflow for each. What is active survives in the cluster: a coordinator that starts from nothing finds it there.
 */
export async function vmCoordinator(input: CoordinatorInput): Promise<void> {
  const given = input as Partial<CoordinatorInput> | null | undefined;
  if (typeof given?.namespace !== 'string' || typeof given.vmName !== 'string')
    throw failure('InvalidRequest', 'a coordinator is for one VM: { "namespace": …, "vmName": … }', {
      code: 'INVALID',
    });
  await new Coordinator(input).run();
}

class Coordinator {
  readonly #vm: { readonly namespace: string; readonly vmName: string };
  readonly #ledger: Ledger;
  readonly #since = new Date(Date.now()).toISOString();
  #isReady: boolean;
  /** What keeps it from deciding. */
  #trouble: string | undefined;
  /** Requests of people are answered one after the other: two equal ones make one operation. */
  #requests: Promise<unknown> = Promise.resolve();

  constructor({ namespace, vmName, resume }: CoordinatorInput) {
    this.#vm = { namespace, vmName };
    this.#ledger = new Ledger(resume);
    this.#isReady = resume !== undefined;
    this.#listen();
  }

  async run(): Promise<void> {
    if (!this.#isReady) await this.#rebuild();
    for (;;) {
      const next = this.#ledger.queued;
      if (next !== undefined) {
        await this.#decideInTheEnd(next);
        continue;
      }
      const isIdle = this.#ledger.active.length === 0;
      const woke = await this.#untilSomethingToDo(isIdle);
      if (!woke && this.#ledger.active.length === 0 && allHandlersFinished()) return;
      if (workflowInfo().continueAsNewSuggested && this.#ledger.queued === undefined && allHandlersFinished())
        await continueAsNew<typeof vmCoordinator>({ ...this.#vm, resume: this.#ledger.snapshot });
    }
  }

  async #untilSomethingToDo(isIdle: boolean): Promise<boolean> {
    const hasWork = (): boolean =>
      this.#ledger.queued !== undefined ||
      (this.#ledger.active.length === 0) !== isIdle ||
      (workflowInfo().continueAsNewSuggested && allHandlersFinished());
    if (isIdle) return await condition(hasWork, coordinatorIdle, { summary: 'close when nothing comes' });
    await condition(hasWork);
    return true;
  }

  async #rebuild(): Promise<void> {
    for (;;) {
      try {
        await this.#findActive();
        return;
      } catch (err) {
        if (isCancellation(err)) throw err;
        this.#trouble = `the active operations can't be read: ${knownFailure(err).message}`;
        this.#show();
        await sleep(troublePause, { summary: oneLine(this.#trouble) });
      }
    }
  }

  async #findActive(): Promise<void> {
    const { operations, highestSeq } = await control<VmopActivities>(
      budgets.listActive,
      `find the active operations of ${this.#vm.vmName}`,
    ).listActiveVmops(this.#vm);
    this.#ledger.adopt(operations, highestSeq);
    this.#isReady = true;
    this.#trouble = undefined;
  }

  /** What the cluster refuses for good, such as a missing right, may be mended by a person: nothing is lost until then. */
  async #decideInTheEnd(next: ActiveOperation): Promise<void> {
    try {
      await this.#decide(next);
      this.#trouble = undefined;
    } catch (err) {
      if (isCancellation(err)) throw err;
      this.#trouble = `${next.name} can't be decided: ${knownFailure(err).message}`;
      this.#show();
      await sleep(troublePause, { summary: oneLine(this.#trouble) });
    }
    this.#show();
  }

  /** Judges one newcomer against what is active and starts its workflow with the verdict. */
  async #decide(next: ActiveOperation): Promise<void> {
    const { again = false } = next;
    const op = acceptedOf(next);
    const intake = await control<VmopActivities>(budgets.intake, `take in ${inWords(op)} (${op.name})`).intake({
      op,
      incumbents: this.#ledger.olderThan(op).map((older) => acceptedOf(older)),
    });
    this.#ledger.drop(intake.ended);
    if (intake.state === 'closed') {
      this.#ledger.drop([op.uid]);
      return;
    }
    const verdict = this.#verdict(next, intake);
    const supersedes = verdict.kind === 'supersede' ? verdict.incumbents.map(({ uid }) => uid) : [];
    this.#ledger.update(op.uid, { stage: 'running', again: false, supersedes });
    const isStarted = await this.#start({
      op,
      decision: verdict,
      ...(intake.vm === undefined ? {} : { vmUid: intake.vm.uid }),
    });
    const isDeleted = this.#ledger.get(op.uid)?.deleted === true || verdict.kind === 'deleted';
    const wasStartedForThat = isStarted && verdict.kind === 'deleted';
    const isTold = isDeleted && !wasStartedForThat && (await this.#signal(next, { kind: 'deleted' }));
    if (!isStarted && !isTold && (again || isDeleted)) await this.#closeOrphan(op, verdict);
  }

  #verdict(next: ActiveOperation, intake: IntakeResult): Verdict {
    const isDeleted = intake.state === 'deleting' || this.#ledger.get(next.uid)?.deleted === true;
    if (isDeleted) return { kind: 'deleted' };
    if (intake.pins !== undefined) return { kind: 'resume', pins: intake.pins };
    const incumbents = this.#ledger.olderThan(next).map(({ name, uid, type, force }) => ({
      name,
      uid,
      type,
      ...(force === undefined ? {} : { force }),
    }));
    return decide(incumbents, next, this.#vm.vmName, intake.vm, intake.tookOver);
  }

  /** False: it has a workflow already. One that was ended by hand may be started again, one that returned may not. */
  async #start(input: OperationInput): Promise<boolean> {
    const { op, decision } = input;
    const memo: VmOperationMemo = {
      type: op.type,
      force: op.force ?? false,
      name: op.name,
      seq: op.seq,
      supersedes: decision.kind === 'supersede' ? decision.incumbents.map(({ name }) => name) : [],
    };
    try {
      await startChild<typeof vmOperation>('vmOperation', {
        workflowId: vmOperationId(op.namespace, op.uid),
        args: [input],
        parentClosePolicy: ParentClosePolicy.ABANDON,
        workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
        staticSummary: oneLine(`${inWords(op)}: ${op.namespace}/${op.vmName} (${op.name})`),
        memo: { ...memo },
        typedSearchAttributes: [
          { key: searchKeys.kind, value: 'vm-operation' },
          { key: searchKeys.status, value: 'Pending' },
          { key: searchKeys.vm, value: cutToBytes(`${op.namespace}/${op.vmName}`, longestAttribute) },
        ],
      });
      return true;
    } catch (err) {
      if (err instanceof TemporalFailure && err.name === 'WorkflowExecutionAlreadyStartedError') return false;
      throw err;
    }
  }

  /** An active operation whose workflow is closed for good: whoever took it over writes its end, else we do. */
  async #closeOrphan(op: AcceptedOperation, verdict: Verdict): Promise<void> {
    const isTakenOver = this.#ledger.active.some(({ supersedes = [] }) => supersedes.includes(op.uid));
    if (isTakenOver) return;
    if (verdict.kind === 'deleted') {
      await control<VmopActivities>(budgets.release, `let ${op.name} go`).releaseVmop(op);
    } else {
      await this.#fail(op, 'its workflow was ended before it had written its result');
    }
    this.#ledger.drop([op.uid]);
  }

  async #fail(op: AcceptedOperation, message: string): Promise<void> {
    await control<VmopActivities>(budgets.finish, `end ${op.name} as failed`).finishVmop({
      op,
      result: { ok: false, reason: 'OperationFailed', message },
      revoke: true,
    });
  }

  #listen(): void {
    setHandler(defineQuery<CoordinatorStatus>(messages.status), () => this.#status(), {
      description: 'Active operations of this VM in their order',
    });
    setHandler(
      defineUpdate<SubmitAnswer, [Submission]>(messages.submit),
      async (submission) => {
        await condition(() => this.#isReady);
        const seq = this.#ledger.accept(submission);
        this.#show();
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
        await condition(() => this.#isReady);
        await this.#deleted(uid);
      },
      { description: 'An operation object is being deleted or gone: { uid }' },
    );
    setHandler(
      defineSignal<[OperationNote]>(messages.opEnded),
      (note) => {
        this.#ledger.end(note);
        this.#show();
      },
      { description: 'The workflow of an operation ended: { uid }' },
    );
  }

  #problemWithSubmission(submission: Partial<Submission> | undefined): string | undefined {
    const op = submission?.op as Partial<Submission['op']> | undefined;
    if (typeof op?.uid !== 'string' || typeof op.name !== 'string' || typeof op.type !== 'string')
      return 'a submission is { "op": { "namespace", "name", "uid", "type", "vmName", "createdAt" } }';
    if (op.namespace === this.#vm.namespace && op.vmName === this.#vm.vmName) return undefined;
    return `this is the coordinator of ${this.#vm.namespace}/${this.#vm.vmName}, not of ${String(op.namespace)}/${String(op.vmName)}`;
  }

  async #request(request: VmRequest): Promise<RequestAnswer> {
    await condition(() => this.#isReady);
    try {
      return await answerRequest(this.#vm, this.#ledger, request);
    } finally {
      this.#show();
    }
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#requests.then(work, work);
    this.#requests = mine.catch(() => undefined);
    return await mine.catch((err: unknown) => {
      // A person gets the reason, not the names of what it came through.
      const { type, message, details } = knownFailure(err);
      throw ApplicationFailure.create({
        type,
        message,
        nonRetryable: true,
        ...(details === undefined ? {} : { details: [details] }),
      });
    });
  }

  /** Ends an operation from outside. Without a workflow there is nothing to end: it is closed here. */
  async #takeDown({ uid }: OperationOrder, order: TakeDown): Promise<string> {
    await condition(() => this.#isReady);
    const op = this.#ledger.get(uid);
    if (op === undefined) return `there is no active operation ${uid} of this VM; nothing to do`;
    if (!(await this.#signal(op, order))) {
      const why = order.kind === 'abandon' ? `abandoned by ${order.by}: ${order.reason}` : order.kind;
      await this.#fail(acceptedOf(op), why);
      this.#ledger.drop([uid]);
    }
    return `${op.name} is being ended`;
  }

  async #cancel({ uid, by }: OperationOrder): Promise<string> {
    await condition(() => this.#isReady);
    const op = this.#ledger.get(uid);
    if (op === undefined) throw failure('Refused', `operation ${uid} is not active`, { code: 'NOT_ACTIVE' });
    try {
      await control<VmopActivities>(budgets.person, `delete ${op.name}, asked by ${by}`).deleteVmop(op);
    } catch (err) {
      const { type, message, details } = knownFailure(err);
      throw ApplicationFailure.create({
        type,
        message,
        nonRetryable: true,
        ...(details === undefined ? {} : { details: [details] }),
      });
    }
    await this.#deleted(uid);
    return `${op.name} is being deleted`;
  }

  async #deleted(uid: string): Promise<void> {
    const op = this.#ledger.get(uid);
    if (op === undefined || op.deleted === true) return;
    this.#ledger.update(uid, { deleted: true });
    if (op.stage === 'queued') return;
    if (await this.#signal(op, { kind: 'deleted' })) return;
    this.#ledger.update(uid, { stage: 'queued', again: true });
  }

  /** False: no workflow of that operation is running. */
  async #signal(op: ActiveOperation, order: TakeDown): Promise<boolean> {
    try {
      await getExternalWorkflowHandle(vmOperationId(op.namespace, op.uid)).signal<[TakeDown]>(messages.takeDown, order);
      return true;
    } catch {
      return false;
    }
  }

  #status(): CoordinatorStatus {
    return coordinatorStatus(this.#vm, this.#ledger.active, this.#since, this.#trouble);
  }

  #show(): void {
    setCurrentDetails(coordinatorDetails(this.#status()));
  }
}

/** Without what only the coordinator needs to know. */
function acceptedOf(active: ActiveOperation): AcceptedOperation {
  const { namespace, name, uid, vmName, type, createdAt, seq, force, by } = active;
  return {
    ...{ namespace, name, uid, vmName, type, createdAt, seq },
    ...(force === undefined ? {} : { force }),
    ...(by === undefined ? {} : { by }),
  };
}

function problemWithOrder(order: Partial<OperationOrder> | undefined): string | undefined {
  if (typeof order?.uid !== 'string' || order.uid === '') return 'say which operation: uid';
  return typeof order.by === 'string' && order.by !== '' ? undefined : 'say who asks: by';
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw ApplicationFailure.nonRetryable(problem, 'InvalidRequest', { code: 'INVALID' });
}
