import { notNil, refuse, type Checked, type Scope } from './checked.ts';
import { equals, isIn, isKeyIn, range } from './comparing.ts';
import { limits } from './limits.ts';
import { matchesDynamic, matchesFixed } from './matches.ts';
import { binaryOperator, unaryOperator, type SpecialMeaning } from './operators.ts';
import { overloadFor, type Apply, type Overload } from './overload.ts';
import { compilePattern } from './re2-adapter.ts';
import { bool, describe, fits, int, listOf, present, string, unify, type Type } from './type.ts';
import { textOf } from './value.ts';

/** An operator in its place. */
interface Place {
  readonly operator: string;
  readonly at: number;
  readonly scope: Scope;
}

export function checkUnary(place: Place, given: Checked): Checked {
  const operand = notNil(given);
  const overload = overloadFor(unaryOperator(place.operator)?.overloads ?? [], [operand.type]);
  return overload === undefined ? refuseOperands(place, [operand.type]) : applied(place.at, overload, [operand]);
}

export function checkBinary(place: Place, left: Checked, right: Checked): Checked {
  const meaning = binaryOperator(place.operator)?.meaning ?? [];
  if (typeof meaning === 'string') return special[meaning](place, left, right);
  const operands = [notNil(left), notNil(right)];
  const types = operands.map(({ type }) => type);
  const overload = overloadFor(meaning, types);
  return overload === undefined ? refuseOperands(place, types) : applied(place.at, overload, operands);
}

type CheckSpecial = (place: Place, left: Checked, right: Checked) => Checked;

const special: Readonly<Record<SpecialMeaning, CheckSpecial>> = {
  and: (place, left, right) => logic('and', place, left, right),
  or: (place, left, right) => logic('or', place, left, right),
  equal: (place, left, right) => comparing(place, left, right, equals),
  unequal: (place, left, right) => comparing(place, left, right, (args, meter) => equals(args, meter) !== true),
  in: membership,
  matches,
  range: checkRange,
  coalesce,
};

function logic(kind: 'and' | 'or', place: Place, ...given: readonly [Checked, Checked]): Checked {
  const [left, right] = [notNil(given[0]), notNil(given[1])];
  if (!fits(left.type, bool) || !fits(right.type, bool)) return refuseOperands(place, [left.type, right.type]);
  return { code: { kind, at: place.at, left: left.code, right: right.code }, type: bool };
}

function comparing(place: Place, left: Checked, right: Checked, apply: Apply): Checked {
  if (unify(left.type, right.type) === undefined) return refuseOperands(place, [left.type, right.type]);
  return applied(place.at, { gives: bool, apply }, [left, right]);
}

function membership(place: Place, left: Checked, right: Checked): Checked {
  const within = notNil(right);
  if (within.type.kind === 'list' && unify(left.type, within.type.of) !== undefined)
    return applied(place.at, { gives: bool, apply: isIn }, [left, within]);
  const isMap = within.type.kind === 'texts' || within.type.kind === 'record';
  if (isMap && fits(present(left.type), string))
    return applied(place.at, { gives: bool, apply: isKeyIn }, [notNil(left), within]);
  return refuseOperands(place, [left.type, within.type]);
}

function matches(place: Place, left: Checked, right: Checked): Checked {
  const [text, pattern] = [notNil(left), notNil(right)];
  if (!fits(text.type, string) || !fits(pattern.type, string)) return refuseOperands(place, [text.type, pattern.type]);
  const { code } = pattern;
  if (code.kind !== 'constant') return applied(place.at, { gives: bool, apply: matchesDynamic }, [text, pattern]);
  const compiled = compilePattern(textOf(code.value));
  if (typeof compiled === 'string') return refuse(place.scope, code.at, compiled);
  return applied(place.at, { gives: bool, apply: matchesFixed(compiled) }, [text]);
}

function checkRange(place: Place, ...given: readonly [Checked, Checked]): Checked {
  const [from, to] = [notNil(given[0]), notNil(given[1])];
  if (!fits(from.type, int) || !fits(to.type, int)) return refuseOperands(place, [from.type, to.type]);
  if (from.code.kind === 'constant' && to.code.kind === 'constant') {
    const size = Number(to.code.value) - Number(from.code.value);
    if (size >= limits.steps) refuse(place.scope, place.at, `the list has more than ${limits.steps} elements`);
  }
  return applied(place.at, { gives: listOf(int), apply: range }, [from, to]);
}

function coalesce({ at, operator, scope }: Place, left: Checked, right: Checked): Checked {
  const type = unify(present(left.type), right.type);
  if (left.type.kind === 'nil') return right;
  if (type === undefined) return refuseOperands({ at, operator, scope }, [left.type, right.type]);
  return { code: { kind: 'coalesce', at, left: left.code, right: right.code }, type };
}

function applied(at: number, { gives, apply }: Pick<Overload, 'gives' | 'apply'>, args: readonly Checked[]): Checked {
  return { code: { kind: 'apply', at, args: args.map(({ code }) => code), apply }, type: gives };
}

function refuseOperands({ operator, at, scope }: Place, types: readonly Type[]): never {
  const [left = '', right] = types.map(describe);
  if (right === undefined) {
    const next = operator === '-' ? '' : ` (${operator} binds tighter than comparisons: put those into brackets)`;
    return refuse(scope, at, `"${operator}" has no meaning in front of ${left}${next}`);
  }
  return refuse(scope, at, `"${operator}" has no meaning between ${left} and ${right}`);
}
