import { SaxesParser } from 'saxes';

import { SourceError } from './source-error.ts';

export interface XmlAttribute {
  readonly local: string;
  readonly uri: string;
  readonly value: string;
}

export interface XmlElement {
  readonly local: string;
  readonly uri: string;
  readonly attributes: readonly XmlAttribute[];
  readonly children: readonly XmlElement[];
  /** Character data directly inside, trimmed. */
  readonly text: string;
}

/** Deeper nesting than any descriptor has; bounds what a hostile one costs. */
const maxDepth = 100;

/** The descriptor as text: UTF-8 without byte order mark. Fails with `OVF_XML` when it is, or says it is, anything else. */
export function decodeDescriptor(bytes: Uint8Array): string {
  const declared = /^(?:\uFEFF)?<\?xml[^>]*?\bencoding\s*=\s*["']([^"']*)["']/.exec(
    new TextDecoder('latin1').decode(bytes.subarray(0, 256)).replace(/^ï»¿/, ''),
  )?.[1];
  if (declared !== undefined && !['utf-8', 'utf8', 'us-ascii', 'ascii'].includes(declared.toLowerCase())) {
    throw new SourceError('OVF_XML', `the descriptor declares the encoding "${declared}"; only UTF-8 can be imported`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SourceError('OVF_XML', 'the descriptor is not encoded in UTF-8', { cause });
  }
}

/** Parses a document strictly, with namespaces. Entities are never expanded: a document type declaration is refused. */
export function parseXml(text: string): XmlElement {
  const parser = new SaxesParser({ xmlns: true });
  const open: MutableElement[] = [{ local: '', uri: '', attributes: [], children: [], text: '' }];
  const top = (): MutableElement => open[open.length - 1] as MutableElement;
  parser.on('error', (error) => {
    throw new SourceError('OVF_XML', `the descriptor is not well-formed XML: ${error.message}`, { cause: error });
  });
  parser.on('doctype', () => {
    throw new SourceError('OVF_XML', 'the descriptor has a document type declaration, which is never read');
  });
  parser.on('opentag', (tag) => {
    if (open.length > maxDepth) {
      throw new SourceError('OVF_XML', `the descriptor nests elements deeper than ${String(maxDepth)} levels`);
    }
    const attributes = Object.values(tag.attributes).map(({ local, uri, value }) => ({ local, uri, value }));
    const element: MutableElement = { local: tag.local, uri: tag.uri, attributes, children: [], text: '' };
    top().children.push(element);
    open.push(element);
  });
  const append = (data: string): void => void (top().text += data);
  parser.on('text', append);
  parser.on('cdata', append);
  parser.on('closetag', () => {
    const element = open.pop();
    if (element !== undefined) element.text = element.text.trim();
  });
  parser.write(text).close();
  const root = open[0]?.children[0];
  if (root === undefined) throw new SourceError('OVF_XML', 'the descriptor has no root element');
  return root;
}

interface MutableElement extends XmlElement {
  children: MutableElement[];
  text: string;
}

export const childrenNamed = (element: XmlElement | undefined, local: string): XmlElement[] =>
  element?.children.filter((child) => child.local === local) ?? [];

export const childNamed = (element: XmlElement | undefined, local: string): XmlElement | undefined =>
  element?.children.find((child) => child.local === local);

/** Text of a child; undefined when the child is absent or blank. */
export const childText = (element: XmlElement | undefined, local: string): string | undefined =>
  childNamed(element, local)?.text || undefined;

/** Value of an attribute whatever its namespace prefix, as servers read descriptors; the element's own namespace goes first. */
export function attribute(element: XmlElement, local: string): string | undefined {
  const named = element.attributes.filter((candidate) => candidate.local === local);
  return (named.find((candidate) => candidate.uri === element.uri) ?? named[0])?.value;
}

/** All elements below `element`, itself included. */
export function* descendants(element: XmlElement): Generator<XmlElement, void, undefined> {
  yield element;
  for (const child of element.children) yield* descendants(child);
}
