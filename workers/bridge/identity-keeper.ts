import { X509Certificate } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { causeOf } from '../../activities/kubernetes/classify.ts';
import type { WorkerLog } from '../log.ts';
import type { Identity, IdentitySource } from './identity.ts';

export interface KeeperOptions {
  readonly source: IdentitySource;
  readonly first: Identity;
  /** Makes the API server ask us and trust this. Resolves with whether that was news to it. */
  readonly publish: (trust: string | undefined) => Promise<boolean>;
  /** Serves new connections with it. */
  readonly use: (identity: Identity) => void;
  readonly log: Pick<WorkerLog, 'info' | 'warn'>;
  readonly times?: Partial<KeeperTimes>;
}

export interface KeeperTimes {
  /** How often files and the API server's configuration are looked at. */
  readonly checkMs: number;
  /** After a failure. */
  readonly retryMs: number;
  /** How long API servers get to learn what to trust from now on, before it is used. */
  readonly leadMs: number;
}

const defaults: KeeperTimes = { checkMs: 10_000, retryMs: 2_000, leadMs: 3_000 };

/**
 * Keeps the API server's trust and our certificate together: a new one is made known first and used later, the old one stays
 * trusted until it ends, so that no creation fails in between.
 */
export class IdentityKeeper {
  readonly #options: KeeperOptions;
  readonly #times: KeeperTimes;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #current: Identity;
  #isPublished = false;
  /** A failure is told once, until it works again. */
  #isFailing = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#times = { ...defaults, ...options.times };
    this.#current = options.first;
    this.#running = this.#run();
  }

  /** True from when the API servers have had the time to learn of us: before that nobody may be sent to us. */
  get isPublished(): boolean {
    return this.#isPublished;
  }

  get endsAt(): Date {
    return new X509Certificate(this.#current.certPem).validToDate;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped()) {
      try {
        await this.#check();
        if (this.#isFailing) this.#options.log.info({}, 'The webhook is in order again');
        this.#isFailing = false;
      } catch (error) {
        if (this.#isStopped()) return;
        if (!this.#isFailing)
          this.#options.log.warn(
            { error: causeOf(error) },
            'The webhook can not be kept in order; trying until it can',
          );
        this.#isFailing = true;
      }
      await this.#pause(this.#isFailing ? this.#times.retryMs : this.#times.checkMs);
    }
  }

  /** Files that are half replaced are no reason not to look at the API server. */
  async #check(): Promise<void> {
    const { source, publish, use, log } = this.#options;
    if ((await publish(this.#current.trust)) && !this.#isPublished) await this.#pause(this.#times.leadMs);
    this.#isPublished = true;
    const next = await source.next(this.#current);
    if (next === undefined) return;
    if (await publish(next.trust)) await this.#pause(this.#times.leadMs);
    use(next);
    this.#current = next;
    log.info({ until: this.endsAt.toISOString() }, 'The webhook has a new certificate');
  }

  #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }
}
