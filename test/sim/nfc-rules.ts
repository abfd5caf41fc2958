import type { RecordedRequest } from './request-log.ts';

/** Disturbs uploads of disks. Bytes are those passed on: the kernel's buffers take a few MiB more from the client. */
export type NfcRule = {
  /** Only uploads of this file (last part of the path). */
  readonly file?: string | RegExp;
  readonly match?: (request: RecordedRequest) => boolean;
  readonly nth?: number;
  readonly times?: number;
  /** Fires when this many bytes have been passed on; default 0. */
  readonly afterBytes?: number;
} & NfcAction;

export type NfcAction =
  /** The connection breaks. */
  | { readonly action: 'reset' }
  /** Nothing more is read until the client gives up or `until` resolves. */
  | { readonly action: 'stall'; readonly until?: Promise<void> }
  /** The rest is read and thrown away, then the answer is this status (500). */
  | { readonly action: 'status-500'; readonly status?: number }
  /** Answered with this status (500) at once, the rest of the body unread. */
  | { readonly action: 'early-response'; readonly status?: number }
  /** From here on no faster than this. */
  | { readonly action: 'throttle'; readonly bytesPerSecond: number };

export function matchesUpload(rule: NfcRule, request: RecordedRequest): boolean {
  const file = request.object?.value ?? '';
  if (rule.file === undefined) return true;
  return typeof rule.file === 'string' ? rule.file === file : rule.file.test(file);
}

/** The rules of one upload by position: which act within the next `size` bytes, and how many bytes may pass before. */
export function nextStop(pending: readonly NfcRule[], passed: number, size: number): { rule?: NfcRule; pass: number } {
  const due = pending
    .filter(({ afterBytes = 0 }) => afterBytes <= passed + size)
    .sort((a, b) => (a.afterBytes ?? 0) - (b.afterBytes ?? 0))[0];
  return due ? { rule: due, pass: Math.max(0, (due.afterBytes ?? 0) - passed) } : { pass: size };
}
