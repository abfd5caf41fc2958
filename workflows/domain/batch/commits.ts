import type { BatchSpec, Constraint, MigrationWindow } from './records.ts';
import {
  begun,
  chooseWindow,
  explainNoWindow,
  isFull,
  nextInstant,
  windowState,
  type WindowChoice,
  type WindowState,
} from './windows.ts';

/** Which entries of a batch may be committed now. Pure: the batch's memory in, its memory and whom to tell out. */

/**
 * So many entries of one batch are in their downtime at once, whatever windows and constraints say: a batch takes all of them with
 * it into a new run, 150 bytes each, and what it takes is to stay small.
 */
export const mostHolders = 1_000;

/** An entry that is ready to be committed. */
export interface CommitWish {
  readonly uuid: string;
  readonly name: string;
  /** The same from the start of an entry to its end. */
  readonly token: string;
  readonly readySince: string;
  /** Name of the one it counts for. */
  readonly constraint?: string;
  readonly minBootMs: number;
  /** Somebody wants it now: it needs no window. Limits hold all the same. */
  readonly cutover: boolean;
}

/** An entry that has been told to go and isn't over yet. */
export interface CommitHolder {
  readonly uuid: string;
  readonly token: string;
  /** By name. Absent: the batch had no windows, or it is a cutover. */
  readonly window?: string;
  readonly constraint?: string;
}

/** What a batch remembers; JSON. */
export interface Commits {
  readonly holders: readonly CommitHolder[];
  /** In the order in which they are served. */
  readonly requests: readonly CommitWish[];
}

export const emptyCommits: Commits = { holders: [], requests: [] };

/** What of a batch decides. */
export interface CommitRules {
  readonly windows: BatchSpec['migration_windows'];
  readonly constraints: readonly Pick<Constraint, 'name' | 'max_concurrent_instances'>[];
  readonly isPaused: boolean;
  /** Why a VM has to wait for others of the batch; absent: nobody has. */
  readonly orderWait?: (uuid: string) => string | undefined;
}

/** To be told to the entry. One that doesn't want it any more has to give it back. */
export interface CommitGrant {
  readonly uuid: string;
  readonly token: string;
  readonly window?: MigrationWindow;
}

export interface CommitWait {
  readonly uuid: string;
  readonly why: string;
  /** The window that it would get as things are. */
  readonly predicted?: MigrationWindow;
}

export interface CommitDecision {
  readonly commits: Commits;
  readonly granted: readonly CommitGrant[];
  readonly waiting: readonly CommitWait[];
}

/**
 * First gives back what these hold or wish, then takes up the wishes. A wish that is known already changes nothing but what it says
 * of itself. With another token the entry has begun anew: what it held is over. One that holds a place keeps it, and is told again
 * by the next decision.
 */
export function afterNews(
  commits: Commits,
  news: { readonly requests: readonly CommitWish[]; readonly released: readonly string[] },
): Commits {
  const { holders, requests } = forgetClosed(commits, news.released);
  const wishes = new Map(news.requests.map((wish) => [wish.uuid, wish]));
  if (wishes.size === 0) return { holders, requests };
  return {
    holders: holders.filter(({ uuid, token }) => (wishes.get(uuid)?.token ?? token) === token),
    requests: [...requests.filter(({ uuid }) => !wishes.has(uuid)), ...wishes.values()].sort(inTurn),
  };
}

/** Without all that these entries hold and wish. */
export function forgetClosed({ holders, requests }: Commits, uuids: readonly string[]): Commits {
  const gone = new Set(uuids);
  const isKept = ({ uuid }: { readonly uuid: string }): boolean => !gone.has(uuid);
  return { holders: holders.filter(isKept), requests: requests.filter(isKept) };
}

/**
 * Everybody who may begin now, in the order of how long they have been ready, then by name. Whoever has to wait keeps nobody behind
 * from going.
 */
export function decideCommits(commits: Commits, rules: CommitRules, now: number): CommitDecision {
  const { told, rest } = toldAgain(commits, rules, now);
  const round = new Round(rest.holders, rules, now);
  for (const wish of rest.requests) round.serve(wish);
  const { holders, left, granted, waiting } = round;
  return { commits: { holders, requests: left }, granted: [...told, ...granted], waiting };
}

/** A holder that asks again keeps what it has until its window ends; then it is one of those who wait. */
function toldAgain(commits: Commits, rules: CommitRules, now: number): { told: CommitGrant[]; rest: Commits } {
  const asking = new Set(commits.requests.map(({ uuid }) => uuid));
  const told: CommitGrant[] = [];
  const over: string[] = [];
  for (const holder of commits.holders.filter(({ uuid }) => asking.has(uuid))) {
    const { uuid, token } = holder;
    const held = { windows: rules.windows, held: new Map(), minBootMs: 0, isConstraintFull: true, assigned: holder };
    const choice = chooseWindow(held, now);
    if (choice.kind === 'none') over.push(uuid);
    else told.push({ uuid, token, ...(choice.kind === 'window' ? { window: choice.window } : {}) });
  }
  const known = new Set(told.map(({ uuid }) => uuid));
  const { holders } = forgetClosed(commits, over);
  return { told, rest: { holders, requests: commits.requests.filter(({ uuid }) => !known.has(uuid)) } };
}

/** What the windows offer to those that need so long to boot. The same for all of them until a window is full. */
interface Offer {
  readonly choice: WindowChoice;
  readonly why: string;
}

/** One decision, wish by wish. */
class Round {
  readonly holders: CommitHolder[];
  readonly left: CommitWish[] = [];
  readonly granted: CommitGrant[] = [];
  readonly waiting: CommitWait[] = [];
  readonly #rules: CommitRules;
  readonly #now: number;
  readonly #limits: ReadonlyMap<string, number>;
  readonly #inWindow: Map<string, number>;
  readonly #inConstraint: Map<string, number>;
  readonly #offers = new Map<number, Offer>();

  constructor(holders: readonly CommitHolder[], rules: CommitRules, now: number) {
    this.holders = [...holders];
    this.#rules = rules;
    this.#now = now;
    this.#limits = new Map(rules.constraints.map((one) => [one.name, one.max_concurrent_instances]));
    this.#inWindow = counted(holders, 'window');
    this.#inConstraint = counted(holders, 'constraint');
  }

  serve(wish: CommitWish): void {
    const limit = this.#limitReached(wish.constraint) ?? this.#orderWait(wish);
    const { choice, why } = this.#offerFor(wish.minBootMs);
    if (limit !== undefined) this.#wait(wish, limit, choice);
    else if (wish.cutover || choice.kind === 'empty') this.#grant(wish, undefined);
    else if (choice.kind === 'window' && begun(choice.window, this.#now)) this.#grant(wish, choice.window);
    else this.#wait(wish, why, choice);
  }

  /** A person that wants it now wants it before its turn. */
  #orderWait({ uuid, cutover }: CommitWish): string | undefined {
    return cutover ? undefined : this.#rules.orderWait?.(uuid);
  }

  /** What keeps all that count for a constraint from going, in words. */
  #limitReached(constraint: string | undefined): string | undefined {
    if (this.#rules.isPaused) return 'the batch is stopped: resume it and it goes on';
    if (this.holders.length >= mostHolders)
      return `${mostHolders} VMs of the batch are in their downtime, more can't be at once: wait until one is done`;
    if (constraint === undefined) return undefined;
    const most = this.#limits.get(constraint);
    // Which one counts now is found out by the entry, which then asks anew.
    if (most === undefined)
      return `constraint ${constraint} was taken out of the batch: wait until another is looked up`;
    if (most === 0 || (this.#inConstraint.get(constraint) ?? 0) < most) return undefined;
    return `constraint ${constraint} allows ${most} at once: wait until one is done`;
  }

  #offerFor(minBootMs: number): Offer {
    const known = this.#offers.get(minBootMs);
    if (known !== undefined) return known;
    const { windows } = this.#rules;
    const held = this.#inWindow;
    const offer: Offer = {
      choice: chooseWindow({ windows, held, minBootMs, isConstraintFull: false }, this.#now),
      why: explainNoWindow(windows, minBootMs, this.#now, held),
    };
    this.#offers.set(minBootMs, offer);
    return offer;
  }

  #grant({ uuid, token, constraint }: CommitWish, window: MigrationWindow | undefined): void {
    this.holders.push({
      uuid,
      token,
      ...(window === undefined ? {} : { window: window.name }),
      ...(constraint === undefined ? {} : { constraint }),
    });
    count(this.#inWindow, window?.name);
    count(this.#inConstraint, constraint);
    if (window !== undefined && isFull(window, this.#inWindow)) this.#offers.clear();
    this.granted.push({ uuid, token, ...(window === undefined ? {} : { window }) });
  }

  #wait(wish: CommitWish, why: string, choice: WindowChoice): void {
    this.left.push(wish);
    this.waiting.push({ uuid: wish.uuid, why, ...(choice.kind === 'window' ? { predicted: choice.window } : {}) });
  }
}

/** When to decide again though nothing was heard; epoch milliseconds. Undefined: never. */
export function nextCommitInstant(
  { requests }: Commits,
  { windows }: Pick<CommitRules, 'windows'>,
  now: number,
): number | undefined {
  return nextInstant(windows, now, [...new Set(requests.map(({ minBootMs }) => minBootMs))]);
}

export function windowViews(
  { holders }: Commits,
  windows: readonly MigrationWindow[],
  now: number,
): (MigrationWindow & { readonly held: number; readonly state: WindowState })[] {
  const held = counted(holders, 'window');
  return windows.map((window) => ({ ...window, held: held.get(window.name) ?? 0, state: windowState(window, now) }));
}

export function constraintViews(
  { holders }: Commits,
  constraints: CommitRules['constraints'],
): { readonly name: string; readonly max: number; readonly held: number }[] {
  const held = counted(holders, 'constraint');
  return constraints.map(({ name, max_concurrent_instances }) => ({
    name,
    max: max_concurrent_instances,
    held: held.get(name) ?? 0,
  }));
}

function counted(holders: readonly CommitHolder[], by: 'window' | 'constraint'): Map<string, number> {
  const counts = new Map<string, number>();
  for (const holder of holders) count(counts, holder[by]);
  return counts;
}

function count(counts: Map<string, number>, name: string | undefined): void {
  if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
}

function inTurn(a: CommitWish, b: CommitWish): number {
  return sinceOf(a) - sinceOf(b) || inAlphabet(a.name, b.name) || inAlphabet(a.uuid, b.uuid);
}

/** Without a time that can be read it is served last. */
function sinceOf({ readySince }: CommitWish): number {
  const ms = Date.parse(readySince);
  return Number.isNaN(ms) ? Number.MAX_SAFE_INTEGER : ms;
}

function inAlphabet(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
