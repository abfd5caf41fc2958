/** A standard Kubernetes condition. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** RFC 3339. */
  readonly lastTransitionTime: string;
}

export type ConditionChange = Omit<Condition, 'lastTransitionTime'>;

/**
 * The list with one condition set. `movedBy`: what makes its transition time move. Timers of operations on VMs count from a new
 * reason.
 */
export function withCondition(
  conditions: readonly Condition[],
  change: ConditionChange,
  now: string,
  movedBy: 'reason' | 'status' = 'reason',
): Condition[] {
  const before = conditions.find((condition) => condition.type === change.type);
  const isSame = before?.status === change.status && (movedBy === 'status' || before.reason === change.reason);
  const next = { ...change, lastTransitionTime: isSame ? before.lastTransitionTime : now };
  return before === undefined
    ? [...conditions, next]
    : conditions.map((condition) => (condition === before ? next : condition));
}
