import type { Meter } from '../meter.ts';

/** The texts between all separators; the characters with an empty one. */
export function piecesOf(text: string, separator: string, meter: Meter): readonly string[] {
  meter.chargeSearch(text.length, separator.length);
  const pieces = separator === '' ? [...text] : text.split(separator);
  meter.charge(pieces.length);
  return pieces;
}

/** So many pieces, 1 at least; the last one is the rest. */
export function atMost(pieces: readonly string[], most: number, separator: string): readonly string[] {
  if (pieces.length <= most) return pieces;
  return [...pieces.slice(0, most - 1), pieces.slice(most - 1).join(separator)];
}
