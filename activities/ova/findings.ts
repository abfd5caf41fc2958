import { SourceError, type SourceErrorCode } from './source-error.ts';

/** Collects what is odd but no obstacle. */
export class Findings {
  readonly #warnings: string[] = [];
  readonly #strict: boolean;

  constructor(strict: boolean) {
    this.#strict = strict;
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  warn(code: SourceErrorCode, message: string): void {
    this.#warnings.push(`${code}: ${message}`);
  }

  /** A warning, or a refusal for who wants strictness. */
  odd(code: SourceErrorCode, message: string): void {
    if (this.#strict) throw new SourceError(code, `${message} (refused because of strictOva)`);
    this.warn(code, message);
  }
}
