import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import { messages } from '../../workflows/contracts/messages.ts';

/** Updates and signals that people send, by whatever tool. All others go between workflows. */
export const peoplesMessages: ReadonlySet<string> = new Set([
  messages.resolve,
  messages.ensure,
  messages.retarget,
  messages.undo,
  messages.endKeep,
  messages.retryNow,
  messages.request,
  messages.abandon,
  messages.cancelOperation,
  messages.retry,
  messages.abort,
  messages.acknowledgeLoss,
  messages.cancelDrain,
  messages.apply,
  messages.start,
  messages.stop,
  messages.resume,
  messages.edit,
  messages.reset,
  messages.delete,
  messages.cancel,
  messages.hold,
  messages.unhold,
  messages.cutover,
  messages.cleanup,
  messages.sync,
]);

/** Parts of other operations: of these only what somebody did to them from outside is told. */
export const inwardKinds: ReadonlySet<string> = new Set([
  'migration-gate',
  'batch-shard',
  'copy-pass',
  'slots',
] satisfies OperationKind[]);

/** Questions and upkeep change nothing that anybody asked for, and there are very many. */
const unrecordedKinds = ['lookup', 'vmop-upkeep'] satisfies OperationKind[];

/** Visibility query for the executions that have records. */
export const recordedQuery = [
  `${searchKeys.kind.name} IS NOT NULL`,
  ...unrecordedKinds.map((kind) => `${searchKeys.kind.name} != '${kind}'`),
].join(' AND ');
