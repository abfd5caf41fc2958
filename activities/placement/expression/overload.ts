import type { Meter } from './meter.ts';
import { fits, type Type } from './type.ts';
import type { Value } from './value.ts';

/** What an operator or function does with values of the types that it takes: casts in it hold. */
export type Apply = (args: readonly Value[], meter: Meter) => Value;

export interface Overload {
  readonly takes: readonly Type[];
  readonly gives: Type;
  readonly apply: Apply;
}

/** The first that takes arguments of these types. */
export function overloadFor(overloads: readonly Overload[], types: readonly Type[]): Overload | undefined {
  return overloads.find(
    ({ takes }) => takes.length === types.length && takes.every((wanted, i) => fits(types[i] ?? wanted, wanted)),
  );
}
