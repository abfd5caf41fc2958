import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node, type Scalar } from 'yaml';
import { offsetInSource } from './scalar-source.ts';
import type { SpecPath } from './spec-path.ts';

/** From 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** A YAML text that was read, and where in it each field is. */
export interface PlacedYaml {
  readonly value: unknown;
  /** Where the value of a field begins, or the field itself (`isKey`); of what isn't there: what it would be in. */
  place(path: SpecPath, isKey?: boolean): TextPlace;
  /** A place within the text of a field, as its reader counts lines and columns. */
  placeInside(path: SpecPath, inside: TextPlace): TextPlace;
}

export type YamlResult = PlacedYaml | { readonly problem: string; readonly place: TextPlace };

export function readYaml(text: string): YamlResult {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, merge: true, prettyErrors: false });
  const placeAt = (offset: number): TextPlace => {
    const { line, col } = lines.linePos(offset);
    // Of a text without anything in it: line 0.
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const [error] = document.errors;
  if (error !== undefined) return { problem: error.message, place: placeAt(error.pos[0]) };
  return {
    value: document.toJS(),
    place: (path, isKey = false) => placeAt(offsetOf(document, path, isKey)),
    placeInside: (path, inside) => {
      const node = nodeAt(document, path);
      const offset = isScalar(node) ? offsetInSource(text, node, inside) : undefined;
      return placeAt(offset ?? offsetOf(document, path, false));
    },
  };
}

function nodeAt(document: Document, path: SpecPath): Node | undefined {
  if (path.length === 0) return document.contents ?? undefined;
  const found: unknown = document.getIn(path, true);
  return found instanceof Object && 'range' in found ? (found as Node) : undefined;
}

function offsetOf(document: Document, path: SpecPath, isKey: boolean): number {
  const parent = path.length === 0 ? undefined : nodeAt(document, path.slice(0, -1));
  const key = isKey && isMap(parent) ? keyNode(parent.items, path.at(-1)) : undefined;
  const node = key ?? nodeAt(document, path);
  if (node?.range) return node.range[0];
  return path.length === 0 ? 0 : offsetOf(document, path.slice(0, -1), isSeq(parent));
}

function keyNode(pairs: readonly { readonly key: unknown }[], name: string | number | undefined): Scalar | undefined {
  const keys = pairs.map(({ key }) => key).filter((key): key is Scalar => isScalar(key));
  return keys.find((key) => String(key.value) === String(name));
}
