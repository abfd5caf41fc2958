import {
  ApplicationFailure,
  CancellationScope,
  condition,
  defineQuery,
  defineUpdate,
  isCancellation,
  setHandler,
} from '@temporalio/workflow';
import { messages } from '../contracts/messages.ts';
import type { EnsureAnswer, EnsureTarget, OperatorNote, Retarget, TemplateSwapStatus } from '../contracts/template.ts';
import { isEnd, type Phase } from '../domain/template/phases.ts';
import { retargetProblem } from '../domain/template/shape.ts';
import type { SwapState } from './swap-state.ts';

/** Why the keeping of the previous version ended. */
export type KeepingEnd = 'undo' | 'elapsed' | 'pruned' | 'retargeted' | 'cancelled';

/** What people may ask of a running swap, and how the swap hears it. */
export interface Operators {
  readonly isRetargeting: boolean;
  /** Runs work that a new target or a cancellation may interrupt. */
  interruptible<T>(work: () => Promise<T>): Promise<T>;
  /** The new target if one came. From then on another may be asked for. */
  takeRetarget(): Retarget | undefined;
  retryRequested(timeoutMs: number): Promise<void>;
  keepingEnds(timeoutMs: number): Promise<KeepingEnd>;
}

/** Phases in which the production name is about to change hands: too late for another target. */
const tooLate: readonly Phase[] = ['Swapping', 'Restoring', 'Verifying', 'DestroyingRollback', 'Undoing'];

export function listenToOperators(state: SwapState): Operators {
  const asked: { retarget: Retarget | undefined; keepingEnd: KeepingEnd | undefined; retryNow: boolean } = {
    retarget: undefined,
    keepingEnd: undefined,
    retryNow: false,
  };
  let ensured = 0;
  let running: CancellationScope | undefined;

  setHandler(defineQuery<TemplateSwapStatus>(messages.status), () => state.status(), {
    description: 'How the swap is going',
  });

  setHandler(
    defineUpdate<EnsureAnswer, [EnsureTarget]>(messages.ensure),
    ({ version }) => {
      ensured += 1;
      const isFirst = ensured === 1 && state.phase === 'Validating';
      return { how: isFirst ? 'started' : 'joined', version, status: state.phase };
    },
    {
      description: 'Start this swap, or join it when it is for the same version and digest',
      validator: (wanted: Partial<EnsureTarget> | null) => {
        const { version, sha256 } = state.target;
        if (typeof wanted?.version !== 'string' || typeof wanted.sha256 !== 'string')
          throw refused('TARGET_MISSING', 'say what is wanted: { "version": "…", "sha256": "…" }');
        if (wanted.version === version && wanted.sha256.toLowerCase() === sha256) return;
        throw refused(
          'SWAP_RUNNING',
          `SWAP_RUNNING: ${state.path} is being updated to ${version} (${state.phase}), not to ${wanted.version}`,
        );
      },
    },
  );

  setHandler(
    defineUpdate<string, [Retarget]>(messages.retarget),
    (wanted) => {
      asked.retarget = wanted;
      asked.keepingEnd = 'retargeted';
      running?.cancel();
      return `${state.path} now goes to ${wanted.target.version}`;
    },
    {
      description: 'Go to another version instead: { source, target, by, reason? }',
      validator: (wanted: Retarget) => {
        if (isEnd(state.phase)) throw refused('SWAP_OVER', `the swap of ${state.path} is over (${state.phase})`);
        if (tooLate.includes(state.phase))
          throw refused(
            'TOO_LATE',
            `too late: ${state.path} is just being renamed (${state.phase}); ask again when it is done`,
          );
        if (asked.retarget !== undefined)
          throw refused('RETARGETING', `${state.path} is already changing to ${asked.retarget.target.version}`);
        const problem = retargetProblem(wanted);
        if (problem !== undefined)
          throw refused(
            'RETARGET_INVALID',
            `a new target needs source { kind, path or url, sha256 }, target { version } and by: ${problem}`,
          );
      },
    },
  );

  const whileKeeping = (name: string, end: KeepingEnd, answer: string, description: string): void =>
    setHandler(
      defineUpdate<string, [OperatorNote]>(name),
      (note: OperatorNote) => {
        asked.keepingEnd = end;
        return `${answer}, as ${note.by} asked`;
      },
      {
        description,
        validator: (note: OperatorNote) => {
          requireName(note);
          if (state.phase !== 'Keeping' || asked.keepingEnd !== undefined)
            throw refused('NOTHING_KEPT', `no previous version of ${state.path} is kept (${state.phase})`);
        },
      },
    );
  whileKeeping(
    messages.undo,
    'undo',
    'going back to the previous template',
    'Go back to the kept previous template: { by, reason? }',
  );
  whileKeeping(
    messages.endKeep,
    'pruned',
    'the previous template is destroyed',
    'Stop keeping the previous template: { by, reason? }',
  );

  setHandler(
    defineUpdate<string, [OperatorNote]>(messages.retryNow),
    (note: OperatorNote) => {
      asked.retryNow = true;
      return `trying again now, as ${note.by} asked`;
    },
    {
      description: 'End the current wait and try again: { by, reason? }',
      validator: (note: OperatorNote) => {
        requireName(note);
        if (state.phase !== 'WaitingForSpace')
          throw refused('NOT_WAITING', `${state.path} is not waiting for space (${state.phase})`);
      },
    },
  );

  const ending = (): KeepingEnd | undefined => asked.keepingEnd;

  return {
    get isRetargeting() {
      return asked.retarget !== undefined;
    },
    async interruptible(work) {
      const scope = new CancellationScope();
      running = scope;
      try {
        return await scope.run(work);
      } finally {
        running = undefined;
      }
    },
    takeRetarget() {
      const wanted = asked.retarget;
      asked.retarget = undefined;
      return wanted;
    },
    async retryRequested(timeoutMs) {
      asked.retryNow = false;
      await condition(() => asked.retryNow, timeoutMs, { summary: 'waiting for space on the datastore' });
    },
    async keepingEnds(timeoutMs) {
      asked.keepingEnd = undefined;
      try {
        await condition(() => asked.keepingEnd !== undefined, timeoutMs, {
          summary: 'keeping the previous template for an undo',
        });
      } catch (err) {
        if (!isCancellation(err)) throw err;
        return 'cancelled';
      }
      return ending() ?? 'elapsed';
    },
  };
}

function refused(code: string, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: 'Refused', message, nonRetryable: true, details: [{ code }] });
}

function requireName(note: Partial<OperatorNote> | null | undefined): void {
  if (typeof note?.by !== 'string' || note.by === '')
    throw refused('BY_MISSING', 'say who asks: { "by": "your name" }');
}
