import {
  CancellationScope,
  allHandlersFinished,
  condition,
  defineQuery,
  defineSignal,
  getExternalWorkflowHandle,
  isCancellation,
  setHandler,
} from '@temporalio/workflow';
import type { OutcomeResult, VmopActivities, VmopWaits } from '../contracts/activities.ts';
import { vmCoordinatorId } from '../contracts/ids.ts';
import { messages } from '../contracts/messages.ts';
import type {
  FailedReason,
  OperationInput,
  OperationNote,
  OperationResult,
  Pins,
  TakeDown,
  VmOperationStatus,
} from '../contracts/vmop.ts';
import type { Incumbent } from '../domain/vmop/decide.ts';
import { inWords } from '../domain/vmop/matrix.ts';
import { notSupported } from '../domain/vmop/proof.ts';
import { failure, knownFailure } from '../shared/failures.ts';
import { control, waiting } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';
import { OperationState } from './operation-state.ts';

/**
 * One operation on a VM, as its coordinator decided it: takes over from older ones, claims the VM, sends the one signal, waits
 * for its proof, writes the result. It returns its result however it ends, so that its id can't be used again.
 */
export async function vmOperation(input: OperationInput): Promise<OperationResult> {
  const given = input as { op?: Partial<OperationInput['op']>; decision?: { kind?: string } } | null | undefined;
  if (typeof given?.op?.uid !== 'string' || typeof given.decision?.kind !== 'string')
    throw failure('InvalidRequest', 'an operation is started by the coordinator of its VM: vmflow start|stop|…', {
      code: 'INVALID',
    });
  return await new VmOperation(input).run();
}

class VmOperation {
  readonly #input: OperationInput;
  readonly #state: OperationState;
  readonly #scope = new CancellationScope();
  #order: TakeDown | undefined;
  /** UIDs of those it has yet to take over. */
  #toTakeOver: readonly string[];

  constructor(input: OperationInput) {
    this.#input = input;
    this.#state = new OperationState(input);
    const { decision } = input;
    this.#toTakeOver = decision.kind === 'supersede' ? decision.incumbents.map(({ uid }) => uid) : [];
    setHandler(defineQuery<VmOperationStatus>(messages.status), () => this.#state.status(), {
      description: 'What the operation does and waits for',
    });
    setHandler(
      defineSignal<[TakeDown]>(messages.takeDown),
      (order) => {
        this.#order ??= order;
        this.#scope.cancel();
      },
      { description: 'End now; for newer operations and for the coordinator' },
    );
  }

  async run(): Promise<OperationResult> {
    try {
      return await this.#runOrTakenDown();
    } finally {
      await CancellationScope.nonCancellable(async () => {
        await this.#tellCoordinator();
        await condition(allHandlersFinished);
      });
    }
  }

  async #runOrTakenDown(): Promise<OperationResult> {
    try {
      return await this.#scope.run(() => this.#carryOut());
    } catch (err) {
      // What fails while somebody takes over has not failed: the other one cleans up.
      if (isCancellation(err) || this.#order !== undefined) return await this.#takenDown();
      const { message } = knownFailure(err);
      return await this.#finish(failed('OperationFailed', message));
    }
  }

  async #carryOut(): Promise<OperationResult> {
    const { decision } = this.#input;
    switch (decision.kind) {
      case 'reject':
        return await this.#finish(failed('NotReadyToBeExecuted', decision.message));
      case 'notApplicable':
        return await this.#finish(failed(decision.reason, decision.message));
      case 'vmNotFound':
        return await this.#finish(failed('VirtualMachineNotFound', decision.message));
      case 'deleted':
        this.#order ??= { kind: 'deleted' };
        return await this.#takenDown();
      case 'resume':
        return await (decision.unsure === true ? this.#signal(decision.pins) : this.#waitForProof(decision.pins));
      case 'run':
        return await this.#execute([]);
      case 'supersede':
        return await this.#execute(decision.incumbents);
    }
  }

  async #execute(incumbents: readonly Incumbent[]): Promise<OperationResult> {
    const { op, vmUid = '' } = this.#input;
    if (op.type === 'Restore' || op.type === 'Clone')
      return await this.#finish(failed('OperationFailed', notSupported(op)));
    const scope = { op, vmUid };
    // The newest first: it may be about to take over from the others, and would find the VM claimed by us before it heard of us.
    for (const incumbent of incumbents.toReversed()) {
      this.#state.enter('take-over', `${incumbent.name} (${inWords(incumbent)})`);
      const taken = await control<VmopActivities>(
        budgets.takeOver,
        `take over from ${incumbent.name} (${inWords(incumbent)})`,
      ).takeOver({ ...scope, incumbent });
      this.#toTakeOver = this.#toTakeOver.filter((uid) => uid !== incumbent.uid);
      if (taken.outcome === 'still-aborting') return await this.#finish(failed('OperationFailed', taken.message));
    }
    if (op.type === 'Migrate' || op.type === 'Evict') {
      this.#state.enter('migratable');
      const refusal = await waiting<VmopWaits>(
        budgets.waitForMigration,
        `wait until ${op.vmName} can be migrated`,
      ).awaitMigratable(scope);
      if (refusal !== undefined) return await this.#finish(failed(refusal.reason, refusal.message));
    }
    this.#state.enter('claim');
    const pins = await control<VmopActivities>(budgets.pin, `claim ${op.vmName}`).pin({
      ...scope,
      supersedes: incumbents.map(({ name, uid }) => ({ name, uid })),
    });
    if ('reason' in pins) return await this.#finish(failed(pins.reason, pins.message));
    return await this.#signal(pins);
  }

  /** Sent once. What is under way when a newer operation takes over comes to its end first. */
  async #signal(pins: Pins): Promise<OperationResult> {
    const { op, vmUid = '' } = this.#input;
    this.#state.enter('signal');
    this.#state.pins = pins;
    try {
      const acted = await control<VmopActivities>(budgets.signal, `ask for ${inWords(op)} of ${op.vmName}`).sendSignal({
        op,
        vmUid,
        pins,
      });
      return await this.#waitForProof(acted);
    } catch (err) {
      if (isCancellation(err) || this.#order !== undefined || this.#state.isSignalled) throw err;
      const { message } = knownFailure(err);
      return await this.#finish(failed('OperationFailed', message), { signalSent: false, revoke: true });
    }
  }

  async #waitForProof(pins: Pins): Promise<OperationResult> {
    const { op } = this.#input;
    this.#state.signalled(pins);
    const outcome = await waiting<VmopWaits>(budgets.wait, `wait for ${inWords(op)} of ${op.vmName}`).awaitOutcome({
      op,
      vmUid: pins.vmUid,
      pins,
    });
    return await this.#finish(outcome);
  }

  /** Not cancellable: what happened is written, whoever asks to end now. */
  async #finish(
    result: OutcomeResult,
    more: { readonly signalSent?: false; readonly revoke?: boolean } = {},
  ): Promise<OperationResult> {
    const { op } = this.#input;
    this.#state.enter('finish');
    await CancellationScope.nonCancellable(() =>
      control<VmopActivities>(budgets.finish, `write that ${op.name} ${result.ok ? 'is done' : 'failed'}`).finishVmop({
        op,
        result,
        ...more,
      }),
    );
    return this.#state.end(result.ok ? 'Completed' : 'Failed', result);
  }

  async #takenDown(): Promise<OperationResult> {
    const { op } = this.#input;
    const order = this.#order ?? { kind: 'abandon', by: 'somebody in Temporal', reason: 'the workflow was cancelled' };
    if (order.kind === 'fence') return this.#state.fenced(order.by);
    if (order.kind === 'abandon') {
      const message = `abandoned by ${order.by}: ${order.reason}`;
      return await this.#finish(failed('OperationFailed', message), { revoke: true });
    }
    await CancellationScope.nonCancellable(() =>
      control<VmopActivities>(budgets.release, `clean up after the deleted ${op.name}`).releaseVmop(op),
    );
    return this.#state.end('released', { ok: false, reason: 'Deleted', message: `${op.name} was deleted` });
  }

  /** Its coordinator may be gone: then nobody needs to know. */
  async #tellCoordinator(): Promise<void> {
    const { namespace, vmName, uid } = this.#input.op;
    const note: OperationNote = {
      uid,
      ...(this.#state.isFenced ? { fenced: true } : {}),
      ...(this.#toTakeOver.length === 0 ? {} : { leftOver: this.#toTakeOver }),
    };
    await getExternalWorkflowHandle(vmCoordinatorId(namespace, vmName))
      .signal<[OperationNote]>(messages.opEnded, note)
      .catch(() => undefined);
  }
}

function failed(reason: FailedReason | (string & {}), message: string): OutcomeResult {
  return { ok: false, reason, message };
}
