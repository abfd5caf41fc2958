/** Who of a large batch goes on now. Pure. */

/** Of one batch so many are at work at once: what waits for a worker for long is replayed for each step, and all are slow. */
const atWork = 200;
const leastOfShard = 10;
/** Turns are given once this part of the places is free, to a group at least, as each order costs the shard some events. */
const freePart = 1 / 4;
const leastFree = 5;
const group = 10;

/** Nobody has got through for so long: those at work may wait for something that the others don't need. */
export const turnPatienceMs = 600_000;

/** Members that have an entry and are on their way. Those that wait for their window or for a person are not. */
const working: ReadonlySet<string> = new Set(['waiting', 'queued', 'running', 'committed']);

export interface Queued {
  readonly uuid: string;
  /** As the rows of a shard say it. */
  readonly phase: string;
  /** It has an entry, and waits for its turn. */
  readonly later?: true;
  readonly unread?: true;
}

/** How many members of each shard may be at work. */
export function placesOfShard(shards: number): number {
  return Math.max(Math.floor(atWork / Math.max(shards, 1)), leastOfShard);
}

/** How long each shard gathers what happens: all together must not keep the batch from anything else. */
export function reportEveryMs(shards: number): number {
  return Math.max(1_000, shards * 250);
}

/** How many more may be. */
export function freePlaces(rows: Iterable<Queued>, places: number): number {
  let free = places;
  for (const { phase, later, unread } of rows) if (later !== true && unread !== true && working.has(phase)) free -= 1;
  return Math.max(free, 0);
}

/** Whose turn it is, in the order of the rows. None as long as there is room for a few only, unless they have waited too long. */
export function nextTurns(rows: readonly Queued[], places: number, isImpatient = false): string[] {
  const later = rows.filter((row) => row.later === true);
  const free = freePlaces(rows, places);
  const isRoom = free >= Math.max(places * freePart, Math.min(leastFree, places / 2));
  const count = isRoom || isImpatient ? Math.max(free, Math.min(group, places)) : free >= later.length ? free : 0;
  return later.slice(0, count).map(({ uuid }) => uuid);
}
