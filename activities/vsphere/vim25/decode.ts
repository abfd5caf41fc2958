import { field, rowOf } from './field.ts';
import type { TypeRow } from './table.ts';
import { arrayElements } from './table.ts';

/** A node as node-soap parsed it without a schema: text, nothing, a list, or an object with `attributes` and `$value`. */
type Parsed = unknown;
type ParsedObject = Readonly<Record<string, Parsed>>;

function isObject(value: Parsed): value is ParsedObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

function attributesOf(node: Parsed): Readonly<Record<string, unknown>> {
  const attributes = isObject(node) ? node['attributes'] : undefined;
  return isObject(attributes) ? attributes : {};
}

/** The local name in `xsi:type`, under whatever prefix the server bound. A reference's own `type` has no prefix. */
export function xsiType(node: Parsed): string | undefined {
  for (const [name, value] of Object.entries(attributesOf(node))) {
    if (name.includes(':') && localName(name) === 'type' && typeof value === 'string') return localName(value);
  }
  return undefined;
}

function textOf(node: Parsed): string {
  const plain = isObject(node) ? node['$value'] : node;
  return typeof plain === 'string' ? plain : '';
}

const asList = (node: Parsed): readonly Parsed[] =>
  node === undefined || node === null ? [] : Array.isArray(node) ? node : [node];

function number(text: string): number | string {
  const value = Number(text);
  return text !== '' && Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
    ? value
    : text;
}

/** Decoders of the primitive types, by the schema's names and ours. Whole numbers beyond 2^53 stay text. */
const primitives: Readonly<Record<string, (text: string) => unknown>> = {
  string: (text) => text,
  dateTime: (text) => text,
  anyURI: (text) => text,
  base64Binary: (text) => text,
  boolean: (text) => text.trim() === 'true' || text.trim() === '1',
  ...Object.fromEntries(
    ['int', 'long', 'short', 'byte', 'double', 'float', 'integer'].map((name) => [
      name,
      (text: string) => number(text.trim()),
    ]),
  ),
};

const decodeReference = (node: Parsed): { type: string; value: string } => ({
  type: textOf(attributesOf(node)['type']),
  value: textOf(node),
});

function decodeArray(arrayType: string, node: Parsed): readonly unknown[] {
  if (!isObject(node)) return [];
  const element = arrayElements[arrayType] ?? arrayType.slice('ArrayOf'.length);
  return Object.entries(node)
    .filter(([name]) => name !== 'attributes')
    .flatMap(([, items]) => asList(items).map((item) => decode(element, item)));
}

function decodeObject(node: Parsed, row: TypeRow, typeMark: string | undefined): Readonly<Record<string, unknown>> {
  const out: Record<string, unknown> = typeMark === undefined ? {} : { _type: typeMark };
  const source: ParsedObject = isObject(node) ? node : {};
  for (const [name, text] of Object.entries(row)) {
    const { type, occurs } = field(text);
    if (occurs === 'many') out[name] = asList(source[name]).map((item) => decode(type, item));
    else if (Object.hasOwn(source, name)) out[name] = decode(type, source[name]);
  }
  for (const [name, value] of Object.entries(source)) {
    if (name === 'attributes' || name === '$value' || Object.hasOwn(row, name)) continue;
    out[name] = Array.isArray(value) ? value.map((item) => decode('any', item)) : decode('any', value);
  }
  return out;
}

const hasChildren = (node: Parsed): boolean =>
  isObject(node) && Object.keys(node).some((name) => name !== 'attributes' && name !== '$value');

/**
 * Types one node of an answer. `declared` is a type of the table, a primitive, `ref` or `any`; an `xsi:type` on the node goes
 * first. Objects carry `_type` where their type differs from the declared one; unknown types are read as plain objects.
 */
export function decode(declared: string, node: Parsed): unknown {
  const actual = xsiType(node) ?? declared;
  if (actual === 'ref' || actual === 'ManagedObjectReference') return decodeReference(node);
  if (actual.startsWith('ArrayOf')) return decodeArray(actual, node);
  const primitive = Object.hasOwn(primitives, actual) ? primitives[actual] : undefined;
  if (primitive !== undefined) return primitive(textOf(node));
  const mark = actual === declared ? undefined : actual;
  const row = rowOf(actual) ?? rowOf(declared);
  if (row === undefined && !hasChildren(node)) {
    if (attributesOf(node)['type'] !== undefined) return decodeReference(node);
    return mark === undefined || textOf(node) !== '' ? textOf(node) : { _type: mark };
  }
  return decodeObject(node, row ?? {}, mark);
}

/** Types the `returnval` of an answer as the operation declares it; undefined for a nil answer. */
export function decodeReturn(returns: string | undefined, result: Parsed): unknown {
  if (returns === undefined) return undefined;
  const { type, occurs } = field(returns);
  const node = isObject(result) ? result['returnval'] : undefined;
  if (occurs === 'many') return asList(node).map((item) => decode(type, item));
  if (node === undefined || (node === null && occurs === 'optional')) return undefined;
  return decode(type, node);
}
