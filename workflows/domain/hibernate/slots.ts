/** Who may hibernate a VM now. Pure: the gate's memory in, the gate's memory and its answers out. */

export interface GateLimits {
  readonly overall: number;
  readonly perSource: number;
  readonly perTarget: number;
}

export const defaultLimits: GateLimits = { overall: 4, perSource: 2, perTarget: 2 };

export interface SlotRequest {
  /** `<namespace>/<name>` of the set: one slot each. */
  readonly set: string;
  readonly source: string;
  /** Empty: any. */
  readonly target: string;
  /** Id of the workflow that asks, and is told. */
  readonly workflowId: string;
}

export interface SlotHolder extends SlotRequest {
  /** It waits for something that another holder may have to free: it doesn't count until it moves again. */
  readonly parked: boolean;
}

export interface Gate {
  readonly holders: readonly SlotHolder[];
  /** In the order in which they came. */
  readonly queue: readonly SlotRequest[];
}

export const emptyGate: Gate = { holders: [], queue: [] };

export interface GateStep {
  readonly gate: Gate;
  readonly granted: readonly SlotRequest[];
}

export type GateCall =
  | { readonly kind: 'request'; readonly request: SlotRequest }
  /** It has begun already and came back: it is in, even beyond the limits. */
  | { readonly kind: 'claim'; readonly request: SlotRequest }
  | { readonly kind: 'park' | 'unpark' | 'release'; readonly set: string }
  /** What the cluster shows: migrations that have begun, and sets of which nothing is open any more. */
  | { readonly kind: 'reconcile'; readonly begun: readonly SlotRequest[]; readonly over: readonly string[] };

/** The gate after one call; whoever can be served then is. Repeats change nothing, and a holder that asks again is told again. */
export function afterCall(gate: Gate, call: GateCall, limits: GateLimits): GateStep {
  const next = accepted(gate, call);
  const again = call.kind === 'request' ? next.holders.filter(({ set }) => set === call.request.set) : [];
  const step = grant(next, limits);
  return { gate: step.gate, granted: [...again.map(asRequest), ...step.granted] };
}

function accepted(gate: Gate, call: GateCall): Gate {
  switch (call.kind) {
    case 'request':
      return holds(gate, call.request.set) ? moved(gate, call.request) : queued(gate, call.request);
    case 'claim':
      return holds(gate, call.request.set) ? moved(gate, call.request) : held(gate, call.request);
    case 'park':
      return parking(gate, call.set, true);
    case 'unpark':
      return parking(gate, call.set, false);
    case 'release':
      return without(gate, [call.set]);
    case 'reconcile':
      return call.begun
        .filter(({ set }) => !holds(gate, set) && !call.over.includes(set))
        .reduce(held, without(gate, call.over));
  }
}

/** First come, first served; one that has to wait for its nodes doesn't keep others from theirs. */
function grant(gate: Gate, limits: GateLimits): GateStep {
  const first = gate.queue.find((request) => hasRoom(gate.holders, request, limits));
  if (first === undefined) return { gate, granted: [] };
  const rest = grant(held(gate, first), limits);
  return { gate: rest.gate, granted: [first, ...rest.granted] };
}

function hasRoom(holders: readonly SlotHolder[], { source, target }: SlotRequest, limits: GateLimits): boolean {
  const active = holders.filter(({ parked }) => !parked);
  const sameSource = active.filter((one) => one.source === source).length;
  const sameTarget = target === '' ? 0 : active.filter((one) => one.target === target).length;
  return active.length < limits.overall && sameSource < limits.perSource && sameTarget < limits.perTarget;
}

/** How many are ahead of a request; undefined: it doesn't wait. */
export function placeInQueue({ queue }: Gate, set: string): number | undefined {
  const index = queue.findIndex((request) => request.set === set);
  return index < 0 ? undefined : index;
}

function holds({ holders }: Gate, set: string): boolean {
  return holders.some((holder) => holder.set === set);
}

function held(gate: Gate, request: SlotRequest): Gate {
  const { holders, queue } = without(gate, [request.set]);
  return { holders: [...holders, { ...request, parked: false }], queue };
}

/** It asks for other nodes than before, or from another run. */
function moved({ holders, queue }: Gate, request: SlotRequest): Gate {
  return { holders: holders.map((one) => (one.set === request.set ? { ...one, ...request } : one)), queue };
}

/** Asking again for another node keeps the place. */
function queued({ holders, queue }: Gate, request: SlotRequest): Gate {
  const isWaiting = queue.some(({ set }) => set === request.set);
  return {
    holders,
    queue: isWaiting ? queue.map((one) => (one.set === request.set ? request : one)) : [...queue, request],
  };
}

function parking({ holders, queue }: Gate, set: string, parked: boolean): Gate {
  return { holders: holders.map((one) => (one.set === set ? { ...one, parked } : one)), queue };
}

function without({ holders, queue }: Gate, sets: readonly string[]): Gate {
  const isOther = ({ set }: SlotRequest): boolean => !sets.includes(set);
  return { holders: holders.filter(isOther), queue: queue.filter(isOther) };
}

function asRequest({ set, source, target, workflowId }: SlotHolder): SlotRequest {
  return { set, source, target, workflowId };
}
