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
 * The list with one condition set. Its transition time moves when its status or its reason changes: timers of migrations
 * count from it.
 */
export function withCondition(conditions: readonly Condition[], change: ConditionChange, now: string): Condition[] {
  const before = conditions.find((condition) => condition.type === change.type);
  const isSame = before?.status === change.status && before.reason === change.reason;
  const next = { ...change, lastTransitionTime: isSame ? before.lastTransitionTime : now };
  return before === undefined
    ? [...conditions, next]
    : conditions.map((condition) => (condition === before ? next : condition));
}
