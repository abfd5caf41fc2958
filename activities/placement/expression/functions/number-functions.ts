import type { Meter } from '../meter.ts';
import { finite, largestInt, negateInt, normalInt, smallestInt, type Int } from '../numbers.ts';
import { bool, float, int, isNumber, nullable, string, type Type, unifyAll } from '../type.ts';
import { compare, isList, textOf, type Value } from '../value.ts';
import { byType, type FunctionRule } from './function-rule.ts';

export const numberFunctions: Readonly<Record<string, FunctionRule>> = {
  abs: byType(
    'abs(number)',
    { takes: [int], gives: int, apply: ([value], meter) => absolute(value as Int, meter) },
    { takes: [float], gives: float, apply: ([value]) => Math.abs(Number(value)) },
  ),
  int: byType(
    'int(number or text)',
    { takes: [int], gives: int, apply: ([value]) => value as Int },
    { takes: [float], gives: int, apply: ([value], meter) => wholeOf(Math.trunc(Number(value)), meter) },
    { takes: [string], gives: int, apply: ([value], meter) => intOf(textOf(value), meter) },
  ),
  float: byType(
    'float(number or text)',
    { takes: [float], gives: float, apply: ([value]) => Number(value) },
    { takes: [string], gives: float, apply: ([value], meter) => floatOf(textOf(value), meter) },
  ),
  string: byType(
    'string(bool, number or text)',
    { takes: [string], gives: string, apply: ([value]) => textOf(value) },
    { takes: [float], gives: string, apply: ([value]) => (value as Int).toString() },
    { takes: [bool], gives: string, apply: ([value]) => (value === true ? 'true' : 'false') },
  ),
  min: extreme('min(numbers or lists of numbers)', (order) => order < 0),
  max: extreme('max(numbers or lists of numbers)', (order) => order > 0),
};

/** Characters of a number in a text: the pattern for it may look at each of them many times. */
const longestNumber = 100;

function absolute(value: Int, meter: Meter): Int {
  return value < 0 ? negateInt(value, meter) : value;
}

function wholeOf(value: number, meter: Meter): Int {
  if (Number.isSafeInteger(value)) return value;
  return inRange(BigInt(value), meter);
}

function inRange(value: bigint, meter: Meter): Int {
  if (value > largestInt || value < smallestInt) meter.fail('runtime', "the number doesn't fit into 64 bits");
  return normalInt(value);
}

function intOf(text: string, meter: Meter): Int {
  if (!/^[+-]?\d{1,19}$/.test(text)) meter.fail('runtime', `"${shortened(text)}" is no integer`);
  return inRange(BigInt(text.replace('+', '')), meter);
}

function floatOf(text: string, meter: Meter): number {
  const isNumber = text.length <= longestNumber && /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text);
  if (!isNumber) meter.fail('runtime', `"${shortened(text)}" is no number`);
  return finite(Number(text), meter);
}

function shortened(text: string): string {
  return text.length > 50 ? `${text.slice(0, 50)}…` : text;
}

/** The smallest or largest of numbers and lists of numbers; nil when all there is are empty lists. */
function extreme(usage: string, isBetter: (order: number) => boolean): FunctionRule {
  return {
    usage,
    resolve: (types) => {
      const gives = unifyAll(types.map((type) => (type.kind === 'list' ? type.of : type)));
      if (types.length === 0 || gives === undefined || !isNumberOrNever(gives)) return undefined;
      const isNeverNil = types.some((type) => type.kind !== 'list');
      return { takes: types, gives: isNeverNil ? gives : nullable(gives), apply: (args, meter) => best(args, meter) };
    },
  };

  function best(args: readonly Value[], meter: Meter): Value {
    const all = args.flatMap((arg) => (isList(arg) ? arg : [arg])) as Int[];
    meter.charge(all.length);
    return all.reduce<Int | null>(
      (found, value) => (found === null || isBetter(compare(value, found)) ? value : found),
      null,
    );
  }
}

function isNumberOrNever(type: Type): boolean {
  return isNumber(type) || type.kind === 'never';
}
