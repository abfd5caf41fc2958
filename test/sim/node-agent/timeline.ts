/** Why a VM's newest state was given up on purpose. */
export type GivenUp = 'set deleted' | 'image edited' | 'stale tag' | 'loss acknowledged';

interface OfVm {
  /** VM name; also its repository, without a prefix. */
  readonly vm: string;
}
interface OnNode extends OfVm {
  readonly node: string;
  /** Fresh for every VM. */
  readonly id: string;
  /** Of the guest, at this moment. */
  readonly counter: number;
}
interface OfPod {
  /** `<namespace>/<name>` */
  readonly pod: string;
  readonly uid: string;
  /** Resource version: what is told of the cluster is ordered by it, however late it is told. */
  readonly revision: number;
}
interface OfSet {
  /** `<namespace>/<name>` */
  readonly set: string;
  readonly uid: string;
  readonly revision: number;
}

export type Happening =
  /** `restoredFrom` is a digest; absent: booted from its image. `owner` is the UID of the set. */
  | ({
      readonly what: 'vm-started';
      readonly isMain: boolean;
      readonly owner: string;
      readonly restoredFrom?: string;
    } & OnNode)
  | ({ readonly what: 'vm-paused' | 'vm-resumed' } & OnNode)
  /** `snapshot` is the digest that the agent relies on; absent: its state goes with it. */
  | ({
      readonly what: 'vm-stopped';
      readonly why: 'hibernated' | 'deleted' | 'orphan' | 'died';
      readonly snapshot?: string;
    } & OnNode)
  /** `counter` absent: no snapshot of a guest. */
  | ({
      readonly what: 'tag-put';
      readonly tag: string;
      readonly digest: string;
      readonly counter?: number;
      readonly owner?: string;
      readonly by: string;
    } & OfVm)
  /** `reference`: a tag, or a digest with all its tags. */
  | ({ readonly what: 'tag-deleted'; readonly reference: string; readonly by: string } & OfVm)
  /** A step of an agent begins, see `steps`. */
  | ({ readonly what: 'step'; readonly step: string; readonly node: string } & OfVm)
  | ({ readonly what: 'state-given-up'; readonly why: GivenUp } & OfVm)
  | ({ readonly what: 'pod-created' | 'pod-deleting' | 'pod-gone' | 'hibernate-set' | 'hibernate-cleared' } & OfPod)
  | ({ readonly what: 'pod-bound'; readonly node: string } & OfPod)
  /** Empty: removed. */
  | ({ readonly what: 'vm-id'; readonly id: string } & OfPod)
  | ({ readonly what: 'lifecycle'; readonly state: string; readonly generation: number } & OfPod)
  | ({ readonly what: 'set-phase'; readonly phase: string } & OfSet)
  | ({ readonly what: 'set-deleting' | 'set-gone' } & OfSet);

/** `at`: milliseconds since the epoch. */
export type Entry = Happening & { readonly at: number };

type Keys<T> = T extends unknown ? keyof T : never;
/** Values that an entry must have. */
export type Pattern = Partial<Record<Keys<Entry>, unknown>>;

/** What has happened to VMs, tags, Pods and sets, for assertions. Agents and recorders write it. */
export interface Timeline {
  add(happening: Happening): void;
  /** In the order of events. */
  entries(pattern?: Pattern): readonly Entry[];
  /** Declares that the newest state of this VM may be lost from now on, until it is booted fresh. */
  giveUp(vm: string, why: GivenUp): void;
  subscribe(listener: (entry: Entry) => void): () => void;
}

export function createTimeline(): Timeline {
  const told: Entry[] = [];
  const listeners = new Set<(entry: Entry) => void>();
  const add = (happening: Happening): void => {
    const entry = { ...happening, at: Date.now() };
    told.push(entry);
    for (const listener of listeners) listener(entry);
  };
  return {
    add,
    entries: (pattern = {}) => inOrder(told).filter((entry) => matches(entry, pattern)),
    giveUp: (vm, why) => add({ what: 'state-given-up', vm, why }),
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export function matches(entry: Entry, pattern: Pattern): boolean {
  const values: Readonly<Record<string, unknown>> = { ...entry };
  return Object.entries(pattern).every(([key, value]) => values[key] === value);
}

/**
 * What watches tell comes late, each watch for itself. It can't have happened after something with a higher resource version, so
 * it is moved before the first of those.
 */
export function inOrder(told: readonly Entry[]): Entry[] {
  const place: number[] = [];
  let earliest = Infinity;
  const byRevision = told
    .map((entry, at) => ({ at, revision: 'revision' in entry ? entry.revision : undefined }))
    .filter((one): one is { at: number; revision: number } => one.revision !== undefined)
    .sort((one, other) => other.revision - one.revision || other.at - one.at);
  for (const { at } of byRevision) place[at] = earliest = Math.min(earliest, at);
  const keyOf = (at: number): number => place[at] ?? at;
  const revisionOf = (entry: Entry | undefined): number =>
    entry !== undefined && 'revision' in entry ? entry.revision : Infinity;
  return told
    .map((_, at) => at)
    .sort((one, other) => keyOf(one) - keyOf(other) || revisionOf(told[one]) - revisionOf(told[other]) || one - other)
    .flatMap((at) => told[at] ?? []);
}
