import { ClusterError, type ClusterErrorReason } from './port.ts';
import type { ApiAnswer } from './transport.ts';

/** As much of a Status as decides what a refusal means. */
interface Status {
  readonly kind?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly name?: string;
    readonly causes?: readonly unknown[];
    readonly retryAfterSeconds?: number;
  };
}

/** Longer words of a server are cut: they end up in failures, logs and on terminals. */
const longest = 1_000;

const denial = /^admission webhook "[^"]*" denied the request(?:: |$)/;

/** Reason by HTTP status, where the status alone decides. */
const reasons: Readonly<Record<number, ClusterErrorReason>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  408: 'Unavailable',
  429: 'TooManyRequests',
};

/** True when the API server says that this very object isn't there (and not: I don't know such a kind). */
export function isAbsent(answer: ApiAnswer, name: string): boolean {
  if (answer.status !== 404) return false;
  const { reason, details } = statusOf(answer);
  return reason === 'NotFound' && details?.name === name;
}

/** True when an admission webhook refused, and not RBAC. */
export function isDenial(answer: ApiAnswer): boolean {
  return denial.test(statusOf(answer).message ?? '');
}

/**
 * What a refusal means.
 * @param attempt what was asked, to follow "to": `patch VirtualMachine shop/db-0`
 */
export function toClusterError(answer: ApiAnswer, attempt: string): ClusterError {
  const status = statusOf(answer);
  const reason = reasonOf(answer.status, status);
  // Of a patch that doesn't fit, the server only says that the request was in error.
  const isLostPatch = reason === 'Conflict' && answer.status === 422;
  const words = isLostPatch ? 'the object is not as the patch expects it' : wordsOf(status.message, answer.status);
  return new ClusterError(reason, messageFor(reason, attempt, words, answer.status), {
    status: answer.status,
    retryAfterS: answer.retryAfterS ?? status.details?.retryAfterSeconds,
  });
}

/** What it means that a request got no answer: nothing is known about its effect. */
export function noAnswer(error: unknown, attempt: string): ClusterError {
  return new ClusterError(
    'Unavailable',
    `The API server gave no answer to the request to ${attempt}: ${causeOf(error)}.`,
    {
      cause: error,
    },
  );
}

/** Why a connection failed, in one line: the innermost cause that says something. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return causeOf(error.cause);
  if (error instanceof AggregateError && error.errors.length > 0) return causeOf(error.errors[0]);
  if (error.name === 'TimeoutError') return 'not within the deadline';
  return error.message === '' ? error.name : error.message;
}

function reasonOf(code: number, { message, reason, details }: Status): ClusterErrorReason {
  if (denial.test(message ?? '')) return 'Denied';
  if (code === 409) return reason === 'AlreadyExists' ? 'AlreadyExists' : 'Conflict';
  // A JSON patch whose test fails, or whose path isn't there, is 422 like a broken rule, but names no cause.
  if (code === 422) return (details?.causes ?? []).length > 0 ? 'Invalid' : 'Conflict';
  if (code >= 500) return 'Unavailable'; // "failed calling webhook" among them
  return reasons[code] ?? 'Other';
}

function messageFor(reason: ClusterErrorReason, attempt: string, words: string, code: number): string {
  if (reason === 'Denied') return words.replace(denial, '') || 'an admission webhook denied the request';
  if (reason === 'Unavailable') return `The API server failed to ${attempt} (${code}): ${words}`;
  return `The API server refused to ${attempt} (${code}): ${words}`;
}

/** A body that is no Status (a proxy's page, say) is not repeated: nobody knows what it holds. */
function statusOf({ text }: ApiAnswer): Status {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null && (body as Status).kind === 'Status' ? body : {};
  } catch {
    return {};
  }
}

function wordsOf(message: string | undefined, code: number): string {
  const words = message?.trim() ?? '';
  if (words === '') return code === 404 ? 'it does not know that kind of object' : 'it gave no reason';
  return words.length <= longest ? words : `${words.slice(0, longest - 1)}…`;
}
