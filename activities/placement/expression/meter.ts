import { stopwatch } from '../stopwatch.ts';
import { ExpressionError, type ExpressionErrorKind } from './error.ts';
import { limits } from './limits.ts';

export interface MeterOptions {
  /** What `now()` says, in milliseconds since 1970. */
  readonly now: number;
  readonly steps?: number;
  readonly timeMs?: number;
  /** Milliseconds since the evaluation began. */
  readonly spentMs?: () => number;
}

/** Counts what one evaluation costs and ends it when that is too much. Nothing in the language absorbs its errors. */
export class Meter {
  readonly #text: string;
  readonly #spentMs: () => number;
  readonly #timeMs: number;
  readonly #most: number;
  #steps = 0;
  #nextLook: number = limits.stepsPerLook;
  readonly now: number;
  /** Offset of what is being evaluated. */
  at = 0;

  constructor(
    text: string,
    { now, steps = limits.steps, timeMs = limits.timeMs, spentMs = stopwatch() }: MeterOptions,
  ) {
    this.#text = text;
    this.now = now;
    this.#most = steps;
    this.#spentMs = spentMs;
    this.#timeMs = timeMs;
  }

  /** Asked before the work is done, so that too much of it isn't begun. */
  charge(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#most) this.fail('limit', `evaluating it takes more than ${this.#most} steps`);
    if (this.#steps < this.#nextLook) return;
    this.#nextLook = this.#steps + limits.stepsPerLook;
    this.look();
  }

  /** At the clock: after work whose steps nobody can count. */
  look(): void {
    if (this.#spentMs() > this.#timeMs) this.fail('limit', `evaluating it takes longer than ${this.#timeMs} ms`);
  }

  /** For texts that are read from end to end. */
  chargeText(length: number): void {
    this.charge(Math.ceil(length / limits.charsPerStep));
  }

  /** For a text that is looked for in another: at worst each character is compared with each. */
  chargeSearch(length: number, partLength: number): void {
    const compared = partLength > length ? 0 : length * partLength;
    this.charge(Math.ceil(length / limits.charsPerStep + compared / limits.comparesPerStep));
  }

  /** For texts that are made: of what length is asked before they are. */
  chargeMade(length: number): void {
    if (length > limits.madeText) this.fail('limit', `it makes a text of more than ${limits.madeText} characters`);
    this.chargeText(length);
  }

  fail(kind: ExpressionErrorKind & ('limit' | 'runtime'), problem: string): never {
    throw new ExpressionError(kind, problem, this.#text, this.at);
  }
}
