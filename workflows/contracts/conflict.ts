/** One way out of a conflict: the word to send and what it will do. */
export interface ConflictOption {
  readonly decision: string;
  readonly effect: string;
}

/** Something changed or is foreign, and a person has to decide. `id` names the conflict and its object. */
export interface Conflict {
  readonly id: string;
  readonly code: string;
  /** What happened, to what, in one sentence. */
  readonly what: string;
  readonly expected: string;
  readonly found: string;
  /** ISO 8601, UTC. */
  readonly since: string;
  readonly options: readonly ConflictOption[];
}

/** Body of the update `resolve` and of the signal `resolve`. */
export interface Resolution {
  readonly conflictId: string;
  readonly decision: string;
  readonly reason?: string;
  /** Who decided: a user name, shown in the history. */
  readonly by: string;
}
