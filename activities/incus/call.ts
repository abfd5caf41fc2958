import type { TargetCallOptions, TargetEndpoint } from './port.ts';
import { TargetError } from './target-error.ts';

/** One call of the port: what it is about, and how long all its requests together may take. */
export interface Call {
  /** To follow "could not": `create web in project default`. */
  readonly what: string;
  /** Aborted by the caller, or when the time is over. */
  readonly signal: AbortSignal;
  readonly operationId: string | undefined;
  readonly onOperation: (id: string) => void;
  remainingMs(): number;
  /** Throws the caller's own reason when it gave up, `TIMEOUT` when the time is over. */
  check(): void;
  /** Such an error, with the target and what was tried in front. */
  failure(code: TargetError['code'], why: string, init?: ConstructorParameters<typeof TargetError>[2]): TargetError;
}

export function beginCall(endpoint: TargetEndpoint, what: string, options: TargetCallOptions = {}): Call {
  const timeoutMs = options.timeoutMs ?? endpoint.connectionTimeoutMs;
  const until = performance.now() + timeoutMs;
  const deadline = AbortSignal.timeout(timeoutMs);
  const failure: Call['failure'] = (code, why, init) =>
    new TargetError(code, `Target ${endpoint.name}: could not ${what}: ${why}`, init);
  return {
    what,
    signal: options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]),
    operationId: options.operationId,
    onOperation: (id) => options.onOperation?.(id),
    remainingMs: () => Math.max(0, until - performance.now()),
    check() {
      options.signal?.throwIfAborted();
      if (!deadline.aborted) return;
      throw failure('TIMEOUT', `not done within ${timeoutMs} ms. What was asked for may still happen.`);
    },
    failure,
  };
}
