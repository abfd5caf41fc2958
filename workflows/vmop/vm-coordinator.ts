import {
  allHandlersFinished,
  condition,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { IntakeResult, VmopActivities } from '../contracts/activities.ts';
import type {
  AcceptedOperation,
  ActiveOperation,
  CoordinatorInput,
  CoordinatorStatus,
  Verdict,
} from '../contracts/vmop.ts';
import { decide } from '../domain/vmop/decide.ts';
import { inWords } from '../domain/vmop/matrix.ts';
import { failure, knownFailure } from '../shared/failures.ts';
import { control, oneLine } from '../shared/proxies.ts';
import { now } from '../shared/now.ts';
import { budgets, coordinatorIdle, troublePause } from './budgets.ts';
import { CoordinatorDesk } from './coordinator-desk.ts';
import { coordinatorDetails, coordinatorStatus } from './coordinator-status.ts';
import { Ledger } from './coordinator-state.ts';
import { acceptedOf, failOperation, startOperation, takeDown } from './operation-runs.ts';

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
  readonly #since = now();
  #isReady: boolean;
  /** What keeps it from deciding. */
  #trouble: string | undefined;

  constructor({ namespace, vmName, resume }: CoordinatorInput) {
    this.#vm = { namespace, vmName };
    this.#ledger = new Ledger(resume);
    this.#isReady = resume !== undefined;
    new CoordinatorDesk({
      vm: this.#vm,
      ledger: this.#ledger,
      isReady: () => this.#isReady,
      trouble: () => this.#trouble,
      status: () => this.#status(),
      show: () => this.#show(),
    }).listen();
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
    if (intake.state === 'closed') this.#ledger.drop([op.uid]);
    // It may have been ended meanwhile.
    if (this.#ledger.get(op.uid) === undefined) return;
    const verdict = this.#verdict(next, intake);
    const supersedes = verdict.kind === 'supersede' ? verdict.incumbents.map(({ uid }) => uid) : [];
    this.#ledger.update(op.uid, { stage: 'running', again: false, supersedes });
    const isStarted = await startOperation({
      op,
      decision: verdict,
      ...(intake.vm === undefined ? {} : { vmUid: intake.vm.uid }),
    });
    const isDeleted = this.#ledger.get(op.uid)?.deleted === true || verdict.kind === 'deleted';
    const wasStartedForThat = isStarted && verdict.kind === 'deleted';
    const isTold = isDeleted && !wasStartedForThat && (await takeDown(op, { kind: 'deleted' }));
    if (!isStarted && !isTold && (again || isDeleted)) await this.#closeOrphan(op, verdict);
  }

  #verdict(next: ActiveOperation, intake: IntakeResult): Verdict {
    const isDeleted = intake.state === 'deleting' || this.#ledger.get(next.uid)?.deleted === true;
    if (isDeleted) return { kind: 'deleted' };
    if (intake.pins !== undefined)
      return { kind: 'resume', pins: intake.pins, ...(intake.state === 'unsure' ? { unsure: true } : {}) };
    const incumbents = this.#ledger.olderThan(next).map(({ name, uid, type, force }) => ({
      name,
      uid,
      type,
      ...(force === undefined ? {} : { force }),
    }));
    // Once it has claimed the VM it was applicable: what it did to the VM since must not count against it.
    if (intake.state === 'claimed')
      return incumbents.length === 0 ? { kind: 'run' } : { kind: 'supersede', incumbents };
    return decide(incumbents, next, this.#vm.vmName, intake.vm, intake.tookOver);
  }

  /** An active operation whose workflow is closed for good: whoever took it over writes its end, else we do. */
  async #closeOrphan(op: AcceptedOperation, verdict: Verdict): Promise<void> {
    const isTakenOver = this.#ledger.active.some(({ supersedes = [] }) => supersedes.includes(op.uid));
    if (isTakenOver) return;
    if (verdict.kind === 'deleted') {
      await control<VmopActivities>(budgets.release, `let ${op.name} go`).releaseVmop(op);
    } else {
      const isLost = await failOperation(op, 'its workflow was ended before it had written its result');
      if (!isLost) return;
    }
    this.#ledger.drop([op.uid]);
  }

  #status(): CoordinatorStatus {
    return coordinatorStatus(this.#vm, this.#ledger.active, this.#since, this.#trouble);
  }

  #show(): void {
    setCurrentDetails(coordinatorDetails(this.#status()));
  }
}
