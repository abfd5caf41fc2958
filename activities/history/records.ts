import { searchKeys } from '../../workflows/contracts/attributes.ts';
import { inwardKinds, peoplesMessages } from './names.ts';
import type { Attributes, Happening, PastEvent, PastRun } from './past.ts';
import type { HistoryRecord } from './record.ts';
import { safeText, safeValue } from './redact.ts';

type Told = Omit<HistoryRecord, 'id' | 'at' | 'kind' | 'operation' | 'run' | 'vm' | 'batch'>;

/** Who did what in a run, when and why, in the order of its history. */
export function recordsOf({ workflowId, runId, events }: PastRun): HistoryRecord[] {
  const subject = subjectOf(events);
  const teller = new Teller(inwardKinds.has(subject.kind));
  const told = events.map(({ id, at, what }): HistoryRecord | undefined => {
    const record = teller.tell(id, what);
    if (record === undefined) return undefined;
    return { id: `${workflowId}/${runId}/${String(id)}`, at, ...subject, operation: workflowId, run: runId, ...record };
  });
  // A run that was reset begins with a copy of another one's events: they are told there.
  const from = events.findLastIndex(({ what }) => what.kind === 'reset');
  return told.slice(Math.max(from, 0)).filter((record) => record !== undefined);
}

/** What a run is about; some publish it only when they have begun. */
function subjectOf(events: readonly PastEvent[]): Pick<HistoryRecord, 'kind' | 'vm' | 'batch'> {
  const all: Record<string, unknown> = {};
  let type = '';
  for (const { what } of events) {
    if (what.kind === 'started') type = what.type;
    if (what.kind === 'started' || what.kind === 'attributes') Object.assign(all, present(what.attributes));
  }
  const vm = textOf(all[searchKeys.vm.name]);
  const batch = textOf(all[searchKeys.batch.name]);
  return {
    kind: textOf(all[searchKeys.kind.name]) ?? type,
    ...(vm === undefined ? {} : { vm }),
    ...(batch === undefined ? {} : { batch }),
  };
}

/** An attribute that was taken away says nothing of what the run is about. */
function present(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => textOf(value) !== undefined));
}

/** Goes through the events of one run: what some mean depends on those before. */
class Teller {
  readonly #isInward: boolean;
  /** People's updates by the id of their event. */
  readonly #updates = new Map<number, string>();
  #status: string | undefined;

  constructor(isInward: boolean) {
    this.#isInward = isInward;
  }

  tell(id: number, what: Happening): Told | undefined {
    switch (what.kind) {
      case 'started':
        this.#status = textOf(what.attributes[searchKeys.status.name]);
        return this.#isInward || what.isContinued ? undefined : started(what);
      case 'update':
        if (!peoplesMessages.has(what.name)) return undefined;
        this.#updates.set(id, what.name);
        return { action: 'update', name: what.name, ...asked(what) };
      case 'update-end':
        return this.#updateEnd(what);
      case 'signal':
        return peoplesMessages.has(what.name) ? { action: 'signal', name: what.name, ...asked(what) } : undefined;
      case 'attributes':
        return this.#isInward ? undefined : this.#statusChange(what.attributes);
      case 'cancel-requested':
        if (this.#isInward && what.parent !== undefined) return undefined;
        return {
          action: 'cancel-requested',
          ...byAndReason(what.identity, what.reason),
          ...detail({ parent: what.parent }),
        };
      case 'reset':
        return { action: 'reset', ...byAndReason(what.identity, undefined), ...detail({ message: what.message }) };
      case 'end':
        return this.#isInward && what.how !== 'terminated' ? undefined : ended(what);
    }
  }

  #updateEnd({ acceptedId, failure }: Extract<Happening, { kind: 'update-end' }>): Told | undefined {
    const name = this.#updates.get(acceptedId);
    if (name === undefined) return undefined;
    return {
      action: failure === undefined ? 'update-completed' : 'update-failed',
      name,
      ...detail({ update: acceptedId, message: failure }),
    };
  }

  #statusChange(attributes: Attributes): Told | undefined {
    const to = textOf(attributes[searchKeys.status.name]);
    const from = this.#status;
    if (to === undefined || to === from) return undefined;
    this.#status = to;
    return { action: 'status', ...(from === undefined ? {} : { from }), to };
  }
}

function started({ argument, memo, identity, parent }: Extract<Happening, { kind: 'started' }>): Told {
  const by = field(argument, 'by') ?? field(memo, 'by') ?? identity;
  return {
    action: 'started',
    ...byAndReason(by, field(argument, 'reason')),
    ...detail({ argument, parent }),
  };
}

function asked({
  argument,
  identity,
}: {
  readonly argument?: unknown;
  readonly identity: string;
}): Omit<Told, 'action'> {
  return { ...byAndReason(field(argument, 'by') ?? identity, field(argument, 'reason')), ...detail({ argument }) };
}

function ended({ how, identity, reason, message }: Extract<Happening, { kind: 'end' }>): Told {
  return { action: how, ...byAndReason(identity, reason), ...detail({ message }) };
}

function byAndReason(by: string | undefined, reason: string | undefined): Pick<Told, 'by' | 'reason'> {
  return {
    ...(by === undefined || by === '' ? {} : { by: safeText(by) }),
    ...(reason === undefined || reason === '' ? {} : { reason: safeText(reason) }),
  };
}

function detail(parts: Readonly<Record<string, unknown>>): Pick<Told, 'detail'> {
  const known = Object.entries(parts).filter(([, value]) => value !== undefined && value !== '');
  return known.length === 0
    ? {}
    : { detail: Object.fromEntries(known.map(([name, value]) => [name, safeValue(value)])) };
}

function field(value: unknown, name: string): string | undefined {
  return typeof value === 'object' && value !== null ? textOf((value as Attributes)[name]) : undefined;
}

/** Keywords may come as a list of one. */
function textOf(value: unknown): string | undefined {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  return typeof one === 'string' && one !== '' ? one : undefined;
}
