/** What can be asked of a VM. */
export const vmopTypes = ['Start', 'Stop', 'Restart', 'Migrate', 'Evict', 'Restore', 'Clone'] as const;
export type VmopType = (typeof vmopTypes)[number];

/** The part of an operation that the rules look at. An absent `force` is false. */
export interface OperationKind {
  readonly type: VmopType;
  readonly force?: boolean;
}

/** `!` marks force where it makes a difference. */
type Kind = VmopType | 'Stop!' | 'Restart!';

/**
 * Who may take over whom. Nothing else ever supersedes or is superseded: a forced stop or restart is the last word, and what
 * restores or clones is never interrupted.
 */
const takeOvers: Readonly<Record<Kind, readonly Kind[]>> = {
  Start: ['Stop', 'Stop!'],
  Stop: ['Stop!', 'Restart!'],
  'Stop!': [],
  Restart: ['Stop!', 'Restart!'],
  'Restart!': [],
  Migrate: ['Stop', 'Stop!', 'Restart', 'Restart!'],
  Evict: ['Stop', 'Stop!', 'Restart', 'Restart!'],
  Restore: [],
  Clone: [],
};

export function kindOf({ type, force = false }: OperationKind): Kind {
  return force && (type === 'Stop' || type === 'Restart') ? `${type}!` : type;
}

/** True when the newcomer may take over an active incumbent of the same VM. */
export function canSupersede(incumbent: OperationKind, newcomer: OperationKind): boolean {
  return takeOvers[kindOf(incumbent)].includes(kindOf(newcomer));
}

/** Operations that could take over this one, in the order people would try them. */
export function superseders(incumbent: OperationKind): readonly OperationKind[] {
  return takeOvers[kindOf(incumbent)].map((kind) =>
    kind.endsWith('!') ? { type: kind.slice(0, -1) as VmopType, force: true } : { type: kind as VmopType },
  );
}

/** `Stop`, `Stop, forced`: how messages call an operation. */
export function inWords({ type, force = false }: OperationKind): string {
  return force ? `${type}, forced` : type;
}
