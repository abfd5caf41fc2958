import { displayWidth } from './table.ts';
import type { Sink } from '../runtime.ts';

/** A block of lines that is drawn again in place. Only for terminals. */
export class LiveBlock {
  readonly #sink: Sink;
  #height = 0;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  draw(text: string): void {
    // A terminal that doesn't know its size says 0.
    const width = Math.max(this.#sink.columns ?? 0, 0) || 80;
    const lines = text.replace(/\n$/, '').split('\n');
    const up = this.#height === 0 ? '' : `\u001b[${String(this.#height)}A`;
    this.#sink.write(`${up}\r\u001b[J${lines.join('\n')}\n`);
    this.#height = lines.reduce((rows, line) => rows + rowsOf(line, width), 0);
  }
}

/** Rows that a line takes once the terminal has wrapped it. */
function rowsOf(line: string, width: number): number {
  return Math.max(1, Math.ceil(displayWidth(line) / Math.max(1, width)));
}
