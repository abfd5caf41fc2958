import { VSphereError } from '../vsphere/faults.ts';
import type { MoRef, VSphereSession } from '../vsphere/port.ts';
import { toFaultInfo } from '../vsphere/fault-info.ts';

/** Never less often than this, however long the lease is. */
const longestIntervalMs = 10_000;

/**
 * Keeps an import lease alive until it is completed or aborted, whether or not bytes move, and posts the progress to it.
 * `lost` aborts with `LEASE_LOST` when the server doesn't know the lease any more.
 */
export class LeaseKeeper {
  readonly #session: VSphereSession;
  readonly #lease: MoRef;
  readonly #percent: () => number;
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #told = -1;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(session: VSphereSession, lease: MoRef, leaseTimeoutS: number, percent: () => number) {
    this.#session = session;
    this.#lease = lease;
    this.#percent = percent;
    const everyMs = Math.min(longestIntervalMs, (leaseTimeoutS * 1000) / 6);
    this.#timer = setInterval(() => this.#tick(), everyMs);
    this.#tick();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Tells the lease the progress now; used for the last word, 100 %. */
  async tell(percent: number): Promise<void> {
    await this.#running;
    await this.#send(percent);
    if (this.#lost.signal.aborted) throw this.#lost.signal.reason;
  }

  /** After this no call of the keeper is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  #tick(): void {
    if (this.#running !== undefined || this.#stopped) return;
    this.#running = this.#send(this.#percent()).finally(() => (this.#running = undefined));
  }

  /** One failed call is repeated at once, unless the server says that the lease is over; two in a row mean the same. */
  async #send(percent: number): Promise<void> {
    this.#told = Math.max(this.#told, percent);
    const tell = (): Promise<void> => this.#session.leaseProgress(this.#lease, this.#told);
    try {
      await tell().catch((err: unknown) => {
        if (isLost(err)) throw err;
        return tell();
      });
    } catch (err) {
      this.#lost.abort(leaseLost(err));
    }
  }
}

function isLost(err: unknown): boolean {
  return err instanceof VSphereError && err.code === 'LEASE_LOST';
}

function leaseLost(err: unknown): VSphereError {
  const info = toFaultInfo(err);
  const why = info.faultType ?? info.message ?? 'no answer';
  return new VSphereError('LEASE_LOST', `the import lease is lost (${why}): the upload has to start over`, info, {
    cause: err,
  });
}
