import { setTimeout as pause } from 'node:timers/promises';
import type { Call } from './call.ts';
import type { TargetErrorCode } from './port.ts';
import { TargetError } from './target-error.ts';

const rounds = 3;
const pauseMs = 200;

/** Failures after which acting again may help, where looking has shown that it isn't so yet. */
const passing: readonly TargetErrorCode[] = ['UNREACHABLE', 'TIMEOUT', 'SERVER', 'PROTOCOL', 'ETAG', 'BUSY'];

export interface Wanted<T> {
  /** Something once it is as wanted, undefined where `act` must do something; throws where it can't become so. */
  readonly look: () => Promise<T | undefined>;
  readonly act: () => Promise<void>;
  /** Lets what is under way on the object end. */
  readonly settle: () => Promise<void>;
  /** What is to be seen instead, when acting succeeded and nothing came of it. */
  readonly instead: () => string;
}

/**
 * Looks, acts where it isn't so yet, and looks again whatever became of the act: an answer that was lost, a refusal because it was
 * so already, a success. Only what is seen decides; nothing is done twice unseen.
 */
export async function ensure<T>(call: Call, { look, act, settle, instead }: Wanted<T>): Promise<T> {
  let failure: TargetError | undefined;
  for (let round = 1; ; round++) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (failure !== undefined && !passing.includes(failure.code)) throw failure;
    if (round > rounds) throw failure ?? call.failure('SERVER', `the server says that it is done, but ${instead()}.`);
    failure = await outcome(act);
    if (failure === undefined) continue;
    await settle();
    if (failure.code !== 'ETAG') await pauseWithin(call, pauseMs * round);
  }
}

async function outcome(act: () => Promise<void>): Promise<TargetError | undefined> {
  try {
    await act();
    return undefined;
  } catch (error) {
    if (error instanceof TargetError) return error;
    throw error;
  }
}

async function pauseWithin(call: Call, ms: number): Promise<void> {
  await pause(ms, undefined, { signal: call.signal }).catch(() => call.check());
}
