import pLimit from 'p-limit';
import type { SetInfo } from '../../workflows/contracts/cluster-lookup.ts';
import type { MigrateMainStatus, RequestMigrationResult } from '../../workflows/contracts/hibernate.ts';
import { migrateMainId, migrationRequestId } from '../../workflows/contracts/ids.ts';
import { confirmYes } from '../confirm.ts';
import { CliError, usageError } from '../errors.ts';
import { executionError } from '../execution/failure.ts';
import { progressLines } from '../execution/progress.ts';
import { endAtOnce, waitForExecution, type WaitEnd, type WaitFlags } from '../execution/wait.ts';
import { combineExits, exitCodes, type ExitCode } from '../exit-codes.ts';
import type { ExecutionOutcome } from '../gateway.ts';
import { sayHowToComeBack } from '../migrate/end.ts';
import type { Session } from '../session.ts';
import { itemOfEnd, itemOfResult, printMoves, type MoveItem } from './move-item.ts';
import { moveStart, requestIdOf, type MoveWish } from './move-start.ts';

export interface MoveFlags extends WaitFlags, MoveWish {
  readonly yes?: boolean;
  readonly force?: boolean;
}

/** Requests at the same time. */
const sideBySide = 8;
/** Looks whether a request ends at once: one that is refused does. */
const firstLooks = 8;
/** A dry run has nothing to wait for but the cluster. */
const dryRunLooks = 120;

/** `move SET`: asks for another node of each set's main VM; with `--wait` until it runs there. */
export async function moveSets(session: Session, sets: readonly SetInfo[], flags: MoveFlags): Promise<ExitCode> {
  if (flags.force === true)
    throw usageError('--force is for VMs: the VM of a set is stored and restored, there is nothing to force');
  if (sets.length > 1 && flags.dryRun !== true) {
    const names = sets.map(({ namespace, name }) => `${namespace}/${name}`).join(', ');
    await confirmYes(session, `move ${String(sets.length)} sets to ${flags.to ?? 'other nodes'}: ${names}`, flags);
  }
  const limit = pLimit(sideBySide);
  const interrupt = flags.wait === undefined ? undefined : session.runtime.onInterrupt();
  const isOnly = sets.length === 1;
  try {
    const items = await Promise.all(
      sets.map(async (set) => {
        try {
          const asked = await limit(() => ask(session, set, flags));
          const isOver = asked.result !== 'requested' && asked.result !== 'in-progress';
          return interrupt === undefined || isOver ? asked : await waited(session, set, flags, interrupt.signal);
        } catch (error) {
          if (isOnly || !(error instanceof CliError)) throw error;
          return refusedItem(set, flags, error);
        }
      }),
    );
    await printMoves(session, items);
    const isInterrupted = items.some(({ result }) => result === 'interrupted');
    return isInterrupted ? exitCodes.interrupted.code : combineExits(items.map(({ exit }) => exit));
  } finally {
    interrupt?.dispose();
  }
}

/** Starts the request, or joins the one that wants the same; a refusal is known soon. */
async function ask(session: Session, set: SetInfo, flags: MoveFlags): Promise<MoveItem> {
  const gateway = await session.gateway();
  const start = moveStart(session, set, flags);
  const { workflowId } = start;
  const { runId, joined } = await gateway.start(start);
  const outcome = await endAtOnce(session, { workflowId, runId }, flags.dryRun === true ? dryRunLooks : firstLooks);
  if (outcome !== undefined) return await ended(session, set, flags, outcome);
  if (flags.dryRun === true) throw unanswered(set);
  const link = await session.link(migrateMainId(set.namespace, set.name));
  return { ...baseOf(set, flags), result: joined ? 'in-progress' : 'requested', link, exit: exitCodes.ok.code };
}

async function waited(session: Session, set: SetInfo, flags: MoveFlags, stopped: AbortSignal): Promise<MoveItem> {
  const { namespace, name } = set;
  const shown = `${namespace}/${name}`;
  const lines = progressLines(session, shown);
  let digest: string | undefined;
  const end = await waitForExecution<MigrateMainStatus>(session, {
    workflowId: migrationRequestId(namespace, name, requestIdOf(flags)),
    watched: migrateMainId(namespace, name),
    name: shown,
    flags,
    stopped,
    stopAtConflict: () => true,
    show: (status) => {
      digest = status.snapshot?.digest ?? digest;
      lines(status);
    },
  });
  if (end.kind === 'ended') return await ended(session, set, flags, end.outcome, digest);
  sayHowToComeBack(session, set, end);
  return await itemOfWait(session, set, flags, end);
}

async function itemOfWait(session: Session, set: SetInfo, flags: MoveFlags, end: WaitEnd): Promise<MoveItem> {
  const link = await session.link(migrateMainId(set.namespace, set.name));
  return itemOfEnd({ ...baseOf(set, flags), link }, end);
}

async function ended(
  session: Session,
  set: SetInfo,
  flags: MoveFlags,
  { result, failure }: ExecutionOutcome,
  digest?: string,
): Promise<MoveItem> {
  if (failure !== undefined) throw executionError(failure, `move set ${set.namespace}/${set.name}`);
  const link = await session.link(migrateMainId(set.namespace, set.name));
  return itemOfResult({ ...baseOf(set, flags), link }, result as RequestMigrationResult, digest);
}

function baseOf(set: SetInfo, { to }: MoveFlags): Pick<MoveItem, 'namespace' | 'set' | 'from' | 'to' | 'id'> {
  const { namespace, name, node } = set;
  return {
    ...{ namespace, set: name, id: migrateMainId(namespace, name) },
    ...(node === undefined ? {} : { from: node }),
    ...(to === undefined ? {} : { to }),
  };
}

/** One of many that couldn't be asked for. */
function refusedItem(set: SetInfo, flags: MoveFlags, { reason, message, exit }: CliError): MoveItem {
  return { ...baseOf(set, flags), result: 'refused', reason, message, exit };
}

function unanswered({ namespace, name }: SetInfo): CliError {
  return new CliError({
    exit: 'notAcknowledged',
    reason: 'NOT_ACKNOWLEDGED',
    message: `can't say what a move of set ${namespace}/${name} would do: no answer yet`,
    next: 'vmflow doctor',
  });
}
