import type { Meter } from './meter.ts';
import type { Apply } from './overload.ts';

/** An integer: a number while that is exact, a bigint beyond. */
export type Int = number | bigint;

export const largestInt = 2n ** 63n - 1n;
export const smallestInt = -(2n ** 63n);

export function normalInt(value: bigint): Int {
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value;
}

type Calculate = (a: Int, b: Int, meter: Meter) => Int;

/** Exact integers of 64 bits: numbers where the result is safe, else once more with bigints. */
function integers(fast: (a: number, b: number) => number, exact: (a: bigint, b: bigint) => bigint): Calculate {
  return (a, b, meter) => {
    if (typeof a === 'number' && typeof b === 'number') {
      const result = fast(a, b);
      if (Number.isSafeInteger(result)) return result;
    }
    return checked(exact(BigInt(a), BigInt(b)), meter);
  };
}

function checked(value: bigint, meter: Meter): Int {
  if (value > largestInt || value < smallestInt) meter.fail('runtime', "the result doesn't fit into 64 bits");
  return normalInt(value);
}

export const addInts = integers(
  (a, b) => a + b,
  (a, b) => a + b,
);
export const subtractInts = integers(
  (a, b) => a - b,
  (a, b) => a - b,
);
export const multiplyInts = integers(
  (a, b) => a * b,
  (a, b) => a * b,
);
const remainder = integers(
  (a, b) => a % b,
  (a, b) => a % b,
);

/** With the sign of the dividend. */
export function remainderOf(a: Int, b: Int, meter: Meter): Int {
  if (Number(b) === 0) meter.fail('runtime', 'the divisor of % is 0');
  return remainder(a, b, meter);
}

export function negateInt(a: Int, meter: Meter): Int {
  return subtractInts(0, a, meter);
}

export function divide(a: Int, b: Int, meter: Meter): number {
  if (Number(b) === 0) meter.fail('runtime', 'the divisor of / is 0');
  return finite(Number(a) / Number(b), meter);
}

/** A float that is a number: infinity and NaN would compare as nobody expects. */
export function finite(value: number, meter: Meter): number {
  return Number.isFinite(value) ? value : meter.fail('runtime', 'the result is no finite number');
}

/** For lists whose type the checker made sure of. */
export const sumOfInts: Apply = ([list], meter) =>
  (list as readonly Int[]).reduce<Int>((total, value) => addInts(total, value, meter), 0);

export const sumOfFloats: Apply = ([list], meter) =>
  finite(
    (list as readonly Int[]).reduce<number>((total, value) => total + Number(value), 0),
    meter,
  );
