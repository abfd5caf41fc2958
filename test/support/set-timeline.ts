import assert from 'node:assert/strict';
import { matches, type Entry, type Pattern, type Timeline } from '../sim/node-agent/timeline.ts';

export interface Violation {
  /** P1: state was lost. P2: two VMs of one name. P4: the state of another set. `rollback`: an older state was brought up. */
  readonly promise: 'P1' | 'P2' | 'P4' | 'rollback';
  readonly vm: string;
  readonly at: number;
  readonly message: string;
}

interface Stored {
  readonly counter: number | undefined;
  readonly owner: string | undefined;
}

/** What is known of the VMs of one name at one instant. */
interface Known {
  isMain: boolean;
  owner: string;
  readonly live: Map<string, string>;
  /** Digest under the tag `hibernate`. */
  tag: string | undefined;
  readonly stored: Map<string, Stored>;
  /** Counter of the newest state, while no VM lives; undefined: there is none to lose. */
  newest: number | undefined;
  isGivenUp: boolean;
}

/**
 * What was promised and not kept at some instant of this history. A state is given up without blame where the test said so
 * (`timeline.giveUp`), where its set is being deleted, and where a VM died by itself.
 */
export function violationsIn(entries: readonly Entry[]): readonly Violation[] {
  const known = new Map<string, Known>();
  const deleted = new Set<string>();
  const found: Violation[] = [];
  for (const entry of entries) {
    if (entry.what === 'set-deleting') deleted.add(entry.uid);
    if (!('vm' in entry)) continue;
    const vm = known.get(entry.vm) ?? nothingKnown();
    known.set(entry.vm, vm);
    if (deleted.has(vm.owner)) vm.isGivenUp = true;
    const blame = (promise: Violation['promise'], message: string): void => {
      found.push({ promise, vm: entry.vm, at: entry.at, message });
    };
    judge(entry, vm, blame);
  }
  return found;
}

type Blame = (promise: Violation['promise'], message: string) => void;

function nothingKnown(): Known {
  return {
    isMain: false,
    owner: '',
    live: new Map(),
    tag: undefined,
    stored: new Map(),
    newest: undefined,
    isGivenUp: false,
  };
}

function judge(entry: Entry, vm: Known, blame: Blame): void {
  if (entry.what === 'vm-started') started(entry, vm, blame);
  else if (entry.what === 'vm-stopped') stopped(entry, vm, blame);
  else if (entry.what === 'tag-put' && entry.tag === 'hibernate') put(entry, vm, blame);
  else if (entry.what === 'tag-deleted' && (entry.reference === 'hibernate' || entry.reference === vm.tag)) {
    lose(vm, blame, `the tag was deleted by ${entry.by} while no VM had its state`);
    vm.tag = undefined;
  } else if (entry.what === 'state-given-up') vm.isGivenUp = true;
}

type Started = Extract<Entry, { what: 'vm-started' }>;

function started(entry: Started, vm: Known, blame: Blame): void {
  const { id, node, counter, owner, isMain, restoredFrom } = entry;
  const others = [...vm.live].map(([other, where]) => `${other} on ${where}`);
  if (others.length > 0) blame('P2', `${id} started on ${node} while ${others.join(', ')} lived`);
  const from = restoredFrom === undefined ? undefined : vm.stored.get(restoredFrom)?.owner;
  if (from !== undefined && from !== owner) blame('P4', `${id} of the set ${owner} has the state of the set ${from}`);
  if (others.length === 0 && vm.newest !== undefined && !vm.isGivenUp) {
    if (restoredFrom === undefined && isMain)
      blame('P1', `${id} was booted from its image although a state with counter ${vm.newest} existed`);
    else if (restoredFrom !== undefined && counter !== vm.newest)
      blame('rollback', `${id} was brought up with counter ${counter}, the newest state has ${vm.newest}`);
  }
  vm.live.set(id, node);
  Object.assign(vm, { owner, isMain, newest: undefined, isGivenUp: false });
}

type Stopped = Extract<Entry, { what: 'vm-stopped' }>;

function stopped({ id, why, counter, snapshot }: Stopped, vm: Known, blame: Blame): void {
  vm.live.delete(id);
  if (vm.live.size > 0 || why === 'died') return;
  vm.newest = counter;
  if (snapshot !== undefined && snapshot === vm.tag) vm.newest = vm.stored.get(snapshot)?.counter;
  else lose(vm, blame, `${id} was removed (${why}) and its state is in no snapshot`);
}

type Put = Extract<Entry, { what: 'tag-put' }>;

function put({ digest, counter, owner, by }: Put, vm: Known, blame: Blame): void {
  vm.stored.set(digest, { counter, owner });
  vm.tag = digest;
  if (vm.newest !== undefined && counter !== vm.newest)
    lose(vm, blame, `${by} put something else under the tag while no VM had its state`);
}

/** The newest state is no more, unless a VM has it. */
function lose(vm: Known, blame: Blame, how: string): void {
  if (vm.live.size > 0 || vm.newest === undefined) return;
  if (vm.isMain && !vm.isGivenUp) blame('P1', `the state with counter ${vm.newest} was lost: ${how}`);
  vm.newest = undefined;
}

/** Fails with everything that was promised and not kept. */
export function assertPromises(timeline: Timeline): void {
  const found = violationsIn(timeline.entries());
  assert.deepEqual(
    found.map(({ promise, vm, message }) => `${promise} ${vm}: ${message}`),
    [],
  );
}

/** Fails unless something of each pattern happened, in this order; answers what matched. */
export function assertOrder(timeline: Timeline, patterns: readonly Pattern[]): readonly Entry[] {
  const entries = timeline.entries();
  let from = 0;
  return patterns.map((pattern) => {
    const at = entries.findIndex((entry, index) => index >= from && matches(entry, pattern));
    const entry = entries[at];
    const whole = (): string => entries.map((one) => JSON.stringify(one)).join('\n');
    assert.ok(entry !== undefined, `${JSON.stringify(pattern)} did not happen, or too early:\n${whole()}`);
    from = at + 1;
    return entry;
  });
}
