import { SaxesParser } from 'saxes';

import type { Field } from './field.ts';
import { field, rowOf } from './field.ts';
import type { Method, TypeName, TypeRow } from './table.ts';
import { operations, passedOn, subtypes } from './table.ts';

/** One element of a request. */
interface Element {
  readonly name: string;
  /** Attributes by qualified name. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Element[];
  text: string;
}

const isMethod = (name: string): name is Method => Object.hasOwn(operations, name);

function allowedTypes(base: string): readonly string[] {
  return [base, ...(subtypes[base as TypeName] ?? [])];
}

const textRules: Readonly<Record<string, RegExp>> = {
  int: /^-?\d+$/,
  long: /^-?\d+$/,
  boolean: /^(true|false)$/,
  dateTime: /^\d{4}-\d\d-\d\dT/,
};

function checkReference(element: Element, path: string): string[] {
  const problems: string[] = [];
  if (!element.attributes['type']) problems.push(`${path}: a reference needs the attribute type`);
  if (element.text === '') problems.push(`${path}: empty reference`);
  return problems;
}

function checkAny(element: Element, path: string): string[] {
  const type = element.attributes['xsi:type'];
  if (type === undefined) return [`${path}: anyType without xsi:type`];
  const row = rowOf(type);
  return row === undefined ? [] : checkChildren(element, row, path);
}

function checkOpen(element: Element, base: string, path: string): string[] {
  const type = element.attributes['xsi:type'];
  if (type === undefined) return [`${path}: ${base} needs xsi:type`];
  if (allowedTypes(base).includes(type)) return checkChildren(element, rowOf(type) ?? {}, path);
  return passedOn.includes(base as TypeName) && rowOf(type) === undefined ? [] : [`${path}: ${type} is no ${base}`];
}

function checkElement(element: Element, { type, open }: Field, path: string): string[] {
  if (type === 'ref') return checkReference(element, path);
  if (type === 'any') return checkAny(element, path);
  if (open) return checkOpen(element, type, path);
  const row = rowOf(type);
  if (row !== undefined) return checkChildren(element, row, path);
  if (element.children.length > 0) return [`${path}: a ${type} has no children`];
  return textRules[type]?.test(element.text) === false ? [`${path}: "${element.text}" is no ${type}`] : [];
}

function checkChildren(parent: Element, row: TypeRow, path: string): string[] {
  const problems: string[] = [];
  const order = Object.keys(row);
  const count = new Map<string, number>();
  let last = 0;
  for (const child of parent.children) {
    const at = order.indexOf(child.name);
    if (at < 0) {
      problems.push(`${path}: unknown element ${child.name}`);
      continue;
    }
    if (at < last) problems.push(`${path}: ${child.name} stands behind ${order[last] ?? ''}`);
    last = Math.max(last, at);
    count.set(child.name, (count.get(child.name) ?? 0) + 1);
    problems.push(...checkElement(child, field(row[child.name] ?? 'any'), `${path}/${child.name}`));
  }
  for (const [name, text] of Object.entries(row)) {
    const { occurs } = field(text);
    const seen = count.get(name) ?? 0;
    if (occurs === 'one' && seen === 0) problems.push(`${path}: ${name} is missing`);
    if (occurs !== 'many' && seen > 1) problems.push(`${path}: ${name} stands there ${seen} times`);
  }
  return problems;
}

/** Reads XML into elements by local name; `xsi:type` is normalised to that key and its prefix must be bound. */
function parse(xml: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const stack: Element[] = [root];
  const parser = new SaxesParser({ xmlns: true });
  parser.on('opentag', (tag) => {
    const attributes: Record<string, string> = {};
    for (const attribute of Object.values(tag.attributes)) {
      if (attribute.uri === 'http://www.w3.org/2001/XMLSchema-instance' && attribute.local === 'type') {
        const [prefix, local] = attribute.value.includes(':') ? attribute.value.split(':') : ['', attribute.value];
        const uri = parser.resolve(prefix ?? '');
        attributes['xsi:type'] = uri === 'urn:vim25' ? (local ?? '') : uri === undefined ? 'unbound' : attribute.value;
      } else attributes[attribute.name] = attribute.value;
    }
    const element: Element = { name: tag.local, attributes, children: [], text: '' };
    stack.at(-1)?.children.push(element);
    stack.push(element);
  });
  const addText = (text: string): void => {
    const top = stack.at(-1);
    if (top !== undefined) top.text += text;
  };
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.on('closetag', () => void stack.pop());
  parser.on('error', (error) => {
    throw error;
  });
  parser.write(xml).close();
  return root;
}

function find(element: Element, name: string): Element | undefined {
  if (element.name === name) return element;
  for (const child of element.children) {
    const found = find(child, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Checks a whole SOAP request against the table: order, occurrence, `xsi:type`, references, number formats. Returns the
 * problems found. Needed because the simulator accepts nearly everything and a real server does not.
 */
export function validateRequestXml(envelope: string): readonly string[] {
  const call = find(parse(envelope), 'Body')?.children[0];
  if (call === undefined) return ['no call in the body'];
  if (!isMethod(call.name)) return [`unknown method ${call.name}`];
  return checkChildren(call, operations[call.name].args, call.name);
}

function elementOf(name: string, value: unknown): Element {
  const element: Element = { name, attributes: {}, children: [], text: '' };
  if (typeof value !== 'object' || value === null) return { ...element, text: String(value) };
  for (const [key, item] of Object.entries(value)) {
    if (key === 'attributes') Object.assign(element.attributes, item);
    else if (key === '$value' || key === '$xml') element.text = String(item);
    else for (const one of [item].flat(1)) element.children.push(elementOf(key, one));
  }
  return element;
}

/** The same check on encoded arguments (see `encodeArgs`), cheap enough to run before every call in development. */
export function validateRequest(method: Method, encodedArgs: Readonly<Record<string, unknown>>): readonly string[] {
  return checkChildren(elementOf(method, encodedArgs), operations[method].args, method);
}
