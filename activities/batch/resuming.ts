import { Context } from '@temporalio/activity';
import { z } from 'zod';
import { lastBeat, whileBeating } from '../heartbeat.ts';

const beat = z.object({ begun: z.string().optional() });

/** What a call to a far side that takes its time is told. */
export interface Resuming {
  readonly signal: AbortSignal;
  /** The operation or task that an earlier attempt of this activity has begun. */
  readonly earlier?: string;
  /** This attempt has begun one. */
  readonly onBegun: (id: string) => void;
}

/** Beats while it works, and hands what one attempt has begun at the far side to the next. */
export async function resuming<T>(work: (options: Resuming) => Promise<T>): Promise<T> {
  const earlier = lastBeat(beat)?.begun;
  let begun = earlier;
  const onBegun = (id: string): void => {
    begun = id;
  };
  const { cancellationSignal: signal } = Context.current();
  return await whileBeating(
    () => ({ begun }),
    () => work({ signal, onBegun, ...(earlier === undefined ? {} : { earlier }) }),
  );
}
