import { faultOf } from './fault-decode.ts';
import { VSphereError } from './faults.ts';
import type { VSphereLog } from './log.ts';
import type { CallOptions, LeaseDeviceUrl, LeaseInfo, LeaseManifestEntry, MoRef } from './port.ts';
import type { CoreCallOptions, SessionCore } from './session-core.ts';
import { isFault } from './session-core.ts';
import { within } from './tasks.ts';
import type { Method } from './vim25/table.ts';
import type { Watch } from './wait.ts';
import { waitForProperties } from './wait.ts';

/** A lease that is still `initializing` after this long never gets ready. */
const readyMs = 10 * 60_000;

interface DeviceUrl {
  readonly key: string;
  readonly importKey: string;
  readonly url: string;
  readonly sslThumbprint?: string;
  readonly sslCertificate?: string;
  readonly disk?: boolean;
  readonly targetId?: string;
}

function leaseLost(method: string, cause: unknown): VSphereError {
  const faultType = isFault(cause, 'NotAuthenticated', 'ManagedObjectNotFound', 'Timedout', 'InvalidState')
    ? cause.faultType
    : undefined;
  const message =
    `${method}: the import lease is lost (${faultType ?? 'its session is gone'}). ` +
    'The server removes what was uploaded; the import starts again.';
  const info = { kind: 'lease-error', method, message, ...(faultType === undefined ? {} : { faultType }) } as const;
  return new VSphereError('LEASE_LOST', message, info, { cause });
}

/** A lease lives and dies with the session that made it: no call of it is ever replayed on a new session. */
export class Leases {
  readonly #core: SessionCore;
  readonly #log: VSphereLog;

  constructor(core: SessionCore, log: VSphereLog) {
    this.#core = core;
    this.#log = log;
  }

  async waitUntilReady(lease: MoRef, options: CallOptions): Promise<LeaseInfo> {
    const watch: Watch = {
      ref: lease,
      paths: ['state', 'info', 'error'],
      isDone: (props) => props.get('state') !== undefined && props.get('state') !== 'initializing',
    };
    const props = await within(options.timeoutMs ?? readyMs, options.signal, 'the import lease', (limited) =>
      this.#lost('HttpNfcLease', (safe) => waitForProperties(this.#core, watch, safe, this.#log), limited),
    );
    const state = props.get('state');
    if (state === 'ready') return toInfo(props.get('info'));
    if (state === 'error') throw leaseError(props.get('error'));
    throw leaseLost('HttpNfcLease', new Error(`state ${String(state)}`));
  }

  async progress(lease: MoRef, percent: number, options?: CallOptions): Promise<void> {
    const whole = Math.min(100, Math.max(0, Math.trunc(percent)));
    await this.#call('HttpNfcLeaseProgress', { _this: lease, percent: whole }, options);
  }

  async complete(lease: MoRef, options?: CallOptions): Promise<void> {
    await this.#call('HttpNfcLeaseComplete', { _this: lease }, options);
  }

  /** A lease that is already over counts as aborted. */
  async abort(lease: MoRef, options?: CallOptions): Promise<void> {
    try {
      await this.#call('HttpNfcLeaseAbort', { _this: lease }, options);
    } catch (error) {
      if (!(error instanceof VSphereError && error.code === 'LEASE_LOST')) throw error;
    }
  }

  async manifest(lease: MoRef, options?: CallOptions): Promise<readonly LeaseManifestEntry[]> {
    const entries = (await this.#call('HttpNfcLeaseGetManifest', { _this: lease }, options)) as LeaseManifestEntry[];
    return entries.map(({ key, sha1, checksum, checksumType, size }) => ({
      key,
      size,
      ...(sha1 ? { sha1 } : {}),
      ...(checksum ? { checksum } : {}),
      ...(checksumType ? { checksumType } : {}),
    }));
  }

  #call(method: Method, args: Readonly<Record<string, unknown>>, options: CallOptions = {}): Promise<unknown> {
    return this.#lost(method, (safe) => this.#core.call(method, args, safe), options);
  }

  async #lost<T>(method: string, work: (options: CoreCallOptions) => Promise<T>, options: CallOptions): Promise<T> {
    if (!this.#core.isLoggedIn) throw leaseLost(method, undefined);
    try {
      return await work({ ...options, onDeadSession: 'fail' });
    } catch (error) {
      throw isFault(error, 'NotAuthenticated', 'ManagedObjectNotFound', 'Timedout', 'InvalidState')
        ? leaseLost(method, error)
        : error;
    }
  }
}

function leaseError(localized: unknown): Error {
  const fault = faultOf(localized, { kind: 'lease-error', method: 'HttpNfcLease' });
  if (fault !== undefined) return fault;
  const message = 'The import lease is in error and the server names no reason.';
  return new VSphereError('LEASE_ERROR_UNKNOWN', message, { kind: 'lease-error', method: 'HttpNfcLease', message });
}

function toDeviceUrl(device: DeviceUrl): LeaseDeviceUrl {
  const { key, importKey, url, sslThumbprint, sslCertificate, disk, targetId } = device;
  return {
    key,
    importKey,
    url,
    isDisk: disk === true,
    ...(sslThumbprint ? { sslThumbprint } : {}),
    ...(sslCertificate ? { sslCertificate } : {}),
    ...(targetId ? { targetId } : {}),
  };
}

function toInfo(info: unknown): LeaseInfo {
  const { entity, leaseTimeout, deviceUrl } = info as {
    readonly entity: MoRef;
    readonly leaseTimeout: number;
    readonly deviceUrl: readonly DeviceUrl[];
  };
  return { entity, leaseTimeoutS: leaseTimeout, deviceUrls: deviceUrl.map(toDeviceUrl) };
}
