import type { Meter } from './meter.ts';
import { addInts, divide, finite, multiplyInts, negateInt, remainderOf, subtractInts, type Int } from './numbers.ts';
import type { Overload } from './overload.ts';
import { bool, duration, float, int, string, time, type Type } from './type.ts';
import { compare, type Value } from './value.ts';

/** Operators whose types follow from their operands, not from a list: the checker knows each. */
export type SpecialMeaning = 'and' | 'or' | 'equal' | 'unequal' | 'in' | 'matches' | 'range' | 'coalesce';

export interface BinaryOperator {
  /** Higher binds tighter. */
  readonly precedence: number;
  readonly rightToLeft?: true;
  /** `not` may stand in front: `a not in b`. */
  readonly negatable?: true;
  readonly meaning: SpecialMeaning | readonly Overload[];
}

export interface UnaryOperator {
  readonly precedence: number;
  readonly overloads: readonly Overload[];
}

function two(left: Type, right: Type, gives: Type, apply: (a: never, b: never, meter: Meter) => Value): Overload {
  return { takes: [left, right], gives, apply: ([a, b], meter) => apply(a as never, b as never, meter) };
}

const plusMs = (a: number, b: number): number => a + b;
const minusMs = (a: number, b: number): number => a - b;
const timesMs = (a: Int, b: Int, meter: Meter): number => finite(Number(a) * Number(b), meter);

const plus: readonly Overload[] = [
  two(int, int, int, addInts),
  two(float, float, float, (a: Int, b: Int, meter) => finite(Number(a) + Number(b), meter)),
  two(string, string, string, (a: string, b: string, meter) => {
    meter.chargeMade(a.length + b.length);
    return a + b;
  }),
  two(time, duration, time, plusMs),
  two(duration, time, time, plusMs),
  two(duration, duration, duration, plusMs),
];

const minus: readonly Overload[] = [
  two(int, int, int, subtractInts),
  two(float, float, float, (a: Int, b: Int, meter) => finite(Number(a) - Number(b), meter)),
  two(time, time, duration, minusMs),
  two(time, duration, time, minusMs),
  two(duration, duration, duration, minusMs),
];

const times: readonly Overload[] = [
  two(int, int, int, multiplyInts),
  two(float, float, float, (a: Int, b: Int, meter) => finite(Number(a) * Number(b), meter)),
  two(duration, float, duration, timesMs),
  two(float, duration, duration, timesMs),
];

const power = [two(float, float, float, (a: Int, b: Int, meter) => finite(Number(a) ** Number(b), meter))];

function comparison(holds: (order: number) => boolean): readonly Overload[] {
  return [float, string, time, duration].map((type) =>
    two(type, type, bool, (a: Int | string, b: Int | string, meter) => {
      if (typeof a === 'string') meter.chargeText(a.length);
      return holds(compare(a, b));
    }),
  );
}

function onTexts(apply: (text: string, part: string) => boolean): readonly Overload[] {
  return [
    two(string, string, bool, (text: string, part: string, meter) => {
      meter.chargeSearch(text.length, part.length);
      return apply(text, part);
    }),
  ];
}

/** The one table of operators. Precedences are those of the language that batches were written in before. */
const binary: Readonly<Record<string, BinaryOperator>> = {
  or: { precedence: 10, meaning: 'or' },
  '||': { precedence: 10, meaning: 'or' },
  and: { precedence: 15, meaning: 'and' },
  '&&': { precedence: 15, meaning: 'and' },
  '==': { precedence: 20, meaning: 'equal' },
  '!=': { precedence: 20, meaning: 'unequal' },
  '<': { precedence: 20, meaning: comparison((order) => order < 0) },
  '<=': { precedence: 20, meaning: comparison((order) => order <= 0) },
  '>': { precedence: 20, meaning: comparison((order) => order > 0) },
  '>=': { precedence: 20, meaning: comparison((order) => order >= 0) },
  in: { precedence: 20, negatable: true, meaning: 'in' },
  matches: { precedence: 20, negatable: true, meaning: 'matches' },
  contains: { precedence: 20, negatable: true, meaning: onTexts((text, part) => text.includes(part)) },
  startsWith: { precedence: 20, negatable: true, meaning: onTexts((text, part) => text.startsWith(part)) },
  endsWith: { precedence: 20, negatable: true, meaning: onTexts((text, part) => text.endsWith(part)) },
  '..': { precedence: 25, meaning: 'range' },
  '+': { precedence: 30, meaning: plus },
  '-': { precedence: 30, meaning: minus },
  '*': { precedence: 60, meaning: times },
  '/': { precedence: 60, meaning: [two(float, float, float, divide)] },
  '%': { precedence: 60, meaning: [two(int, int, int, remainderOf)] },
  '**': { precedence: 100, rightToLeft: true, meaning: power },
  '^': { precedence: 100, rightToLeft: true, meaning: power },
  '??': { precedence: 500, meaning: 'coalesce' },
};

const negation: UnaryOperator = {
  precedence: 50,
  overloads: [{ takes: [bool], gives: bool, apply: ([value]) => value !== true }],
};

const unary: Readonly<Record<string, UnaryOperator>> = {
  not: negation,
  '!': negation,
  '-': {
    precedence: 90,
    overloads: [
      { takes: [int], gives: int, apply: ([value], meter) => negateInt(value as Int, meter) },
      { takes: [float], gives: float, apply: ([value]) => -Number(value) },
      { takes: [duration], gives: duration, apply: ([value]) => -Number(value) },
    ],
  },
};

export function binaryOperator(text: string): BinaryOperator | undefined {
  return Object.hasOwn(binary, text) ? binary[text] : undefined;
}

export function unaryOperator(text: string): UnaryOperator | undefined {
  return Object.hasOwn(unary, text) ? unary[text] : undefined;
}

const all = [...Object.keys(binary), ...Object.keys(unary)];

export function isOperatorWord(word: string): boolean {
  return all.includes(word);
}

/** Signs as the lexer looks for them: the longest first. The last line is punctuation. */
export const operatorSigns: readonly string[] = [
  ...all.filter((operator) => !/^\w/.test(operator)),
  ...['?', '?.', '.', ',', ':', '#', '|', ';'],
].sort((a, b) => b.length - a.length);
