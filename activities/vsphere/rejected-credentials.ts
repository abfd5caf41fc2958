import { createHash } from 'node:crypto';

import { isFaultType } from './fault-hierarchy.ts';
import { VimFault, VSphereError } from './faults.ts';
import type { VCenterEndpoint } from './port.ts';

/** Long enough that retries of an activity don't lock the account, short enough for a person who corrects the server's side. */
const rememberedMs = 60_000;

/** Identifies user and password at one vCenter without holding them. */
export function credentialKey(endpoint: VCenterEndpoint): string {
  return createHash('sha256')
    .update(JSON.stringify([endpoint.url, endpoint.user, endpoint.password]))
    .digest('hex');
}

/** Remembers which credentials a vCenter has refused, so that a wrong password costs one Login and no locked account. */
export class RejectedCredentials {
  readonly #refusals = new Map<string, { readonly until: number; readonly error: VSphereError }>();

  /** Throws the remembered refusal while it is fresh. */
  check(endpoint: VCenterEndpoint): void {
    const key = credentialKey(endpoint);
    const refusal = this.#refusals.get(key);
    if (refusal === undefined) return;
    if (performance.now() < refusal.until) throw refusal.error;
    this.#refusals.delete(key);
  }

  /** Turns what Login failed with into what the caller should throw, remembering refusals. */
  note(endpoint: VCenterEndpoint, error: unknown): unknown {
    if (!isRefusal(error)) return error;
    const message =
      `vCenter ${endpoint.name} refuses the login of ${endpoint.user} (${error.faultType}). ` +
      'Check user and password in the configuration; the next attempt is made after a minute.';
    const info = { kind: 'vim-fault', faultType: error.faultType, method: 'Login', message } as const;
    const refusal = new VSphereError('AUTH', message, info, { cause: error });
    this.#refusals.set(credentialKey(endpoint), { until: performance.now() + rememberedMs, error: refusal });
    return refusal;
  }
}

function isRefusal(error: unknown): error is VimFault {
  return (
    error instanceof VimFault &&
    ['InvalidLogin', 'NoPermission', 'InvalidLocale'].some((type) => isFaultType(error.faultType, type))
  );
}
