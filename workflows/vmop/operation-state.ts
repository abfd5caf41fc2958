import { setCurrentDetails, upsertMemo, workflowInfo } from '@temporalio/workflow';
import type { OutcomeResult } from '../contracts/activities.ts';
import type { Step } from '../contracts/status.ts';
import type { OperationInput, OperationName, OperationResult, Pins, VmOperationStatus } from '../contracts/vmop.ts';
import { inWords, superseders } from '../domain/vmop/matrix.ts';
import { Publisher } from '../shared/attributes.ts';
import { now } from '../shared/now.ts';
import { operationDetails } from './operation-details.ts';

/** Steps in their order; `only` names the kinds that have it. */
const steps = [
  { id: 'take-over', title: 'take over from older operations' },
  { id: 'migratable', title: 'wait until the VM can be migrated', only: ['Migrate', 'Evict'] },
  { id: 'claim', title: 'claim the VM' },
  { id: 'signal', title: 'ask the VM to change' },
  { id: 'wait', title: 'wait for the proof' },
  { id: 'finish', title: 'write the result' },
] as const;

type StepId = (typeof steps)[number]['id'];

/** Where an operation stands, for the query, the lists and the Web UI. */
export class OperationState {
  readonly #input: OperationInput;
  readonly #publisher = new Publisher();
  #step: StepId | undefined;
  #lastBeforeFinish: StepId | undefined;
  #detail: string | undefined;
  #status = 'Pending';
  #reason = 'Accepted';
  #message = 'accepted by the coordinator of the VM';
  #since = now();
  #isSignalled = false;
  #supersededBy: OperationName | undefined;
  #hasEnded = false;
  pins: Pins | undefined;

  constructor(input: OperationInput) {
    this.#input = input;
    this.#show();
  }

  get isSignalled(): boolean {
    return this.#isSignalled;
  }

  get isFenced(): boolean {
    return this.#supersededBy !== undefined;
  }

  enter(step: StepId, detail?: string): void {
    this.#step = step;
    if (step !== 'finish') this.#lastBeforeFinish = step;
    this.#detail = detail;
    this.#since = now();
    this.#message = `${steps.find(({ id }) => id === step)?.title ?? step}${detail === undefined ? '' : `: ${detail}`}`;
    this.#show();
  }

  signalled(pins: Pins): void {
    this.#isSignalled = true;
    this.pins = pins;
    this.#status = 'InProgress';
    this.#reason = `${this.#input.op.type}InProgress`;
    this.enter('wait');
    this.#publisher.publish({ status: this.#status, waitingFor: 'far-side' });
  }

  end(outcome: OperationResult['outcome'], { reason, message }: OutcomeResult): OperationResult {
    this.#hasEnded = true;
    this.#status = outcome === 'released' ? 'Cancelled' : outcome;
    this.#reason = reason;
    this.#message = message;
    this.#since = now();
    this.#publisher.publish({ status: this.#status, waitingFor: null });
    this.#show();
    return { outcome, reason, message, signalled: this.#isSignalled };
  }

  fenced(by: OperationName): OperationResult {
    this.#supersededBy = by;
    upsertMemo({ supersededBy: by.name });
    const result = this.end('fenced', { ok: false, reason: 'Superseded', message: `superseded by ${by.name}` });
    return { ...result, supersededBy: by };
  }

  status(): VmOperationStatus {
    const { op, decision } = this.#input;
    return {
      kind: 'vm-operation',
      id: workflowInfo().workflowId,
      status: this.isFenced ? 'Superseded' : this.#status,
      reason: this.#reason,
      message: this.#message,
      since: this.#since,
      ...(this.#hasEnded ? {} : { waitingFor: 'far-side' }),
      steps: this.#steps(),
      next: this.#hasEnded
        ? [`vmflow vm get ${op.vmName} -n ${op.namespace}`]
        : [`vmflow op watch ${op.name} -n ${op.namespace}`, `vmflow op cancel ${op.name} -n ${op.namespace}`],
      op,
      ...(this.pins === undefined ? {} : { pins: this.pins }),
      supersedes: decision.kind === 'supersede' ? decision.incumbents.map(({ name, uid }) => ({ name, uid })) : [],
      ...(this.#supersededBy === undefined ? {} : { supersededBy: this.#supersededBy }),
      supersedableBy: this.#hasEnded ? [] : superseders(op).map((kind) => inWords(kind)),
    };
  }

  #steps(): Step[] {
    const { op, decision } = this.#input;
    const wanted = steps.filter(
      (step) =>
        (!('only' in step) || (step.only as readonly string[]).includes(op.type)) &&
        (step.id !== 'take-over' || decision.kind === 'supersede'),
    );
    const at = wanted.findIndex(({ id }) => id === this.#step);
    const last = wanted.findIndex(({ id }) => id === this.#lastBeforeFinish);
    return wanted.map(({ id, title }, place) => ({
      id,
      title,
      state:
        id !== 'finish' && place > last ? (this.#hasEnded ? 'skipped' : 'pending') : this.#stateAt(place, at, last),
      ...(place === at && this.#detail !== undefined ? { detail: this.#detail } : {}),
    }));
  }

  /** `last`: the step that was under way when the result was clear. */
  #stateAt(place: number, at: number, last: number): Step['state'] {
    const isFailed = this.#hasEnded && this.#status === 'Failed';
    if (place < at) return isFailed && place === last ? 'failed' : 'done';
    if (place > at) return this.#hasEnded ? 'skipped' : 'pending';
    if (!this.#hasEnded) return 'active';
    return this.isFenced ? 'skipped' : 'done';
  }

  #show(): void {
    setCurrentDetails(operationDetails(this.status()));
  }
}
