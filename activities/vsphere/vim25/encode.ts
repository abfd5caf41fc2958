import { VSphereError } from '../faults.ts';
import { field, rowOf } from './field.ts';
import type { Field } from './field.ts';
import type { Method, TypeRow } from './table.ts';
import { operations } from './table.ts';

/** An argument object for node-soap: `attributes`, `$value` and `$xml` have their special meaning there. */
export type SoapNode = Record<string, unknown>;

const xsd = 'http://www.w3.org/2001/XMLSchema';
const notXml = /[^\t\n\r -\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

function complain(message: string, method: string): never {
  throw new VSphereError('PROTOCOL', message, { kind: 'transport', method, message });
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#xD;' };

/** Escapes text for element content. Throws when it holds a character that XML can't carry. */
export function xmlText(text: string, method: string): string {
  if (notXml.test(text)) complain(`A text for ${method} holds a control character that XML can't carry.`, method);
  return text.replace(/[&<>\r]/g, (char) => escapes[char] ?? char);
}

/** The content of a text element. node-soap would pass text that looks like CDATA on unescaped. */
function textContent(value: string, method: string): SoapNode {
  const escaped = xmlText(value, method);
  return value.startsWith('<![CDATA[') ? { $xml: escaped } : { $value: value };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function xsdType(value: string | number | boolean): string {
  if (typeof value === 'string') return 'xsd:string';
  if (typeof value === 'boolean') return 'xsd:boolean';
  return Number.isInteger(value) ? (Math.abs(value) < 2 ** 31 ? 'xsd:int' : 'xsd:long') : 'xsd:double';
}

/** `anyType`: the server stores an untyped value as empty, and a prefix that is not bound drops it in silence. */
function encodeAny(value: unknown, method: string): unknown {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return {
      attributes: { 'xsi:type': xsdType(value), 'xmlns:xsd': xsd },
      ...textContent(String(value), method),
    };
  }
  if (!isObject(value)) return complain(`${method} was given a value of no known type.`, method);
  const type = value['_type'];
  if (typeof type !== 'string') return complain(`${method} was given an object without its type.`, method);
  return { attributes: { 'xsi:type': type }, ...encodeRow(rowOf(type) ?? {}, value, method) };
}

function encodeReference(value: unknown, method: string): SoapNode {
  if (!isObject(value) || typeof value['type'] !== 'string' || typeof value['value'] !== 'string') {
    return complain(`${method} was given something else where a managed object reference belongs.`, method);
  }
  return { attributes: { type: value['type'] }, $value: value['value'] };
}

function encodeOne({ type, open }: Field, value: unknown, method: string): unknown {
  if (type === 'any') return encodeAny(value, method);
  if (type === 'ref') return encodeReference(value, method);
  const row = rowOf(type);
  if (row === undefined) {
    return typeof value === 'string' ? textContent(value, method) : String(value);
  }
  if (!isObject(value)) return complain(`${method} was given no ${type} where one belongs.`, method);
  if (!open) return encodeRow(row, value, method);
  const given = value['_type'];
  const actual = typeof given === 'string' ? given : type;
  return { attributes: { 'xsi:type': actual }, ...encodeRow(rowOf(actual) ?? row, value, method) };
}

function encodeField(text: string, value: unknown, method: string): unknown {
  const described = field(text);
  return described.occurs === 'many' && Array.isArray(value)
    ? value.map((item) => encodeOne(described, item, method))
    : encodeOne(described, value, method);
}

/** Fields in the table's order; fields of a newer server follow at the end, where later schemas add theirs. */
function encodeRow(row: TypeRow, value: Readonly<Record<string, unknown>>, method: string): SoapNode {
  const out: SoapNode = {};
  for (const [name, text] of Object.entries(row)) {
    const given = value[name];
    if (given === undefined || (Array.isArray(given) && given.length === 0)) continue;
    out[name] = encodeField(text, given, method);
  }
  for (const [name, given] of Object.entries(value)) {
    if (name === '_type' || Object.hasOwn(row, name) || given === undefined) continue;
    out[name] = isObject(given) ? encodeRow({}, given, method) : given;
  }
  return out;
}

/**
 * Turns plain arguments (`{ type, value }` for references, `_type` where the schema is open) into node-soap's form, in the
 * order of the schema and with the types that the schema wants.
 */
export function encodeArgs(method: Method, args: Readonly<Record<string, unknown>>): SoapNode {
  return encodeRow(operations[method].args, args, method);
}
