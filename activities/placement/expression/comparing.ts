import type { Meter } from './meter.ts';
import type { Apply } from './overload.ts';
import { compare, entryOf, isList, textOf, type Value, type ValueMap } from './value.ts';

export const equals: Apply = ([a, b], meter) => isSame(a ?? null, b ?? null, meter);

/** `x in list` */
export const isIn: Apply = ([value, list], meter) =>
  (list as readonly Value[]).some((element) => isSame(value ?? null, element, meter));

/** `key in map` */
export const isKeyIn: Apply = ([key, map]) => entryOf(map as ValueMap, textOf(key)) !== undefined;

/** `from..to`, both included; empty when they are the wrong way round. */
export const range: Apply = ([from, to], meter) => {
  const [first, last] = [Number(from), Number(to)];
  const length = Math.max(0, last - first + 1);
  meter.charge(length);
  return Array.from({ length }, (_, i) => first + i);
};

/** By content. Types are those of one side or of the other, so that only numbers may be of two kinds. */
function isSame(a: Value, b: Value, meter: Meter): boolean {
  meter.charge(1);
  if (a === b || a === null || b === null) return a === b;
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length === b.length) meter.chargeText(a.length);
    return a === b;
  }
  if (typeof a !== 'object' || typeof b !== 'object') return isNumeric(a) && isNumeric(b) && compare(a, b) === 0;
  if (isList(a) || isList(b))
    return isList(a) && isList(b) && a.length === b.length && a.every((each, i) => isSame(each, b[i] ?? null, meter));
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(entryOf(a, key) ?? null, entryOf(b, key) ?? null, meter))
  );
}

function isNumeric(value: Value): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}
