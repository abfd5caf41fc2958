import { CancellationScope, condition, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type {
  ByWhom,
  CancelEntry,
  CommitGranted,
  SettingsChanged,
  SlotsGranted,
  SourceUpdated,
} from '../contracts/batch.ts';
import { messages } from '../contracts/messages.ts';
import { cancelRefusal } from '../domain/batch/clean-up.ts';
import { isCommitted, isMigrating, type Entry } from '../domain/batch/entry.ts';
import { failure } from '../shared/failures.ts';
import { answerWithinMs } from './budgets.ts';

/** What a person wants of an entry that the entry does itself, between two steps. */
export interface Order {
  readonly kind: 'cancel' | 'retry' | 'cleanup' | 'delete';
  readonly by: ByWhom;
  readonly cleanup: boolean;
}

export interface OrderBook {
  entry(): Entry;
  /** What keeps it from being taken up: something is being cleaned up. */
  isCleaning(): boolean;
  give(order: Order): void;
  /** The order was carried out, or refused with this. */
  outcomeOf(order: Order): string | Error | undefined;
  hold(isHeld: boolean): void;
  cutover(): void;
  commitGranted(grant: CommitGranted): void;
  slotGranted(granted: SlotsGranted): void;
  sourceUpdated(update: SourceUpdated): void;
  settingsChanged(change: SettingsChanged): void;
  pause(isPaused: boolean): void;
  giveTurn(): void;
  reportNews(): void;
}

/** Updates are refused with a reason before anything is written; signals come from other workflows. */
export function listen(book: OrderBook): void {
  const refuse = (message: string): never => {
    throw failure('Refused', message, { code: 'WRONG_STATUS', next: 'vmflow queue get shows what can be done now' });
  };
  const check = (given: unknown, why: (entry: Entry) => string | undefined): void => {
    const { by } = (given ?? {}) as { readonly by?: unknown };
    if (typeof by !== 'string' || by === '') refuse('say who wants it: by');
    const reason = why(book.entry());
    if (reason !== undefined) refuse(reason);
  };
  const order = (kind: Order['kind'], why: (entry: Entry) => string | undefined, description: string): void => {
    setHandler(
      defineUpdate<string, [Partial<CancelEntry>]>(messages[kind]),
      async (given) => {
        const asked: Order = {
          kind,
          by: { by: given.by ?? '', ...(given.reason === undefined ? {} : { reason: given.reason }) },
          cleanup: given.cleanup === true,
        };
        book.give(asked);
        const isDone = (): boolean => book.outcomeOf(asked) !== undefined;
        // An entry outlives the cancellation of its workflow, and so do its answers.
        await CancellationScope.nonCancellable(() => condition(isDone, answerWithinMs, { summary: `answer ${kind}` }));
        const outcome = book.outcomeOf(asked);
        if (outcome instanceof Error) throw outcome;
        return outcome ?? `accepted; it takes longer: ${book.entry().message}`;
      },
      {
        description,
        validator: (given: unknown) => check(given, why),
      },
    );
  };
  order('cancel', cancelRefusal, 'End it, the source as it was: { by, cleanup?, reason? }');
  order(
    'retry',
    ({ status }) =>
      status !== 'Canceled'
        ? `it is ${status}, only a Canceled one is retried`
        : book.isCleaning()
          ? cleaning
          : undefined,
    'Try a Canceled one again: { by }',
  );
  order(
    'cleanup',
    ({ status }) =>
      status === 'Canceled' || status === 'Error'
        ? book.isCleaning()
          ? cleaning
          : undefined
        : `it is ${status}, only what is Canceled or an Error is cleaned up`,
    'Delete what it left at the target: { by }',
  );
  order(
    'delete',
    (entry) => (book.isCleaning() ? cleaning : deleteRefusal(entry)),
    'Forget it; what is at the target stays: { by }',
  );
  const flag = (
    name: string,
    why: (entry: Entry) => string | undefined,
    act: () => void,
    description: string,
  ): void => {
    setHandler(
      defineUpdate<string, [ByWhom]>(name),
      ({ by }: ByWhom) => {
        act();
        return `${name} by ${by}`;
      },
      {
        description,
        validator: (given: unknown) => check(given, why),
      },
    );
  };
  const beforeCommit = (entry: Entry): string | undefined =>
    isCommitted(entry) || entry.status === 'Finished' || entry.status === 'Canceled' || entry.status === 'Error'
      ? `it is ${entry.status} already`
      : undefined;
  flag(messages.hold, beforeCommit, () => book.hold(true), 'Not to be committed until unhold');
  flag(
    messages.unhold,
    (entry) => (entry.held ? undefined : 'it is not held'),
    () => book.hold(false),
    'May be committed again',
  );
  flag(
    messages.cutover,
    (entry) => beforeCommit(entry) ?? (entry.held ? 'it is held: unhold it first' : undefined),
    () => book.cutover(),
    'Commit it now, without a window; limits hold',
  );
  setHandler(defineSignal<[CommitGranted]>(messages.commitGranted), (grant) => book.commitGranted(grant));
  setHandler(defineSignal<[SlotsGranted]>(messages.slotGranted), (granted) => book.slotGranted(granted));
  setHandler(defineSignal<[SourceUpdated]>(messages.sourceUpdated), (update) => book.sourceUpdated(update));
  setHandler(defineSignal<[SettingsChanged]>(messages.settingsChanged), (change) => book.settingsChanged(change));
  setHandler(defineSignal(messages.pause), () => book.pause(true));
  setHandler(defineSignal(messages.unpause), () => book.pause(false));
  setHandler(defineSignal(messages.giveTurn), () => book.giveTurn());
  setHandler(defineSignal(messages.reportNews), () => book.reportNews());
}

const cleaning = 'what it left is still being cleaned up';

function deleteRefusal(entry: Entry): string | undefined {
  if (isMigrating(entry) || isCommitted(entry)) return `it is ${entry.status}: cancel it first`;
  return undefined;
}
