import type { Meter } from '../meter.ts';
import type { Overload } from '../overload.ts';
import { int, listOf, nullable, string, type Type, unifyAll } from '../type.ts';
import { isList, textOf, type Value, type ValueMap } from '../value.ts';
import type { FunctionRule } from './function-rule.ts';
import { characters } from './text-functions.ts';

export const listFunctions: Readonly<Record<string, FunctionRule>> = {
  len: { usage: 'len(text, list or map)', resolve: ([type, ...rest]) => onlyOne(rest, lengthOf(type)) },
  first: {
    usage: 'first(list)',
    resolve: ([type, ...rest]) =>
      onlyOne(
        rest,
        element(type, (list) => list[0]),
      ),
  },
  last: {
    usage: 'last(list)',
    resolve: ([type, ...rest]) =>
      onlyOne(
        rest,
        element(type, (list) => list.at(-1)),
      ),
  },
  keys: {
    usage: 'keys(map)',
    resolve: ([type, ...rest]) =>
      onlyOne(
        rest,
        parts(type, () => string, Object.keys),
      ),
  },
  values: { usage: 'values(map)', resolve: ([type, ...rest]) => onlyOne(rest, parts(type, valueType, Object.values)) },
};

function onlyOne(rest: readonly Type[], overload: Overload | undefined): Overload | undefined {
  return rest.length === 0 ? overload : undefined;
}

function lengthOf(type: Type | undefined): Overload | undefined {
  switch (type?.kind) {
    case 'string':
      return { takes: [type], gives: int, apply: ([text], meter) => characters(textOf(text), meter) };
    case 'list':
      return { takes: [type], gives: int, apply: ([list]) => (list as readonly Value[]).length };
    case 'texts':
    case 'record':
      return { takes: [type], gives: int, apply: ([map]) => Object.keys(map as ValueMap).length };
    default:
      return undefined;
  }
}

function element(type: Type | undefined, pick: (list: readonly Value[]) => Value | undefined): Overload | undefined {
  if (type?.kind !== 'list') return undefined;
  const apply = ([list]: readonly Value[]): Value =>
    (list !== undefined && list !== null && isList(list) && pick(list)) ?? null;
  return { takes: [type], gives: nullable(type.of), apply };
}

/** The keys or values of a map. */
function parts(
  type: Type | undefined,
  typeOf: (map: Type & { kind: 'texts' | 'record' }) => Type | undefined,
  take: (map: ValueMap) => Value[],
): Overload | undefined {
  if (type?.kind !== 'texts' && type?.kind !== 'record') return undefined;
  const of = typeOf(type);
  if (of === undefined) return undefined;
  const apply = ([map]: readonly Value[], meter: Meter): Value => {
    const found = take(map as ValueMap);
    meter.charge(found.length);
    return found;
  };
  return { takes: [type], gives: listOf(of), apply };
}

function valueType(map: Type & { kind: 'texts' | 'record' }): Type | undefined {
  return map.kind === 'texts' ? string : unifyAll(Object.values(map.fields));
}
