import { notNil, refuse, type Checked, type Scope } from './checked.ts';
import { describe, fieldOf, listOf, nullable, string, unifyAll, type RecordType } from './type.ts';
import { textOf, type Value } from './value.ts';
import type { Apply } from './overload.ts';

/** `of.name` */
export function checkField({ code: of, type }: Checked, name: string, at: number, scope: Scope): Checked {
  const key = { kind: 'constant', at, value: name } as const;
  if (type.kind === 'texts') return { code: { kind: 'entry', at, of, key, missing: '' }, type: string };
  if (type.kind !== 'record') return refuse(scope, at, `there is no .${name} in a value of type ${describe(type)}`);
  const field = fieldOf(type, name);
  if (field === undefined)
    return refuse(scope, at, `a ${type.title} has no field "${name}"; it has: ${Object.keys(type.fields).join(', ')}`);
  return { code: { kind: 'entry', at, of, key, missing: null }, type: field };
}

/** `of[index]` */
export function checkIndex(of: Checked, given: Checked, at: number, scope: Scope): Checked {
  const index = notNil(given);
  const isText = index.type.kind === 'string';
  switch (of.type.kind) {
    case 'list':
      if (index.type.kind !== 'int') return refuseIndex(of, index, 'int', scope);
      return { code: { kind: 'item', at, of: of.code, index: index.code }, type: of.type.of };
    case 'texts':
      if (!isText) return refuseIndex(of, index, 'string', scope);
      return { code: { kind: 'entry', at, of: of.code, key: index.code, missing: '' }, type: string };
    case 'record':
      if (!isText) return refuseIndex(of, index, 'string', scope);
      if (index.code.kind === 'constant') return checkField(of, textOf(index.code.value), at, scope);
      return checkComputedField(of, of.type, index, at, scope);
    case 'string':
      return refuse(scope, at, 'a character of a text is text[0:1]');
    default:
      return refuse(scope, at, `there is no [ ] in a value of type ${describe(of.type)}`);
  }
}

function refuseIndex({ type }: Checked, index: Checked, wanted: string, scope: Scope): never {
  return refuse(scope, index.code.at, `the index of a ${describe(type)} is ${wanted}, not ${describe(index.type)}`);
}

function checkComputedField(of: Checked, type: RecordType, index: Checked, at: number, scope: Scope): Checked {
  const field = unifyAll(Object.values(type.fields));
  if (field === undefined)
    return refuse(scope, index.code.at, `the fields of a ${type.title} have different types: write which one is meant`);
  return { code: { kind: 'entry', at, of: of.code, key: index.code, missing: null }, type: nullable(field) };
}

/** `of[from:to]`; places beyond the ends mean the ends. */
export function checkSlice(
  of: Checked,
  from: Checked | undefined,
  to: Checked | undefined,
  at: number,
  scope: Scope,
): Checked {
  if (of.type.kind !== 'list' && of.type.kind !== 'string')
    return refuse(scope, at, `there is no [from:to] in a value of type ${describe(of.type)}`);
  const [start, end] = [from, to].map((given) => {
    const place = given && notNil(given);
    if (place !== undefined && place.type.kind !== 'int') refuseIndex(of, place, 'int', scope);
    return place?.code ?? ({ kind: 'constant', at, value: null } as const);
  });
  const args = [of.code, ...(start && end ? [start, end] : [])];
  const type = of.type.kind === 'list' ? listOf(of.type.of) : string;
  return { code: { kind: 'apply', at, args, apply: of.type.kind === 'list' ? sliceList : sliceText }, type };
}

const sliceList: Apply = ([list, from, to], meter) => {
  const items = list as readonly Value[];
  meter.charge(items.length);
  return items.slice(...bounds(from, to));
};

const sliceText: Apply = ([text, from, to], meter) => {
  const chars = [...textOf(text)];
  meter.chargeText(textOf(text).length);
  return chars.slice(...bounds(from, to)).join('');
};

function bounds(from: Value | undefined, to: Value | undefined): [number, number | undefined] {
  return [Number(from ?? 0), to === null || to === undefined ? undefined : Number(to)];
}
