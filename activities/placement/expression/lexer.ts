import { ExpressionError } from './error.ts';
import { limits } from './limits.ts';
import { isOperatorWord, operatorSigns } from './operators.ts';
import { readNumber } from './number-literal.ts';
import { readString } from './string-literal.ts';
import type { LiteralRead, Token } from './token.ts';

const space = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y;
const word = /[\p{L}_][\p{L}\p{N}_]*/uy;
const digit = /\.?\d/y;
const quotes = `'"\``;

/** The words of an expression, comments left out. The last one is the end. */
export function tokenize(text: string): readonly Token[] {
  if (text.length > limits.text)
    throw new ExpressionError('limit', `it is longer than ${limits.text} characters`, text, 0);
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at = endOf(space, text, at) ?? at;
    if (at >= text.length) return [...tokens, { kind: 'end', text: '', at }];
    const { token, end } = read(text, at);
    tokens.push(token);
    at = end;
  }
}

function read(text: string, at: number): { token: Token; end: number } {
  const char = text.charAt(at);
  if (quotes.includes(char)) return literal(text, at, readString(text, at));
  if (endOf(digit, text, at) !== undefined) return literal(text, at, readNumber(text, at));
  const wordEnd = endOf(word, text, at);
  if (wordEnd !== undefined) {
    const found = text.slice(at, wordEnd);
    return { token: { kind: isOperatorWord(found) ? 'operator' : 'name', text: found, at }, end: wordEnd };
  }
  if ('()[]{}'.includes(char)) return { token: { kind: 'bracket', text: char, at }, end: at + 1 };
  if (text.startsWith('/*', at))
    throw new ExpressionError('syntax', 'the comment that begins here has no end', text, at);
  const sign = operatorSigns.find((candidate) => text.startsWith(candidate, at));
  // `c ?.5 : 1` is a choice, not a field of c.
  const length = sign === '?.' && /\d/.test(text.charAt(at + 2)) ? 1 : sign?.length;
  if (length === undefined) throw new ExpressionError('syntax', unexpected(text, at), text, at);
  return { token: { kind: 'operator', text: text.slice(at, at + length), at }, end: at + length };
}

function literal(text: string, at: number, { value, type, end }: LiteralRead): { token: Token; end: number } {
  return { token: { kind: 'literal', text: text.slice(at, end), value, type, at }, end };
}

function unexpected(text: string, at: number): string {
  const char = String.fromCodePoint(text.codePointAt(at) ?? 0);
  return char === '=' ? '"=" is nothing here; equality is "=="' : `"${char}" is nothing here`;
}

/** The offset behind a match that begins at `at`. */
function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
