import {
  AsyncLocalStorage,
  type Headers,
  type Next,
  type WorkflowInboundCallsInterceptor as Inbound,
  type WorkflowInterceptors,
  type WorkflowInternalsInterceptor as Internals,
  type WorkflowOutboundCallsInterceptor as Outbound,
} from '@temporalio/workflow';

/** Under this name OpenTelemetry's interceptors of clients and activities give each other the trace. */
const name = '_tracer-data';

interface Carrier {
  readonly headers: Headers;
}
type Input<Side, Call extends keyof Side> = Required<Side>[Call] extends (input: infer I, ...rest: never[]) => unknown
  ? I
  : never;

/**
 * Hands the trace that a workflow, an update or a signal came with to all that is done for it. There are no spans in workflows: a
 * replay would make them anew, and what happened in them is in their histories. Nothing here waits or decides, so histories replay
 * the same with a trace and without; where there is none nothing is added.
 */
class TraceHeader implements Inbound, Outbound, Internals {
  readonly #current = new AsyncLocalStorage<Headers>();

  execute(input: Input<Inbound, 'execute'>, next: Next<Inbound, 'execute'>): Promise<unknown> {
    return this.#take(input, next);
  }

  handleSignal(input: Input<Inbound, 'handleSignal'>, next: Next<Inbound, 'handleSignal'>): Promise<void> {
    return this.#take(input, next);
  }

  handleUpdate(input: Input<Inbound, 'handleUpdate'>, next: Next<Inbound, 'handleUpdate'>): Promise<unknown> {
    return this.#take(input, next);
  }

  scheduleActivity(input: Input<Outbound, 'scheduleActivity'>, next: Next<Outbound, 'scheduleActivity'>) {
    return next(this.#give(input));
  }

  scheduleLocalActivity(
    input: Input<Outbound, 'scheduleLocalActivity'>,
    next: Next<Outbound, 'scheduleLocalActivity'>,
  ) {
    return next(this.#give(input));
  }

  startChildWorkflowExecution(
    input: Input<Outbound, 'startChildWorkflowExecution'>,
    next: Next<Outbound, 'startChildWorkflowExecution'>,
  ) {
    return next(this.#give(input));
  }

  signalWorkflow(input: Input<Outbound, 'signalWorkflow'>, next: Next<Outbound, 'signalWorkflow'>) {
    return next(this.#give(input));
  }

  continueAsNew(input: Input<Outbound, 'continueAsNew'>, next: Next<Outbound, 'continueAsNew'>) {
    return next(this.#give(input));
  }

  dispose(input: Input<Internals, 'dispose'>, next: Next<Internals, 'dispose'>): void {
    this.#current.disable();
    next(input);
  }

  #take<I extends Carrier, Answer>(input: I, next: (input: I) => Answer): Answer {
    const trace = input.headers[name];
    return trace === undefined ? next(input) : this.#current.run({ [name]: trace }, () => next(input));
  }

  #give<I extends Carrier>(input: I): I {
    const trace = this.#current.getStore();
    return trace === undefined ? input : { ...input, headers: { ...input.headers, ...trace } };
  }
}

export const interceptors = (): WorkflowInterceptors => {
  const header = new TraceHeader();
  return { inbound: [header], outbound: [header], internals: [header] };
};
