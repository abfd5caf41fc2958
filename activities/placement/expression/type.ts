/** Static types. Everything about a record is known before there is one, so what can't work is refused when it is written. */
export type Type =
  | { readonly kind: 'bool' | 'int' | 'float' | 'string' | 'time' | 'duration' | 'nil' | 'never' }
  | { readonly kind: 'nullable'; readonly of: Type }
  | { readonly kind: 'list'; readonly of: Type }
  /** From texts to texts; a key that is not there reads as "". */
  | { readonly kind: 'texts' }
  | RecordType;

export interface RecordType {
  readonly kind: 'record';
  readonly title: string;
  readonly fields: Readonly<Record<string, Type>>;
  /** Fields in all, those of inner records included: types are compared field by field. */
  readonly size: number;
}

export const bool: Type = { kind: 'bool' };
export const int: Type = { kind: 'int' };
export const float: Type = { kind: 'float' };
export const string: Type = { kind: 'string' };
export const time: Type = { kind: 'time' };
export const duration: Type = { kind: 'duration' };
export const nil: Type = { kind: 'nil' };
export const texts: Type = { kind: 'texts' };
/** Of the elements of an empty list: fits everything. */
export const never: Type = { kind: 'never' };

export function listOf(of: Type): Type {
  return { kind: 'list', of };
}

export function record(title: string, fields: Readonly<Record<string, Type>>): RecordType {
  return { kind: 'record', title, fields, size: Object.values(fields).reduce((sum, type) => sum + sizeOf(type), 0) };
}

function sizeOf(type: Type): number {
  if (type.kind === 'record') return 1 + type.size;
  return type.kind === 'list' || type.kind === 'nullable' ? sizeOf(type.of) : 1;
}

export function nullable(of: Type): Type {
  return of.kind === 'nil' || of.kind === 'nullable' ? of : { kind: 'nullable', of };
}

/** The type without nil. */
export function present(type: Type): Type {
  return type.kind === 'nullable' ? type.of : type;
}

export function isNumber({ kind }: Type): boolean {
  return kind === 'int' || kind === 'float';
}

/** The type of a field of a record; undefined where it has none of that name. */
export function fieldOf(type: RecordType, name: string): Type | undefined {
  return Object.hasOwn(type.fields, name) ? type.fields[name] : undefined;
}

/** The type that both fit into; undefined where there is none. */
export function unify(a: Type, b: Type): Type | undefined {
  if (a.kind === 'never') return b;
  if (b.kind === 'never') return a;
  if (a.kind === 'nil') return nullable(b);
  if (b.kind === 'nil') return nullable(a);
  if (a.kind === 'nullable' || b.kind === 'nullable') {
    const inner = unify(present(a), present(b));
    return inner === undefined ? undefined : nullable(inner);
  }
  if (isNumber(a) && isNumber(b)) return a.kind === b.kind ? a : float;
  if (a.kind === 'list' && b.kind === 'list') {
    const of = unify(a.of, b.of);
    return of === undefined ? undefined : listOf(of);
  }
  if (a.kind === 'record' && b.kind === 'record') return unifyRecords(a, b);
  return a.kind === b.kind ? a : undefined;
}

export function unifyAll(types: readonly Type[]): Type | undefined {
  return types.reduce<Type | undefined>((all, type) => all && unify(all, type), never);
}

/** Whether a value of this type can be used where the other is asked for. */
export function fits(type: Type, wanted: Type): boolean {
  const both = unify(type, wanted);
  return both !== undefined && describe(both) === describe(wanted);
}

/** The type as people read it. */
export function describe(type: Type): string {
  switch (type.kind) {
    case 'nullable':
      return `${describe(type.of)} or nil`;
    case 'list':
      return type.of.kind === 'never' ? 'empty list' : `list of ${describe(type.of)}`;
    case 'texts':
      return 'map of strings';
    case 'record':
      return type.title;
    default:
      return type.kind;
  }
}

function unifyRecords(a: RecordType, b: RecordType): Type | undefined {
  if (a === b) return a;
  const names = Object.keys(a.fields);
  if (names.length !== Object.keys(b.fields).length) return undefined;
  const fields: [string, Type][] = [];
  for (const name of names) {
    const [left, right] = [fieldOf(a, name), fieldOf(b, name)];
    const type = left && right && unify(left, right);
    if (type === undefined) return undefined;
    fields.push([name, type]);
  }
  return record(a.title, Object.fromEntries(fields));
}
