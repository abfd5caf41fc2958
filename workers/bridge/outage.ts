import { causeOf } from '../../activities/kubernetes/classify.ts';
import type { WorkerLog } from '../log.ts';

/** Who can't be reached at the moment. It is said once, when it begins, and once when all are reached again. */
export class Outage {
  readonly #log: Pick<WorkerLog, 'info' | 'warn'>;
  readonly #failing = new Set<string>();
  #since = 0;

  constructor(log: Pick<WorkerLog, 'info' | 'warn'>) {
    this.#log = log;
  }

  failed(who: string, attempt: string, error: unknown): void {
    if (this.#failing.size === 0) {
      this.#since = performance.now();
      this.#log.warn(
        { attempt, error: causeOf(error) },
        'Operations can not be handed to their coordinators: Temporal does not answer, or no worker does; trying until they can',
      );
    }
    this.#failing.add(who);
  }

  /** True when this one had failed before. */
  worked(who: string): boolean {
    const hadFailed = this.#failing.delete(who);
    if (hadFailed && this.#failing.size === 0)
      this.#log.info({ seconds: Math.round((performance.now() - this.#since) / 1_000) }, 'Coordinators answer again');
    return hadFailed;
  }
}
