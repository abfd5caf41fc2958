import { checkField, checkIndex, checkSlice } from './check-access.ts';
import { chain, notNil, optional, refuse, type Checked, type Scope } from './checked.ts';
import { checkBinary, checkUnary } from './check-operator.ts';
import { functionNamed, functionNames } from './functions/functions.ts';
import { sumOfFloats, sumOfInts } from './numbers.ts';
import { limits } from './limits.ts';
import { needsBody, predicateNames, resultOf } from './predicates.ts';
import type { MapEntry, Node, PredicateNode } from './syntax.ts';
import { bool, describe, fits, int, listOf, never, record, unify, unifyAll } from './type.ts';

/** What each part does, and its type. Fails with `type`. */
export function check(node: Node, scope: Scope): Checked {
  const { at } = node;
  switch (node.kind) {
    case 'literal':
      return { code: { kind: 'constant', at, value: node.value }, type: node.type };
    case 'name':
      return checkName(node.name, at, scope);
    case 'element':
      return {
        code: { kind: 'element', at, part: node.part },
        type: node.part === 'index' ? int : (scope.element ?? never),
      };
    case 'list':
      return checkList(node.items, at, scope);
    case 'map':
      return checkMap(node.entries, at, scope);
    case 'unary':
      return checkUnary({ operator: node.operator, at, scope }, check(node.operand, scope));
    case 'binary':
      return checkBinary({ operator: node.operator, at, scope }, check(node.left, scope), check(node.right, scope));
    case 'choice':
      return checkChoice(node, scope);
    case 'field':
      return checkField(base(node, scope), node.name, at, scope);
    case 'index':
      return checkIndex(base(node, scope), check(node.index, scope), at, scope);
    case 'slice':
      return checkSlice(notNil(check(node.of, scope)), ifAny(node.from, scope), ifAny(node.to, scope), at, scope);
    case 'chain':
      return chain(check(node.of, scope));
    case 'call':
      return checkCall(node, scope);
    case 'predicate':
      return checkPredicate(node, scope);
  }
}

/** What a postfix is for. */
function base({ of, optional: isOptional }: Node & { kind: 'field' | 'index' }, scope: Scope): Checked {
  const checked = check(of, scope);
  return isOptional ? optional(checked) : notNil(checked);
}

function ifAny(node: Node | undefined, scope: Scope): Checked | undefined {
  return node && check(node, scope);
}

function checkName(name: string, at: number, scope: Scope): Checked {
  const type = Object.hasOwn(scope.names, name) ? scope.names[name] : undefined;
  if (type !== undefined) return { code: { kind: 'name', at, name }, type };
  const known = Object.keys(scope.names).join(', ');
  return refuse(scope, at, `unknown name "${name}"; the names of ${scope.subject} expressions are: ${known}`);
}

function checkList(nodes: readonly Node[], at: number, scope: Scope): Checked {
  const items = nodes.map((item) => check(item, scope));
  const type = unifyAll(items.map((item) => item.type));
  if (type === undefined) {
    const kinds = [...new Set(items.map((item) => describe(item.type)))].join(' and ');
    return refuse(scope, at, `the elements of a list are of one type, here they are ${kinds}`);
  }
  return { code: { kind: 'list', at, items: items.map(({ code }) => code) }, type: listOf(type) };
}

function checkMap(entries: readonly MapEntry[], at: number, scope: Scope): Checked {
  const twice = entries.find(({ key }, i) => entries.findIndex((other) => other.key === key) < i);
  if (twice !== undefined) refuse(scope, twice.at, `the map has "${twice.key}" twice`);
  const values = entries.map(({ key, value }) => [key, check(value, scope)] as const);
  const type = record('map', Object.fromEntries(values.map(([key, checked]) => [key, checked.type])));
  if (type.size > limits.fields)
    refuse(scope, at, `the map has more than ${limits.fields} fields, inner ones included`);
  return { code: { kind: 'map', at, entries: values.map(([key, { code }]) => [key, code]) }, type };
}

function checkChoice(node: Node & { kind: 'choice' }, scope: Scope): Checked {
  const when = notNil(check(node.when, scope));
  if (!fits(when.type, bool))
    refuse(scope, when.code.at, `what stands in front of "?" is bool, not ${describe(when.type)}`);
  const [then, otherwise] = [check(node.then, scope), check(node.otherwise, scope)];
  const type = unify(then.type, otherwise.type);
  if (type === undefined) {
    const kinds = `${describe(then.type)} and ${describe(otherwise.type)}`;
    return refuse(scope, node.at, `both sides of ":" are of one type, here they are ${kinds}`);
  }
  const code = { kind: 'choice', at: node.at, when: when.code, then: then.code, otherwise: otherwise.code } as const;
  return { code, type };
}

function checkCall({ name, args: nodes, at }: Node & { kind: 'call' }, scope: Scope): Checked {
  const rule = functionNamed(name);
  if (rule === undefined)
    return refuse(
      scope,
      at,
      `unknown function "${name}"; there are: ${[...functionNames, ...predicateNames].join(', ')}`,
    );
  const given = nodes.map((arg) => notNil(check(arg, scope)));
  const args = rule.reads === undefined ? given : [checkRead(rule.reads, name, at, scope), ...given];
  const overload = rule.resolve(args.map(({ type }) => type));
  if (overload === undefined) {
    const types = given.map(({ type }) => describe(type)).join(', ');
    return refuse(scope, at, `${rule.usage} can't be called with (${types})`);
  }
  return {
    code: { kind: 'apply', at, args: args.map(({ code }) => code), apply: overload.apply },
    type: overload.gives,
  };
}

/** What a function reads besides its arguments. */
function checkRead(read: string, name: string, at: number, scope: Scope): Checked {
  if (!Object.hasOwn(scope.names, read)) refuse(scope, at, `${name} is for expressions about instances`);
  return checkName(read, at, scope);
}

function checkPredicate({ name, list: listNode, body: bodyNode, at }: PredicateNode, scope: Scope): Checked {
  const list = notNil(check(listNode, scope));
  if (list.type.kind !== 'list') return refuse(scope, list.code.at, `${name} takes a list, not ${describe(list.type)}`);
  const { of } = list.type;
  if (bodyNode === undefined && needsBody(name)) refuse(scope, at, `${name} needs a condition: ${name}(list, # == …)`);
  const inner: Checked = bodyNode
    ? check(bodyNode, { ...scope, element: of })
    : { code: { kind: 'element', at, part: 'value' }, type: of };
  const body = name === 'map' ? inner : notNil(inner);
  const type = resultOf(name, of, body.type);
  if (type === undefined)
    return refuse(
      scope,
      body.code.at,
      `${name} needs a ${name === 'sum' ? 'number' : 'bool'} for each element, not ${describe(body.type)}`,
    );
  const walk = { kind: 'predicate', at, list: list.code, body: body.code } as const;
  if (name !== 'sum') return { code: { ...walk, name }, type };
  const apply = type.kind === 'float' ? sumOfFloats : sumOfInts;
  return { code: { kind: 'apply', at, args: [{ ...walk, name: 'map' }], apply }, type };
}
