import type {
  LossAcknowledgement,
  MigrateMainStatus,
  MigrationOrder,
  MigrationRetarget,
} from '../../workflows/contracts/hibernate.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { wayEffects } from '../../workflows/domain/hibernate/reasons.ts';
import type { Action } from '../commands/command.ts';
import { confirmByName } from '../confirm.ts';
import { CliError, usageError } from '../errors.ts';
import { progressLines } from '../execution/progress.ts';
import { waitForExecution, type WaitFlags } from '../execution/wait.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { printIntent, printSent } from '../output/answers.ts';
import type { Session } from '../session.ts';
import { findSet, resolveSet, type SetRef } from '../set/find.ts';
import type { PlaceFlags } from '../vm/place.ts';
import { exitOfWait, sayHowToComeBack, type Goal } from './end.ts';
import { printMigration } from './get.ts';
import { loadMigration, type MigrationView } from './view.ts';

export interface ActFlags extends PlaceFlags, WaitFlags {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

export interface RetargetFlags extends ActFlags {
  readonly to?: string;
}

export interface LossFlags extends ActFlags {
  readonly uid?: string;
  readonly yes?: boolean;
}

/** `migrate retarget SET --to NODE`: another target for the migration that is open. */
export const retargetMigration: Action<RetargetFlags> = async (session, [text = ''], flags) => {
  const { to } = flags;
  if (to === undefined) throw usageError('to which node? give --to NODE (--to "" for any)');
  const view = await openMigration(session, await resolveSet(session, text, flags), 'retarget');
  if (view.target === to) {
    return await saySent(session, view, messages.retarget, `it goes to ${nodeText(to)} already`);
  }
  const body: MigrationRetarget = { ...orderOf(session, flags), nodeName: to };
  const effect = `the VM of ${nameOf(view)} goes to ${nodeText(to)} instead of ${nodeText(view.target ?? '')}`;
  return await send(
    session,
    view,
    { message: messages.retarget, verb: 'retarget', body, effect, goal: 'move', intent: to },
    flags,
  );
};

/** `migrate abort SET`: the VM is wanted back where it came from. */
export const abortMigration: Action<ActFlags> = async (session, [text = ''], flags) => {
  const view = await openMigration(session, await resolveSet(session, text, flags), 'abort');
  const effect = `${wayEffects.abort}: ${view.source ?? 'its node before'}`;
  const order = {
    message: messages.abort,
    verb: 'abort',
    body: orderOf(session, flags),
    effect,
    goal: 'abort',
  } as const;
  return await send(session, view, order, flags);
};

/** `migrate retry SET`: leave a hold and try again. */
export const retryMigration: Action<ActFlags> = async (session, [text = ''], flags) => {
  const view = await openMigration(session, await resolveSet(session, text, flags), 'retry');
  const body = orderOf(session, flags);
  const order = { message: messages.retry, verb: 'retry', body, effect: wayEffects.retry, goal: 'move' } as const;
  return await send(session, view, order, flags);
};

/** `migrate acknowledge-loss SET`: the one command that gives up the state of a VM. */
export const acknowledgeLoss: Action<LossFlags> = async (session, [text = ''], flags) => {
  const set = await findSet(session, text, flags);
  const view = await openMigration(session, set, 'acknowledge-loss');
  const question = `memory and disks of the main VM of ${set.namespace}/${set.name} (set UID ${set.uid}) are given up, a fresh VM boots from ${set.image}`;
  const body: LossAcknowledgement = { ...orderOf(session, flags), setUid: set.uid };
  const order = {
    message: messages.acknowledgeLoss,
    verb: 'acknowledge-loss',
    body,
    effect: question,
    goal: 'acknowledge-loss',
  } as const;
  if (flags.dryRun !== true) {
    const given = {
      ...(flags.yes === true ? { yes: true } : {}),
      ...(flags.uid === undefined ? {} : { confirm: flags.uid }),
    };
    await confirmByName(session, set.uid, question, given, { flag: '--uid', what: 'the UID of the set' });
  }
  return await send(session, view, order, flags);
};

interface Order {
  readonly message: string;
  readonly verb: string;
  readonly body: MigrationOrder;
  readonly effect: string;
  readonly goal: Goal;
  /** What makes a repeat the same message, besides the state that it answers. */
  readonly intent?: string;
}

function orderOf(session: Session, { reason }: ActFlags): MigrationOrder {
  return { by: session.runtime.user(), ...(reason === undefined ? {} : { reason }) };
}

async function openMigration(session: Session, set: SetRef, verb: string): Promise<MigrationView> {
  const view = await loadMigration(session, set);
  if (view?.execution === 'running') return view;
  const { namespace, name } = set;
  throw new CliError({
    exit: 'refused',
    reason: 'NO_OPEN_MIGRATION',
    message: `can't ${verb}: no migration of set ${namespace}/${name} is open`,
    state: view === undefined ? undefined : `its last one ended: ${view.step}`,
    next: [`vmflow set get ${name} -n ${namespace}`, `vmflow move set/${name} -n ${namespace} --to NODE`],
  });
}

async function send(session: Session, view: MigrationView, order: Order, flags: ActFlags): Promise<ExitCode> {
  if (flags.dryRun === true) {
    const { verb, effect } = order;
    return await printIntent(session, { id: view.id, name: nameOf(view), verb, effect });
  }
  const gateway = await session.gateway();
  const { id, runId } = view;
  // The same answer to the same state counts once; after a turn it is another one.
  const state = view.turn === undefined ? session.runtime.random() : String(view.turn);
  const updateId = [order.message, order.intent, state].filter((part) => part !== undefined).join('/');
  const update = { name: order.message, updateId, body: order.body };
  const { completed, answer } = await gateway.update({ workflowId: id, runId }, update);
  const said = completed && typeof answer === 'string' ? answer : 'accepted';
  if (flags.wait !== undefined) return await waited(session, view, said, order.goal, flags);
  return await saySent(session, view, order.message, said);
}

async function saySent(session: Session, view: MigrationView, message: string, answer: string): Promise<ExitCode> {
  const { id, runId, namespace, set, link } = view;
  const then = [['watch', `vmflow set watch ${set} -n ${namespace}`]] as const;
  await printSent(session, { id, runId, name: nameOf(view), message, answer, link, then });
  return exitCodes.ok.code;
}

/** Follows the migration to its end, whatever it was told, and prints how it then stands. */
async function waited(
  session: Session,
  view: MigrationView,
  said: string,
  goal: Goal,
  flags: WaitFlags,
): Promise<ExitCode> {
  const set = { namespace: view.namespace, name: view.set };
  session.note(`${nameOf(view)}: ${said}`);
  const interrupt = session.runtime.onInterrupt();
  const conflictBefore = view.conflict?.since;
  try {
    const lines = progressLines(session, nameOf(view));
    const end = await waitForExecution<MigrateMainStatus>(session, {
      workflowId: view.id,
      watched: view.id,
      name: nameOf(view),
      flags,
      stopped: interrupt.signal,
      show: lines,
      // The conflict that was just answered is no news.
      stopAtConflict: ({ since }) => since !== conflictBefore,
    });
    sayHowToComeBack(session, set, end);
    const last = await loadMigration(session, set);
    if (last !== undefined) await printMigration(session, last);
    return exitOfWait(end, goal);
  } finally {
    interrupt.dispose();
  }
}

function nameOf({ namespace, set }: MigrationView): string {
  return `${namespace}/${set}`;
}

function nodeText(node: string): string {
  return node === '' ? 'any node' : node;
}
