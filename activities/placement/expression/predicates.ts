import { bool, int, isNumber, listOf, nullable, type Type } from './type.ts';

/** What a predicate gives for the type of the list's elements and that of its body; undefined where the body can't be so. */
type Gives = (element: Type, body: Type) => Type | undefined;

/** Of those whose body says yes or no. */
function whether(gives: (element: Type) => Type): Gives {
  return (element, body) => (body.kind === 'bool' ? gives(element) : undefined);
}

const predicates = {
  all: whether(() => bool),
  any: whether(() => bool),
  one: whether(() => bool),
  none: whether(() => bool),
  filter: whether((element) => listOf(element)),
  map: (_element, body) => listOf(body),
  count: whether(() => int),
  find: whether((element) => nullable(element)),
  findIndex: whether(() => nullable(int)),
  sum: (_element, body) => (body.kind === 'never' ? int : isNumber(body) ? body : undefined),
} satisfies Record<string, Gives>;

export type PredicateName = keyof typeof predicates;

/** Those whose body may be left out: the elements themselves are meant. */
const withoutBody: readonly PredicateName[] = ['count', 'sum'];

export function isPredicate(name: string): name is PredicateName {
  return Object.hasOwn(predicates, name);
}

export function needsBody(name: PredicateName): boolean {
  return !withoutBody.includes(name);
}

export function resultOf(name: PredicateName, element: Type, body: Type): Type | undefined {
  const gives: Gives = predicates[name];
  return gives(element, body);
}

/** Every name, for messages. */
export const predicateNames: readonly string[] = Object.keys(predicates);
