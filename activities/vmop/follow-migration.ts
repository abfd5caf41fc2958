import type { OutcomeResult } from '../../workflows/contracts/activities.ts';
import type { AcceptedOperation } from '../../workflows/contracts/vmop.ts';
import type { MigrationProgress } from '../../workflows/domain/vmop/migration.ts';
import type { World } from '../../workflows/domain/vmop/proof.ts';
import type { Cluster } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import type { VmopDeps } from './deps.ts';
import { abortMigration, ownMigration } from './migrations.ts';
import { conditionOf, hasEnded } from './objects.ts';
import { writeStatus } from './status.ts';

/** How often a number that only grows is written, milliseconds. */
const refreshMs = 10_000;

type Followed = { readonly answer: OutcomeResult } | { readonly againInMs?: number };

/**
 * Shows on the operation how its migration goes, and ends a preparation of the target that takes too long: time without another
 * reason counts, time in the queue doesn't. For other operations it does nothing.
 */
export function followMigration(
  { cluster, settings }: VmopDeps,
  op: AcceptedOperation,
): (seen: World) => Promise<Followed> {
  let shown = '';
  let shownAt = 0;
  return async ({ migration }) => {
    if (migration === undefined) return {};
    const message = await withPlace(cluster, op, migration);
    const now = Date.now();
    const isNews = shown !== `${migration.reason} ${message}` || now - shownAt >= refreshMs;
    const since = isNews ? await show(cluster, op, migration, message) : undefined;
    if (isNews) {
      shown = `${migration.reason} ${message}`;
      shownAt = now;
    }
    if (!migration.isPreparing) return { againInMs: refreshMs };
    const left = (since ?? shownAt) + settings.targetPreparationMs - now;
    if (left > 0) return { againInMs: Math.min(left, refreshMs) };
    return { answer: await giveUp(cluster, op, message, settings.targetPreparationMs) };
  };
}

/** Writes what changed; answers since when the reason holds, epoch milliseconds. */
async function show(
  cluster: Cluster,
  op: AcceptedOperation,
  { phase, reason, progress }: MigrationProgress,
  message: string,
): Promise<number | undefined> {
  const percent = `${progress}%`;
  const written = await writeStatus(cluster, op, (vmop) => {
    if (vmop.phase === 'Terminating') return undefined;
    const completed = conditionOf(vmop.conditions, 'Completed');
    const isSame =
      vmop.phase === phase &&
      completed?.reason === reason &&
      completed.message === message &&
      vmop.object.status?.['progress'] === percent;
    return isSame
      ? undefined
      : { phase, progress: percent, conditions: [{ type: 'Completed', status: 'False', reason, message }] };
  });
  const completed = conditionOf(written?.conditions ?? [], 'Completed');
  return completed === undefined ? undefined : Date.parse(completed.lastTransitionTime);
}

/** A migration in the queue says how many are before it. */
async function withPlace(
  cluster: Cluster,
  op: AcceptedOperation,
  { phase, message }: MigrationProgress,
): Promise<string> {
  if (phase !== 'Pending') return message;
  const own = await ownMigration(cluster, op);
  if (own === undefined) return message;
  const before = cluster
    .watch(resources.migration)
    .items()
    .filter((other) => other.metadata.uid !== own.metadata.uid && !hasEnded(other))
    .filter((other) => other.metadata.creationTimestamp <= own.metadata.creationTimestamp).length;
  return before === 0 ? `${message}, first in the queue` : `${message}, ${before} before it in the queue`;
}

async function giveUp(
  cluster: Cluster,
  op: AcceptedOperation,
  message: string,
  limitMs: number,
): Promise<OutcomeResult> {
  const own = await ownMigration(cluster, op);
  if (own !== undefined) await abortMigration(cluster, own);
  const text = `the target was not ready within ${limitMs / 1_000} s, so the migration was called off (${message})`;
  return { ok: false, reason: 'OperationFailed', message: text };
}
