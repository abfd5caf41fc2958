/** How agents behave and how long things take; milliseconds. */
export interface AgentSettings {
  readonly bootMs: number;
  readonly saveMs: number;
  /** Uploading and downloading the memory of a guest. */
  readonly pushMs: number;
  readonly pullMs: number;
  readonly restoreMs: number;
  readonly removeMs: number;
  /** From a running VM to its address, and how long an agent waits for that. */
  readonly networkMs: number;
  readonly networkBudgetMs: number;
  /** After a failure, doubled each time up to the maximum. */
  readonly retryFirstMs: number;
  readonly retryMaxMs: number;
  readonly retries: number;
  /** How often every Pod is looked at without a change. */
  readonly resyncMs: number;
  /** Tries of a write of id and address, or of the lifecycle, and the pause between them. */
  readonly writeTries: number;
  readonly writePauseMs: number;
  /** When a lifecycle that couldn't be written is written again. */
  readonly lifecycleFlushMs: number;
  /** How often a node says that it is ready. */
  readonly heartbeatMs: number;
  readonly registryTimeoutMs: number;
  /** The guest stays paused while its snapshot is uploaded. */
  readonly holdPaused: boolean;
  /** What a starting agent does with a VM that has no Pod. */
  readonly orphans: 'destroy' | 'alert' | 'keep';
}

/** Quick, so that a scenario takes a second. */
export const quick: AgentSettings = {
  bootMs: 30,
  saveMs: 30,
  pushMs: 30,
  pullMs: 30,
  restoreMs: 30,
  removeMs: 10,
  networkMs: 30,
  networkBudgetMs: 500,
  retryFirstMs: 50,
  retryMaxMs: 2_000,
  retries: 20,
  resyncMs: 60_000,
  writeTries: 3,
  writePauseMs: 50,
  lifecycleFlushMs: 1_000,
  heartbeatMs: 10_000,
  registryTimeoutMs: 5_000,
  holdPaused: false,
  orphans: 'destroy',
};

/** As long as people need to see it; what agents really take is longer still. */
export const leisurely: AgentSettings = {
  ...quick,
  bootMs: 2_000,
  saveMs: 1_500,
  pushMs: 3_000,
  pullMs: 3_000,
  restoreMs: 1_500,
  removeMs: 500,
  networkMs: 1_500,
  networkBudgetMs: 45_000,
  writePauseMs: 500,
  lifecycleFlushMs: 15_000,
};
