import type { Meter } from '../meter.ts';
import { bool, int, listOf, string } from '../type.ts';
import { textOf, type Value } from '../value.ts';
import { fixed, type FunctionRule } from './function-rule.ts';
import { atMost, piecesOf } from './split.ts';

type TextApply = (texts: readonly string[], meter: Meter) => Value;

/** For functions that take texts only. */
function texts(usage: string, count: number, gives: typeof bool, apply: TextApply, least = count): FunctionRule {
  const takes = Array.from({ length: count }, () => string);
  return fixed(usage, takes, gives, (args, meter) => apply(args as readonly string[], meter), least);
}

export const textFunctions: Readonly<Record<string, FunctionRule>> = {
  lower: texts('lower(text)', 1, string, ([text = ''], meter) => made(text.toLowerCase(), meter)),
  upper: texts('upper(text)', 1, string, ([text = ''], meter) => made(text.toUpperCase(), meter)),
  trim: texts(
    'trim(text, characters?)',
    2,
    string,
    ([text = '', characters], meter) => trim(text, characters, meter),
    1,
  ),
  trimPrefix: texts('trimPrefix(text, prefix)', 2, string, ([text = '', prefix = ''], meter) => {
    meter.chargeText(text.length);
    return text.startsWith(prefix) ? text.slice(prefix.length) : text;
  }),
  trimSuffix: texts('trimSuffix(text, suffix)', 2, string, ([text = '', suffix = ''], meter) => {
    meter.chargeText(text.length);
    return text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text;
  }),
  hasPrefix: texts('hasPrefix(text, prefix)', 2, bool, ([text = '', prefix = ''], meter) => {
    meter.chargeText(text.length);
    return text.startsWith(prefix);
  }),
  hasSuffix: texts('hasSuffix(text, suffix)', 2, bool, ([text = '', suffix = ''], meter) => {
    meter.chargeText(text.length);
    return text.endsWith(suffix);
  }),
  indexOf: texts('indexOf(text, part)', 2, int, ([text = '', part = ''], meter) => {
    meter.chargeSearch(text.length, part.length);
    return inCharacters(text, text.indexOf(part));
  }),
  lastIndexOf: texts('lastIndexOf(text, part)', 2, int, ([text = '', part = ''], meter) => {
    meter.chargeSearch(text.length, part.length);
    return inCharacters(text, text.lastIndexOf(part));
  }),
  split: splitting('split(text, separator, most?)', 2),
  splitN: splitting('splitN(text, separator, most)', 3),
  replace: fixed('replace(text, old, new, most?)', [string, string, string, int], string, replace, 3),
  join: fixed('join(list of texts, separator?)', [listOf(string), string], string, join, 1),
};

/** The number of characters of a text, not of the halves that some of them consist of. */
export function characters(text: string, meter: Meter): number {
  meter.chargeText(text.length);
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

function made(text: string, meter: Meter): string {
  meter.chargeMade(text.length);
  return text;
}

function inCharacters(text: string, index: number): number {
  return index < 0 ? index : [...text.slice(0, index)].length;
}

function trim(text: string, characters: string | undefined, meter: Meter): string {
  meter.chargeText(text.length);
  if (characters === undefined) return text.trim();
  const unwanted = new Set(characters);
  const all = [...text];
  meter.charge(all.length);
  const from = all.findIndex((char) => !unwanted.has(char));
  return from < 0 ? '' : all.slice(from, all.findLastIndex((char) => !unwanted.has(char)) + 1).join('');
}

function splitting(usage: string, least: number): FunctionRule {
  return fixed(
    usage,
    [string, string, int],
    listOf(string),
    ([text, separator, most], meter) =>
      splitText(textOf(text), textOf(separator), most === undefined ? -1 : Number(most), meter),
    least,
  );
}

/** At most so many pieces: all with a negative number, none with 0. */
function splitText(text: string, separator: string, most: number, meter: Meter): readonly string[] {
  const pieces = piecesOf(text, separator, meter);
  if (most === 0) return [];
  return most < 0 ? pieces : atMost(pieces, most, separator);
}

function replace([text, old, fresh, most]: readonly Value[], meter: Meter): string {
  const separator = textOf(old);
  const pieces = piecesOf(textOf(text), separator, meter);
  // An empty text is found between all characters and at both ends.
  const all = separator === '' ? ['', ...pieces, ''] : pieces;
  const times = most === undefined ? -1 : Number(most);
  return join([atMost(all, times < 0 ? all.length : times + 1, separator), textOf(fresh)], meter);
}

function join([list, separator = '']: readonly Value[], meter: Meter): string {
  const pieces = list as readonly string[];
  const between = textOf(separator);
  meter.charge(pieces.length);
  meter.chargeMade(pieces.reduce((sum, { length }) => sum + length + between.length, -between.length));
  return pieces.join(between);
}
