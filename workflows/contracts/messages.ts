/** Names of queries, signals and updates: one list for workflows, the client and the tests. */
export const messages = {
  /** Query: the operation's status. */
  status: 'status',
  /** Update (validated) and signal with a `Resolution`. */
  resolve: 'resolve',
  /** Update of `templateSwap`: start or join. */
  ensure: 'ensure',
  /** Update of `templateSwap`: another target instead of the running one. */
  retarget: 'retarget',
  /** Update of `templateSwap`: back to the kept previous version. */
  undo: 'undo',
  /** Update of `templateSwap`: stop keeping the previous version. */
  endKeep: 'endKeep',
  /** Update: end the current wait for space and try at once. */
  retryNow: 'retryNow',
} as const;
