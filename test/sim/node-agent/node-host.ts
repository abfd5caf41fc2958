import { randomUUID } from 'node:crypto';
import type { Timeline } from './timeline.ts';

/** A VM on a node. */
export interface Vm {
  readonly id: string;
  readonly name: string;
  readonly state: 'running' | 'paused';
  readonly ip: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Grows by one every 100 ms while the guest runs. */
  readonly counter: number;
}

export interface NewVm {
  readonly name: string;
  /** UID of the set; empty: of none. */
  readonly owner: string;
  readonly isMain: boolean;
  /** Absent: booted from its image. */
  readonly snapshot?: { readonly digest: string; readonly counter: number };
}

/** The hypervisor of a node and its VMs. It outlives its agent. */
export interface NodeHost {
  readonly node: string;
  list(): readonly Vm[];
  get(id: string): Vm | undefined;
  named(name: string): Vm | undefined;
  start(vm: NewVm): Vm;
  /** Fail when there is no such VM. */
  pause(id: string): Vm;
  resume(id: string): Vm;
  /** The state goes with it, unless it is in this snapshot. */
  destroy(id: string, why: 'hibernated' | 'deleted' | 'orphan', snapshot?: string): void;
  /** By itself: `onDeath` hears of it. False: there is none of that name. */
  die(name: string): boolean;
  onDeath(listener: (id: string) => void): () => void;
}

const tickMs = 100;

interface Guest {
  readonly id: string;
  readonly name: string;
  readonly ip: string;
  readonly startedAt: number;
  readonly firstCounter: number;
  ranMs: number;
  /** Undefined: paused. */
  runningSince: number | undefined;
}

export function createNodeHost(node: string, timeline: Timeline): NodeHost {
  const guests = new Map<string, Guest>();
  const listeners = new Set<(id: string) => void>();

  function known(id: string): Guest {
    const guest = guests.get(id);
    if (guest === undefined) throw new Error(`${node} has no VM ${id}.`);
    return guest;
  }
  const placed = (guest: Guest) => ({
    vm: guest.name,
    node,
    id: guest.id,
    counter: viewOf(guest).counter,
  });

  return {
    node,
    list: () => [...guests.values()].map((guest) => viewOf(guest)),
    get: (id) => viewOf(guests.get(id)),
    named: (name) => viewOf([...guests.values()].find((guest) => guest.name === name)),
    start({ name, owner, isMain, snapshot }) {
      const id = `vm-${randomUUID().slice(0, 8)}`;
      const now = Date.now();
      const guest: Guest = {
        id,
        name,
        ip: addressOf(id),
        startedAt: now,
        firstCounter: snapshot?.counter ?? 0,
        ranMs: 0,
        runningSince: now,
      };
      guests.set(id, guest);
      const origin = snapshot === undefined ? {} : { restoredFrom: snapshot.digest };
      timeline.add({ what: 'vm-started', isMain, owner, ...origin, ...placed(guest) });
      return viewOf(guest);
    },
    pause(id) {
      const guest = known(id);
      if (guest.runningSince !== undefined) {
        guest.ranMs += Date.now() - guest.runningSince;
        guest.runningSince = undefined;
        timeline.add({ what: 'vm-paused', ...placed(guest) });
      }
      return viewOf(guest);
    },
    resume(id) {
      const guest = known(id);
      if (guest.runningSince === undefined) {
        guest.runningSince = Date.now();
        timeline.add({ what: 'vm-resumed', ...placed(guest) });
      }
      return viewOf(guest);
    },
    destroy(id, why, snapshot) {
      const guest = known(id);
      guests.delete(id);
      timeline.add({ what: 'vm-stopped', why, ...(snapshot === undefined ? {} : { snapshot }), ...placed(guest) });
    },
    die(name) {
      const guest = [...guests.values()].find((one) => one.name === name);
      if (guest === undefined) return false;
      guests.delete(guest.id);
      timeline.add({ what: 'vm-stopped', why: 'died', ...placed(guest) });
      for (const listener of listeners) listener(guest.id);
      return true;
    },
    onDeath(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function viewOf(guest: Guest): Vm;
function viewOf(guest: Guest | undefined): Vm | undefined;
function viewOf(guest: Guest | undefined): Vm | undefined {
  if (guest === undefined) return undefined;
  const { id, name, ip, startedAt, firstCounter, ranMs, runningSince } = guest;
  const totalMs = ranMs + (runningSince === undefined ? 0 : Date.now() - runningSince);
  const counter = firstCounter + Math.floor(totalMs / tickMs);
  return { id, name, state: runningSince === undefined ? 'paused' : 'running', ip, startedAt, counter };
}

function addressOf(id: string): string {
  const bytes = Buffer.from(id.slice(3), 'hex');
  return `10.${bytes[0] ?? 0}.${bytes[1] ?? 0}.${bytes[2] ?? 1}`;
}
