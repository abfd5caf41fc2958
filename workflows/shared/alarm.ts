import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';

/** One timer that is set anew only when its time is another one: who is woken often by other things doesn't fill the history. */
export class Alarm {
  readonly #summary: string;
  #at: number | undefined;
  #scope: CancellationScope | undefined;
  #hasRung = false;

  constructor(summary: string) {
    this.#summary = summary;
  }

  /** It rings at this time (epoch milliseconds), at once when that is over; undefined: never. */
  set(at: number | undefined): void {
    if (at === this.#at && !this.#hasRung) return;
    // One that has rung rings again, but not all the time.
    const atLeastMs = at === this.#at ? 1_000 : 1;
    this.#scope?.cancel();
    this.#at = at;
    this.#scope = undefined;
    this.#hasRung = false;
    if (at === undefined) return;
    const scope = new CancellationScope();
    this.#scope = scope;
    void this.#wait(scope, Math.max(at - Date.now(), atLeastMs));
  }

  /** Its time is over. */
  rang(): boolean {
    return this.#hasRung;
  }

  stop(): void {
    this.set(undefined);
  }

  async #wait(scope: CancellationScope, ms: number): Promise<void> {
    try {
      await scope.run(() => sleep(ms, { summary: this.#summary }));
    } catch (err) {
      if (!isCancellation(err)) throw err;
      return;
    }
    if (this.#scope === scope) this.#hasRung = true;
  }
}
