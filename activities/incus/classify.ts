import { z } from 'zod';
import type { Call } from './call.ts';
import type { TargetErrorCode } from './port.ts';
import type { TargetError } from './target-error.ts';
import type { IncusAnswer } from './transport.ts';

/** Longer words of a server are cut: they end up in failures, logs and on terminals. */
const longest = 400;

const refusal = z.object({ type: z.literal('error'), error: z.string() });

const codes: Readonly<Record<number, TargetErrorCode>> = {
  400: 'INVALID',
  401: 'UNTRUSTED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'BUSY',
  412: 'ETAG',
  423: 'BUSY',
  429: 'BUSY',
};

const noSpace =
  /no space left|not enough (free )?space|insufficient (free )?space|out of space|pool is full|\bENOSPC\b/i;
const busy = /\bbusy\b|currently in use|being used by/i;

/** True only when the server itself says that there is no such object; a proxy's page is no such word. */
export function isAbsent(answer: IncusAnswer): boolean {
  return answer.status === 404 && refusal.safeParse(jsonOf(answer)).success;
}

/** What a refusal means. `isChange`: what was asked for may have happened all the same where the answer proves nothing. */
export function toTargetError(answer: IncusAnswer, call: Call, isChange: boolean): TargetError {
  const { data } = refusal.safeParse(jsonOf(answer));
  const code = codeOf(answer.status, data?.error);
  const words = data === undefined ? 'an answer that is not of an Incus server' : cut(data.error);
  const isUnsure = isChange && (code === 'SERVER' || code === 'PROTOCOL');
  const meaning = isUnsure ? ' It may have happened all the same.' : '';
  return call.failure(code, `${words} (HTTP ${answer.status}).${meaning}`, {
    status: answer.status,
    retryAfterS: Number(answer.headers['retry-after']) || undefined,
  });
}

function codeOf(status: number, words: string | undefined): TargetErrorCode {
  if (words === undefined) return status >= 500 ? 'SERVER' : 'PROTOCOL';
  if (noSpace.test(words)) return 'NO_SPACE';
  if (status === 400 && busy.test(words)) return 'BUSY';
  return codes[status] ?? (status >= 500 ? 'SERVER' : 'PROTOCOL');
}

/** What it means that an operation of the server ended badly. */
export function operationFailure(words: string, call: Call): TargetError {
  const code = noSpace.test(words) ? 'NO_SPACE' : busy.test(words) ? 'BUSY' : 'OPERATION_FAILED';
  return call.failure(code, `the operation at the server failed: ${cut(words === '' ? 'no reason given' : words)}.`);
}

/** Undefined where it is no JSON. */
export function jsonOf({ body }: IncusAnswer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function cut(words: string): string {
  const text = words.trim().replace(/\.$/, '');
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}
