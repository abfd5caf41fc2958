/**
 * Values while an expression is evaluated. Integers are numbers while those are exact and bigints beyond; a float is a number.
 * Which of both a number is, its static type says. Times and durations are milliseconds, nil is null.
 */
export type Value = null | boolean | number | bigint | string | readonly Value[] | ValueMap;

export interface ValueMap {
  readonly [key: string]: Value;
}

/** An entry of a map or record of data: never what objects inherit. */
export function entryOf(map: ValueMap, key: string): Value | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** For values whose type the checker made sure of. */
export function textOf(value: Value | undefined): string {
  return value as string;
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** Negative, 0 or positive. Texts by code point, numbers exactly across integers and floats. */
export function compare(a: string | number | bigint, b: string | number | bigint): number {
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

/** By code point: halves of surrogate pairs sort behind all other units, as the characters that they make do. */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
