import { toFaultInfo } from '../fault-info.ts';
import { VSphereError } from '../faults.ts';
import type { MoRef, VSphereSession } from '../port.ts';

/** Never less often than this, however long the lease is. */
const longestIntervalMs = 10_000;

/** Keeps an export lease alive while a disk is read, however slowly. `lost` aborts when the server has ended it. */
export class ExportKeeper {
  readonly #session: VSphereSession;
  readonly #lease: MoRef;
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;
  #failures = 0;
  /** Share of the disk that was read. */
  percent = 0;

  constructor(session: VSphereSession, lease: MoRef, leaseTimeoutS: number) {
    this.#session = session;
    this.#lease = lease;
    // One call may fail: there is time for the next ones.
    this.#timer = setInterval(() => this.#tick(), Math.min(longestIntervalMs, (leaseTimeoutS * 1000) / 6));
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** After this no call of the keeper is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  #tick(): void {
    this.#running ??= this.#tell().finally(() => (this.#running = undefined));
  }

  async #tell(): Promise<void> {
    try {
      await this.#session.leaseProgress(this.#lease, Math.min(99, this.percent));
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      const isOver = error instanceof VSphereError && error.code === 'LEASE_LOST';
      if (isOver || this.#failures > 2) this.#lost.abort(lostError(error));
    }
  }
}

function lostError(error: unknown): VSphereError {
  const info = toFaultInfo(error);
  const why = info.faultType ?? info.message ?? 'no answer';
  const message = `The export lease is lost (${why}): the copy of the disk starts again.`;
  return new VSphereError('LEASE_LOST', message, { ...info, message }, { cause: error });
}
