import type { Connectivity } from '../../../workflows/contracts/batch-lookup.ts';
import type { Check } from '../../../workflows/contracts/lookup.ts';
import type { OperationError } from '../../failures.ts';
import { toOperationError, type ErrorTranslator } from '../../failures.ts';

/** How a far side answers. */
export interface Reached {
  readonly connectivity: Connectivity;
  /** What it said instead of OK. */
  readonly detail?: string;
}

/** Runs a call that proves that it can be reached and knows us. `pinned`: its certificate is proven by its fingerprint. */
export async function reach<T extends object>(
  call: () => Promise<T>,
  translators: readonly ErrorTranslator[],
  pinned: boolean,
): Promise<Reached & Partial<T>> {
  try {
    return { connectivity: 'OK', ...(await call()) };
  } catch (err) {
    const known = toOperationError(err, translators);
    return { connectivity: connectivityOf(known, pinned), detail: known.message } as Reached & Partial<T>;
  }
}

function connectivityOf({ type, code }: OperationError, pinned: boolean): Connectivity {
  if (/TLS|CERTIFICATE/.test(code)) return pinned ? 'Confirm TLS fingerprint' : 'TLS error';
  if (type === 'Unauthenticated' || type === 'Forbidden') return 'Authentication error';
  return type === 'Unavailable' || type === 'Timeout' ? 'Cannot connect' : 'Unknown';
}

/** `SHA-256 AB:CD…` of the check that shows a certificate; undefined: none was shown. */
export function fingerprintIn({ detail }: Check): string | undefined {
  return /^SHA-256 (\S+)$/.exec(detail)?.[1];
}
