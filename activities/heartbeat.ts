import { Context } from '@temporalio/activity';
import type { z } from 'zod';
import { OperationError } from './failures.ts';

/** How often details are handed to the SDK, which throttles what it really sends. */
const beatEveryMs = 1_000;

/** Knows when this process last heard from the Temporal server. */
export interface Liveness {
  /** Milliseconds since the last contact; starts watching when first asked. */
  silentForMs(): number;
}

/** Runs `work` while heartbeats are sent whether or not it makes progress, the first at once: it carries on what an earlier attempt knew. */
export async function whileBeating<R>(details: () => object, work: () => Promise<R>): Promise<R> {
  Context.current().heartbeat(details());
  return await beatingOn(details, work);
}

/**
 * For each of some activities that have nothing to show but that they are at work: the death of their worker is noticed soon. Most
 * are done before the first heartbeat: the server writes each one down, so one at once would cost as much as the work itself.
 */
export function beating<T extends object>(activities: T): T {
  const entries = Object.entries(activities as Readonly<Record<string, (input: unknown) => Promise<unknown>>>);
  return Object.fromEntries(
    entries.map(([name, work]) => [
      name,
      (input: unknown) =>
        beatingOn(
          () => ({ doing: name }),
          () => work(input),
        ),
    ]),
  ) as T;
}

async function beatingOn<R>(details: () => object, work: () => Promise<R>): Promise<R> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(details()), beatEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** Heartbeat details of the attempt before this one, if they have the expected shape. */
export function lastBeat<S extends z.ZodType>(schema: S): z.infer<S> | undefined {
  const parsed = schema.safeParse(Context.current().info.heartbeatDetails);
  return parsed.success ? parsed.data : undefined;
}

/**
 * Stands between an attempt and its side effects. Aborted when the attempt is cancelled, or when the server has been out of
 * reach so long that another attempt may be running.
 */
export interface Fence {
  readonly signal: AbortSignal;
  /** Throws unless this attempt may go on. */
  check(): Promise<void>;
  dispose(): void;
}

export function raiseFence(liveness: Liveness | undefined): Fence {
  const context = Context.current();
  const allowedMs = context.info.heartbeatTimeoutMs ?? Number.POSITIVE_INFINITY;
  const cut = new AbortController();
  const look = (): void => {
    if ((liveness?.silentForMs() ?? 0) > allowedMs) cut.abort(cutOff(allowedMs));
  };
  const timer = setInterval(look, beatEveryMs);
  return {
    signal: AbortSignal.any([context.cancellationSignal, cut.signal]),
    async check() {
      look();
      if (cut.signal.aborted) throw cut.signal.reason;
      if (context.cancellationSignal.aborted) await context.cancelled;
    },
    dispose: () => clearInterval(timer),
  };
}

function cutOff(allowedMs: number): OperationError {
  const text = `no answer from Temporal for more than ${allowedMs / 1000} s: another worker may have taken over, so this attempt stops`;
  return new OperationError('LeaseLost', text, { code: 'CUT_OFF' });
}

/** Waits, unless the signal ends it. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
