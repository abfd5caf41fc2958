const defaults = { shortestMs: 250, longestMs: 15_000 } as const;

/** Pauses that double from one failure to the next, each at random between half and whole: many don't come back at once. */
export class Backoff {
  readonly #limits: { readonly shortestMs: number; readonly longestMs: number };
  #failures = 0;
  #waiting: { readonly timer: NodeJS.Timeout; readonly then: () => void } | undefined;

  constructor(limits: { readonly shortestMs: number; readonly longestMs: number } = defaults) {
    this.#limits = limits;
  }

  get isWaiting(): boolean {
    return this.#waiting !== undefined;
  }

  wait(then: () => void): void {
    const { shortestMs, longestMs } = this.#limits;
    const ms = Math.min(longestMs, shortestMs * 2 ** this.#failures) * (0.5 + Math.random() / 2);
    this.#failures += 1;
    this.#waiting = { then, timer: setTimeout(() => this.hurry(), ms) };
  }

  /** Ends the pause, where there is one. */
  hurry(): void {
    const waiting = this.#waiting;
    this.cancel();
    waiting?.then();
  }

  cancel(): void {
    clearTimeout(this.#waiting?.timer);
    this.#waiting = undefined;
  }

  reset(): void {
    this.#failures = 0;
  }
}
