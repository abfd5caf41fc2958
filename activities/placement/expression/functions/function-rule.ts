import { overloadFor, type Apply, type Overload } from '../overload.ts';
import type { Type } from '../type.ts';

export interface FunctionRule {
  /** How it is called, for messages: `split(text, separator, most?)`. */
  readonly usage: string;
  /** A name of the environment that it reads besides its arguments; passed as the first one. */
  readonly reads?: string;
  /** What it does with arguments of these types, none of which is nullable; undefined where it takes no such. */
  readonly resolve: (types: readonly Type[]) => Overload | undefined;
}

/** A function of certain types. The last ones may be left out down to `least` of them. */
export function fixed(
  usage: string,
  takes: readonly Type[],
  gives: Type,
  apply: Apply,
  least: number = takes.length,
): FunctionRule {
  const overloads = takes
    .map((_, i) => i + 1)
    .concat(takes.length === 0 ? [0] : [])
    .filter((count) => count >= least)
    .map((count): Overload => ({ takes: takes.slice(0, count), gives, apply }));
  return { usage, resolve: (types) => overloadFor(overloads, types) };
}

/** A function that does something else for each type of its one argument. */
export function byType(usage: string, ...overloads: readonly Overload[]): FunctionRule {
  return { usage, resolve: (types) => overloadFor(overloads, types) };
}
