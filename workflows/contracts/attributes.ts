/**
 * The one set of search attributes, registered by `vmflow admin setup` and by the development stack.
 * Values stay below 255 bytes and are never encrypted: names and phases only.
 */
export const searchKeys = {
  kind: { name: 'OpKind', type: 'KEYWORD' },
  status: { name: 'OpStatus', type: 'KEYWORD' },
  vm: { name: 'OpVm', type: 'KEYWORD' },
  batch: { name: 'OpBatch', type: 'KEYWORD' },
  source: { name: 'OpSource', type: 'KEYWORD' },
  target: { name: 'OpTarget', type: 'KEYWORD' },
  waitingFor: { name: 'OpWaitingFor', type: 'KEYWORD' },
  conflict: { name: 'OpConflict', type: 'KEYWORD' },
  atRisk: { name: 'OpAtRisk', type: 'BOOL' },
  deadline: { name: 'OpDeadline', type: 'DATETIME' },
  progress: { name: 'OpProgress', type: 'DOUBLE' },
} as const;

/** Columns of SQL visibility are 255 bytes wide: what is longer is cut at its end. */
export const longestAttribute = 255;

/** Values of the search attribute `OpKind`. */
export type OperationKind =
  | 'template-swap'
  | 'template-swap-fleet'
  | 'lookup'
  | 'vm-operation'
  | 'vm-coordinator'
  | 'vmop-upkeep'
  | 'cocoon-set'
  | 'hibernate-migration'
  | 'migration-request'
  | 'migration-gate'
  | 'hibernation'
  | 'hibernation-request'
  | 'drain'
  | 'batch'
  | 'batch-shard'
  | 'batch-reset'
  | 'migration'
  | 'copy-pass'
  | 'slots'
  | 'source'
  | 'orphan';
