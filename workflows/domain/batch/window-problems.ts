import type { MigrationWindow } from './records.ts';
import { ended, inTime, isInOrder, spanOf } from './windows.ts';

/** One mistake: its path into the batch, such as `migration_windows[2].end`, and what to do about it. */
export interface WindowProblem {
  readonly path: string;
  readonly message: string;
}

/** The windows before an edit. `assigned`: names of those that entries hold. */
export interface PreviousWindows {
  readonly windows: readonly MigrationWindow[];
  readonly assigned: readonly string[];
}

type Found = readonly (readonly [
  field: '' | '.name' | '.start' | '.end' | '.lockout' | '.config.capacity',
  message: string,
])[];

/** Everything that is wrong with the windows of a batch; `previous` when it is edited after its start. */
export function windowsProblems(
  windows: readonly MigrationWindow[],
  now: number,
  previous: PreviousWindows = { windows: [], assigned: [] },
): WindowProblem[] {
  const perWindow = windows.flatMap((window, index) => {
    const others = windows.slice(0, index);
    const before = previous.windows.find(({ name }) => name === window.name);
    const found = [
      ...ownProblems(window, now, before),
      ...problemsBeside(window, others),
      ...(before !== undefined && previous.assigned.includes(window.name) ? shrinking(before, window) : []),
    ];
    return found.map(([field, message]) => ({ path: `migration_windows[${index}]${field}`, message }));
  });
  const lost = previous.assigned.filter((name) => !windows.some((window) => window.name === name));
  return [...perWindow, ...lost.map(lostProblem)];
}

function lostProblem(name: string): WindowProblem {
  const message = `window ${name} can't be removed or renamed: VMs hold a place in it; put it back under this name`;
  return { path: 'migration_windows', message };
}

function ownProblems(window: MigrationWindow, now: number, before: MigrationWindow | undefined): Found {
  const { name, capacity, end = '' } = window;
  const places: Found =
    Number.isSafeInteger(capacity) && capacity >= 0
      ? []
      : [
          [
            '.config.capacity',
            `the capacity of window ${name} is no whole number: give 0 for no limit, or how many VMs`,
          ],
        ];
  const times = timeProblems(window);
  if (times.length > 0) return [...times, ...places];
  if (!isInOrder(window)) return [...orderProblems(window), ...places];
  // One that is over and still held by an entry could neither be kept nor removed otherwise.
  const isKept = before !== undefined && isUnchanged(before, window);
  if (!ended(window, now) || isKept) return places;
  return [['.end', `window ${name} ended at ${end}: choose a later end or leave the window out`], ...places];
}

const instant = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d+)?)?Z$/;

function timeProblems(window: MigrationWindow): Found {
  return (['start', 'end', 'lockout'] as const).flatMap((field) => {
    const text = window[field];
    if (text === undefined || isInstant(text)) return [];
    const message = `the ${field} of window ${window.name} is no time: "${text}"; write it in UTC, as 2030-01-31T22:00:00Z`;
    return [[`.${field}`, message] as const];
  });
}

/** The 30th of February is no day: parsing alone would take it for one in March. */
function isInstant(text: string): boolean {
  const day = instant.exec(text)?.[1];
  const ms = Date.parse(text);
  return day !== undefined && !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}

function orderProblems(window: MigrationWindow): Found {
  const { name, start = '', end = '', lockout = '' } = window;
  const span = spanOf(window);
  if (span.end < span.start)
    return [
      ['.end', `window ${name} ends at ${end}, before it starts at ${start}: swap the two or choose a later end`],
    ];
  if (end === '')
    return [['.lockout', `window ${name} has a lockout and no end: give it an end or leave the lockout out`]];
  return [
    [
      '.lockout',
      `the lockout of window ${name} at ${lockout} is not within it: choose a time between its start and its end`,
    ],
  ];
}

/** What a window has against those before it in the list. */
function problemsBeside(window: MigrationWindow, others: readonly MigrationWindow[]): Found {
  const namesake = others.some(({ name }) => name === window.name);
  const twin = others.find((other) => hasSameTimes(other, window));
  const neighbour = twin === undefined ? others.find((other) => overlap(other, window)) : undefined;
  return [
    ...(namesake ? ([['.name', `there is another window ${window.name}: give each its own name`]] as const) : []),
    ...(twin === undefined
      ? []
      : ([['', `windows ${twin.name} and ${window.name} have the same times: leave one of them out`]] as const)),
    ...(neighbour === undefined ? [] : ([['', overlapMessage(neighbour, window)]] as const)),
  ];
}

function overlapMessage(a: MigrationWindow, b: MigrationWindow): string {
  const [first, second] = inTime(a, b) <= 0 ? [a, b] : [b, a];
  const end = first.end === undefined ? 'has no end' : `ends at ${first.end}`;
  const start = second.start === undefined ? 'has no start' : `starts at ${second.start}`;
  return `windows ${first.name} and ${second.name} overlap: ${first.name} ${end} and ${second.name} ${start}; move one of them`;
}

/** One may begin when the other ends. */
function overlap(a: MigrationWindow, b: MigrationWindow): boolean {
  const [one, other] = [spanOf(a), spanOf(b)];
  return one.start < other.end && other.start < one.end;
}

function hasSameTimes(a: MigrationWindow, b: MigrationWindow): boolean {
  const [one, other] = [spanOf(a), spanOf(b)];
  return one.start === other.start && one.end === other.end && one.lockout === other.lockout;
}

function isUnchanged(before: MigrationWindow, window: MigrationWindow): boolean {
  return hasSameTimes(before, window) && before.capacity === window.capacity;
}

/** VMs rely on the time and on the places that a window had when they got theirs. */
function shrinking(before: MigrationWindow, window: MigrationWindow): Found {
  const { name } = window;
  const [was, is] = [spanOf(before), spanOf(window)];
  const places = ({ capacity }: MigrationWindow): number => (capacity === 0 ? Infinity : capacity);
  const held = `VMs hold a place in window ${name}`;
  const growth = before.capacity === 0 ? 'has to stay unlimited (0)' : `may only grow from ${before.capacity}`;
  const found: [boolean, Found[number]][] = [
    [is.start > was.start, ['.start', `${held}: its start may only move earlier than ${before.start ?? 'ever'}`]],
    [is.end < was.end, ['.end', `${held}: its end may only move later than ${before.end ?? 'never'}`]],
    [places(window) < places(before), ['.config.capacity', `${held}: its capacity ${growth}`]],
  ];
  return found.filter(([isWrong]) => isWrong).map(([, problem]) => problem);
}
