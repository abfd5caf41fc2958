import { ExpressionError } from './error.ts';
import type { LiteralRead } from './token.ts';
import { float, int } from './type.ts';
import { largestInt, normalInt } from './numbers.ts';

const digits = (digit: string): string => `${digit}+(?:_${digit}+)*`;
const whole = new RegExp(`0[xX]${digits('[0-9a-fA-F]')}|0[oO]${digits('[0-7]')}|0[bB]${digits('[01]')}`, 'y');
const decimal = new RegExp(`(?:${digits('\\d')})?(\\.${digits('\\d')})?([eE][+-]?\\d+)?`, 'y');
const tail = /[\p{L}\p{N}_]/uy;

/** `42`, `0x2A`, `1_000`, `1.5`, `.5`, `1e3`. */
export function readNumber(text: string, at: number): LiteralRead {
  whole.lastIndex = at;
  const based = whole.exec(text);
  decimal.lastIndex = at;
  const [found = '', fraction, exponent] = based ?? decimal.exec(text) ?? [];
  const end = at + found.length;
  tail.lastIndex = end;
  if (tail.test(text)) throw new ExpressionError('syntax', `"${found}${text.charAt(end)}…" is no number`, text, at);
  const plain = found.replaceAll('_', '');
  if (fraction !== undefined || exponent !== undefined) {
    const value = Number(plain);
    if (!Number.isFinite(value)) throw new ExpressionError('syntax', `${found} is too large for a float`, text, at);
    return { value, type: float, end };
  }
  const value = BigInt(plain);
  if (value > largestInt) throw new ExpressionError('syntax', `${found} doesn't fit into 64 bits`, text, at);
  return { value: normalInt(value), type: int, end };
}
