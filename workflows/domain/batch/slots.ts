/** Who may create or import now, within the limits that all batches share. Pure: what the slots remember in, whom to tell out. */

/** First come, first served within each. What is about to be committed goes before what only gets fresher, and that before what is new. */
const priorities = ['final', 'top-up', 'first', 'create'] as const;
export type SlotPriority = (typeof priorities)[number];

/**
 * How often others may be served past a wish that waits for one permit while they take the last of another that it needs too. Then
 * those are kept for it as they become free, or it would never get all at once. Not at once for everybody: what is kept is idle.
 */
const patience: Readonly<Record<SlotPriority, number>> = { final: 0, 'top-up': 20, first: 20, create: 20 };

/**
 * Of each priority but the first so many may wait. Others are not remembered, and ask again. What the slots remember goes into a new
 * run, 300 bytes for each that waits.
 */
export const mostWaiting = 1_000;

/** A limit by name, such as `source/vc1` or `host/host-12`. 0 = unlimited. */
export interface SlotPermit {
  readonly name: string;
  readonly limit: number;
}

/** One place of each of the permits, all at once or none. Limits are taken over from who asked last. */
export interface SlotWish {
  /** Has or awaits one set of permits at a time. */
  readonly holder: string;
  /** Another one for each wish. A wish that is repeated has the same. */
  readonly token: string;
  /** Is told. When it is over, so is what it holds. */
  readonly workflowId: string;
  readonly priority: SlotPriority;
  readonly permits: readonly SlotPermit[];
  /** Epoch milliseconds: a wish that is older than the one that is known of its holder has come late and says nothing any more. */
  readonly askedAt?: number;
}

export interface SlotHolder extends Omit<SlotWish, 'permits'> {
  /** By name, each once. */
  readonly permits: readonly string[];
}

export interface SlotWaiter extends SlotHolder {
  /** How often others were served past it with a permit that it needs. */
  readonly passed: number;
}

/** What the slots remember; JSON. */
export interface Slots {
  readonly limits: Readonly<Record<string, number>>;
  readonly holders: readonly SlotHolder[];
  /** In the order in which they asked. */
  readonly waiting: readonly SlotWaiter[];
}

export const noSlots: Slots = { limits: {}, holders: [], waiting: [] };

export type SlotCall =
  | { readonly kind: 'ask'; readonly ask: SlotWish }
  | { readonly kind: 'release'; readonly holder: string; readonly token: string }
  /** Ids of workflows that are over. */
  | { readonly kind: 'reclaim'; readonly over: readonly string[] };

/** To be told. One that doesn't want it any more has to give it back. */
export type SlotGrant = Pick<SlotWish, 'holder' | 'token' | 'workflowId'>;

export interface SlotStep {
  readonly slots: Slots;
  readonly granted: readonly SlotGrant[];
}

/** The slots after one call; whoever can be served then is. Repeats change nothing, and a holder that asks again is told again. */
export function afterSlotCall(slots: Slots, call: SlotCall): SlotStep {
  const next = accepted(slots, call);
  const again =
    call.kind === 'ask'
      ? next.holders.filter((one) => one.holder === call.ask.holder && one.token === call.ask.token)
      : [];
  const step = serve(next);
  return { slots: step.slots, granted: [...again, ...step.granted].map(asGrant) };
}

function accepted(slots: Slots, call: SlotCall): Slots {
  const { holders, waiting } = slots;
  switch (call.kind) {
    case 'ask':
      return asked(slots, call.ask);
    case 'release': {
      const isOther = (one: SlotHolder): boolean => one.holder !== call.holder || one.token !== call.token;
      return { ...slots, holders: holders.filter(isOther), waiting: waiting.filter(isOther) };
    }
    case 'reclaim': {
      const over = new Set(call.over);
      const isOpen = ({ workflowId }: SlotHolder): boolean => !over.has(workflowId);
      return { ...slots, holders: holders.filter(isOpen), waiting: waiting.filter(isOpen) };
    }
  }
}

function asked(slots: Slots, ask: SlotWish): Slots {
  const limits = { ...slots.limits, ...Object.fromEntries(ask.permits.map(({ name, limit }) => [name, limit])) };
  const known = [...slots.holders, ...slots.waiting].find(({ holder }) => holder === ask.holder);
  if (known?.token === ask.token) return { ...slots, limits };
  if (known?.askedAt !== undefined && ask.askedAt !== undefined && ask.askedAt < known.askedAt) return slots;
  const isOther = ({ holder }: SlotHolder): boolean => holder !== ask.holder;
  const waiting = slots.waiting.filter(isOther);
  const alike = waiting.filter(({ priority }) => priority === ask.priority).length;
  const isTooMany = ask.priority !== 'final' && alike >= mostWaiting;
  const waiter = { ...ask, permits: [...new Set(ask.permits.map(({ name }) => name))], passed: 0 };
  return { limits, holders: slots.holders.filter(isOther), waiting: isTooMany ? waiting : [...waiting, waiter] };
}

function serve(slots: Slots): { readonly slots: Slots; readonly granted: readonly SlotWaiter[] } {
  const { granted, stuck } = look(slots);
  const served = new Set(granted.map(({ holder }) => holder));
  const passed = new Set(stuck.filter(({ isPassed }) => isPassed).map(({ waiter }) => waiter.holder));
  const waiting = slots.waiting
    .filter(({ holder }) => !served.has(holder))
    .map((one) =>
      passed.has(one.holder) ? { ...one, passed: Math.min(one.passed + 1, patience[one.priority]) } : one,
    );
  const holders = [...slots.holders, ...granted.map(asHolder)];
  const used = new Set([...holders, ...waiting].flatMap(({ permits }) => permits));
  const limits = Object.fromEntries(Object.entries(slots.limits).filter(([name]) => used.has(name)));
  return { slots: { limits, holders, waiting }, granted };
}

interface Stuck {
  readonly waiter: SlotWaiter;
  /** Permits that have no place for it. */
  readonly missing: readonly string[];
  isPassed: boolean;
}

/** Who can be served, in turn, and what the others wait for. */
function look({ limits, holders, waiting }: Slots): {
  readonly granted: SlotWaiter[];
  readonly stuck: Stuck[];
  /** Permits of which a place is kept, and for whom. */
  readonly kept: ReadonlyMap<string, string>;
} {
  const free = new Map(Object.entries(limits).map(([name, limit]) => [name, limit === 0 ? Infinity : limit]));
  const take = (name: string): void => {
    free.set(name, (free.get(name) ?? Infinity) - 1);
  };
  for (const name of holders.flatMap(({ permits }) => permits)) take(name);
  const granted: SlotWaiter[] = [];
  const stuck: Stuck[] = [];
  const kept = new Map<string, string>();
  const awaited = new Set<string>();
  for (const waiter of inTurn(waiting)) {
    const missing = waiter.permits.filter((name) => (free.get(name) ?? Infinity) < 1);
    if (missing.length === 0) {
      for (const name of waiter.permits) take(name);
      granted.push(waiter);
      for (const one of stuck) one.isPassed ||= one.waiter.permits.some((name) => waiter.permits.includes(name));
      continue;
    }
    // Only for the first in the line at all that it misses: a long line must not keep places that it can't use.
    const isNext = missing.every((name) => !awaited.has(name));
    if (isNext && waiter.passed >= patience[waiter.priority])
      for (const name of waiter.permits.filter((one) => !missing.includes(one))) {
        take(name);
        kept.set(name, waiter.holder);
      }
    for (const name of missing) awaited.add(name);
    stuck.push({ waiter, missing, isPassed: false });
  }
  return { granted, stuck, kept };
}

function inTurn(waiting: readonly SlotWaiter[]): SlotWaiter[] {
  return priorities.flatMap((priority) => waiting.filter((one) => one.priority === priority));
}

export interface SlotWait {
  /** The first that has no place. */
  readonly permit: string;
  readonly limit: number;
  readonly heldBy: readonly string[];
  /** A place is free and kept for this one, which needs others too. */
  readonly keptFor?: string;
  /** So many that want the same permit are served before. */
  readonly ahead: number;
}

/** Why a holder waits. Undefined: it doesn't, or isn't known. */
export function explainSlot(slots: Slots, holder: string): SlotWait | undefined {
  const { stuck, kept } = look(slots);
  const place = stuck.findIndex(({ waiter }) => waiter.holder === holder);
  const permit = stuck[place]?.missing[0];
  if (permit === undefined) return undefined;
  const limit = slots.limits[permit] ?? 0;
  const heldBy = slots.holders.filter(({ permits }) => permits.includes(permit)).map((one) => one.holder);
  const ahead = stuck.slice(0, place).filter(({ waiter }) => waiter.permits.includes(permit)).length;
  const keptFor = kept.get(permit);
  return { permit, limit, heldBy, ...(keptFor === undefined ? {} : { keptFor }), ahead };
}

/** How many holders a sentence names. */
const named = 3;

export function slotWaitInWords({ permit, limit, heldBy, keptFor, ahead }: SlotWait): string {
  const more = heldBy.length > named ? ` and ${heldBy.length - named} more` : '';
  const held = heldBy.length === 0 ? '' : `, held by ${heldBy.slice(0, named).join(', ')}${more}`;
  const kept = keptFor === undefined ? '' : `, one is kept for ${keptFor}`;
  return `${permit} has no place free: ${heldBy.length} of ${limit} are taken${held}${kept}; ahead of it: ${ahead}`;
}

function asHolder({ holder, token, workflowId, priority, permits, askedAt }: SlotWaiter): SlotHolder {
  return { holder, token, workflowId, priority, permits, ...(askedAt === undefined ? {} : { askedAt }) };
}

function asGrant({ holder, token, workflowId }: SlotWish | SlotHolder): SlotGrant {
  return { holder, token, workflowId };
}
