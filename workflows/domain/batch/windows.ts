import type { MigrationWindow } from './records.ts';

/** Kept free at the end of every window: time to roll back what doesn't get done. */
export const rollbackReserveMs = 60_000;

/** Of one batch: how many of its entries hold each window, by name. Absent = none. */
export type HeldPlaces = ReadonlyMap<string, number>;

const nobody: Readonly<HeldPlaces> = new Map();

/** Epoch milliseconds. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly lockout: number;
}

/** A window without start has begun for ever, one without end never ends. NaN where a time is none: nothing holds for it. */
export function spanOf({ start, end, lockout }: MigrationWindow): Span {
  return {
    start: start === undefined ? -Infinity : Date.parse(start),
    end: end === undefined ? Infinity : Date.parse(end),
    lockout: lockout === undefined ? Infinity : Date.parse(lockout),
  };
}

/** Not yet at its very start. */
export function begun(window: MigrationWindow, now: number): boolean {
  return spanOf(window).start < now;
}

/** Not yet at its very end. */
export function ended(window: MigrationWindow, now: number): boolean {
  return spanOf(window).end < now;
}

/** Nobody may begin in it any more. Who is in stays in. */
export function locked(window: MigrationWindow, now: number): boolean {
  return ended(window, now) || spanOf(window).lockout < now;
}

export type WindowState = 'ahead' | 'open' | 'locked' | 'over';

export function windowState(window: MigrationWindow, now: number): WindowState {
  if (ended(window, now)) return 'over';
  if (locked(window, now)) return 'locked';
  return begun(window, now) ? 'open' : 'ahead';
}

/** Whether a VM that needs so long to boot gets done in it, with the reserve. */
export function fits(window: MigrationWindow, minBootMs: number, now: number): boolean {
  return isInOrder(window) && !locked(window, now) && isLongEnough(window, minBootMs, now);
}

/** Those that can still be used or are in use. */
export function validWindows(windows: readonly MigrationWindow[], now: number): MigrationWindow[] {
  return windows.filter((window) => isInOrder(window) && !ended(window, now));
}

/** Times that follow each other as they must. */
export function isInOrder(window: MigrationWindow): boolean {
  const { start, end, lockout } = spanOf(window);
  const isLockoutInside =
    window.lockout === undefined || (window.end !== undefined && start <= lockout && lockout <= end);
  return start <= end && isLockoutInside;
}

function isLongEnough(window: MigrationWindow, minBootMs: number, now: number): boolean {
  const { start, end } = spanOf(window);
  return Math.max(start, now) + minBootMs + rollbackReserveMs < end;
}

export function isFull({ name, capacity }: MigrationWindow, held: HeldPlaces): boolean {
  return capacity > 0 && (held.get(name) ?? 0) >= capacity;
}

/**
 * The window that an entry would get, begun or not; the earliest start wins, then end, then name. What others may claim until
 * it begins is not foreseen. Undefined: none now, and also where the batch defines none.
 */
export function predictWindow(
  windows: readonly MigrationWindow[],
  minBootMs: number,
  now: number,
  held: HeldPlaces = nobody,
): MigrationWindow | undefined {
  return windows.filter((window) => !isFull(window, held) && fits(window, minBootMs, now)).sort(inTime)[0];
}

/** Total order: start, end, name. */
export function inTime(a: MigrationWindow, b: MigrationWindow): number {
  const [one, other] = [spanOf(a), spanOf(b)];
  if (one.start !== other.start) return one.start < other.start ? -1 : 1;
  if (one.end !== other.end) return one.end < other.end ? -1 : 1;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

export interface WindowQuestion {
  readonly windows: readonly MigrationWindow[];
  readonly held: HeldPlaces;
  /** Of the constraint that the entry counts for; 0 without one. */
  readonly minBootMs: number;
  /** Present: it holds a place already, `window` = name of the window; without one it holds the empty window. */
  readonly assigned?: { readonly window?: string };
  /** As many entries as its constraint allows are in their downtime. */
  readonly isConstraintFull: boolean;
}

export type WindowChoice =
  /** Not begun yet: to wait for. */
  | { readonly kind: 'window'; readonly window: MigrationWindow }
  /** Begun, and never ends. */
  | { readonly kind: 'empty' }
  /** No window now. Windows that are full or over are not the same as no windows at all. */
  | { readonly kind: 'none' };

/** The window in which an entry may be committed. What it has been given it keeps until that ends, locked and full or not. */
export function chooseWindow(question: WindowQuestion, now: number): WindowChoice {
  const { windows, held, minBootMs, assigned, isConstraintFull } = question;
  if (assigned !== undefined) {
    if (assigned.window === undefined) return { kind: 'empty' };
    const kept = windows.find(({ name }) => name === assigned.window);
    if (kept !== undefined && !ended(kept, now)) return { kind: 'window', window: kept };
  }
  if (isConstraintFull) return { kind: 'none' };
  if (windows.length === 0) return { kind: 'empty' };
  const window = predictWindow(windows, minBootMs, now, held);
  return window === undefined ? { kind: 'none' } : { kind: 'window', window };
}

/** How many windows an explanation names. */
const namedWindows = 3;

/** Why an entry can't begin now, in words: each window that isn't over, with what it has against it. */
export function explainNoWindow(
  windows: readonly MigrationWindow[],
  minBootMs: number,
  now: number,
  held: HeldPlaces = nobody,
): string {
  const ahead = validWindows(windows, now).sort(inTime);
  if (ahead.length === 0) return 'all windows of the batch are over: add one to the batch';
  const clauses = ahead.slice(0, namedWindows).map((window) => obstacle(window, held, minBootMs, now));
  const more = ahead.length > namedWindows ? [`${ahead.length - namedWindows} more after that`] : [];
  const isHopeless = predictWindow(windows, minBootMs, now, held) === undefined;
  const hasOnlyNoPlace = ahead.some((window) => fits(window, minBootMs, now));
  const advice = hasOnlyNoPlace ? 'wait for a place or add a window to the batch' : 'add a window to the batch';
  return [...clauses, ...more, ...(isHopeless ? [advice] : [])].join('; ');
}

function obstacle(window: MigrationWindow, held: HeldPlaces, minBootMs: number, now: number): string {
  const { name, start = '', end = '', lockout = '', capacity } = window;
  if (locked(window, now)) return `window ${name} takes nobody since its lockout at ${lockout}`;
  if (!isLongEnough(window, minBootMs, now)) {
    const needed = Math.ceil((minBootMs + rollbackReserveMs) / 60_000);
    return `window ${name} is too short: ${needed} min are needed before its end at ${end}`;
  }
  if (isFull(window, held)) {
    const until = end === '' ? 'until a VM in it is done' : `until a VM in it is done or it ends at ${end}`;
    return `window ${name} is full (${held.get(name) ?? 0} of ${capacity}) ${until}`;
  }
  return begun(window, now) ? `window ${name} is open` : `window ${name} begins at ${start}`;
}

/**
 * The next time at which the answers of this file may be others than now, with the windows as they are. `minBootsMs`: of all
 * constraints. Undefined: never.
 */
export function nextInstant(
  windows: readonly MigrationWindow[],
  now: number,
  minBootsMs: readonly number[] = [],
): number | undefined {
  const moments = windows.flatMap((window) => {
    const { start, end, lockout } = spanOf(window);
    const lastBegins = [0, ...minBootsMs].map((minBootMs) => end - minBootMs - rollbackReserveMs);
    // "Begun", "locked" and "ended" hold only after their time, so a millisecond later.
    return [start + 1, lockout + 1, end + 1, ...lastBegins];
  });
  const ahead = moments.filter((moment) => moment > now && moment < Infinity);
  return ahead.length === 0 ? undefined : Math.min(...ahead);
}
