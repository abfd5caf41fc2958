import { ExpressionError } from './error.ts';
import type { LiteralRead } from './token.ts';
import { string } from './type.ts';

const simple: ReadonlyMap<string, string> = new Map([
  ['a', '\x07'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['`', '`'],
]);

/** Escapes with a code: `\x41`, `\u0041`, `\U00000041`, `\101`. */
const coded = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))/y;

/** A text in single or double quotes with escapes, or in back quotes without. */
export function readString(text: string, at: number): LiteralRead {
  const quote = text.charAt(at);
  let value = '';
  let i = at + 1;
  while (i < text.length) {
    const char = text.charAt(i);
    if (char === quote) return { value, type: string, end: i + 1 };
    const escape = char === '\\' && quote !== '`' ? readEscape(text, i) : { value: char, length: 1 };
    value += escape.value;
    i += escape.length;
  }
  throw new ExpressionError('syntax', `the text that begins here has no closing ${quote}`, text, at);
}

function readEscape(text: string, at: number): { value: string; length: number } {
  const plain = simple.get(text.charAt(at + 1));
  if (plain !== undefined) return { value: plain, length: 2 };
  coded.lastIndex = at;
  const [found = '', byte, short, long, octal] = coded.exec(text) ?? [];
  const hex = byte ?? short ?? long;
  const code = hex !== undefined ? Number.parseInt(hex, 16) : Number.parseInt(octal ?? '', 8);
  if (Number.isNaN(code) || code > 0x10ffff) {
    const problem = `"${text.slice(at, at + 2)}" is no escape; a backslash itself is "\\\\", or use \`back quotes\``;
    throw new ExpressionError('syntax', problem, text, at);
  }
  return { value: String.fromCodePoint(code), length: found.length };
}
