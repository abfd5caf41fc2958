import { SaxesParser } from 'saxes';

/** An element of raw XML by offsets into the text. For `<a/>` `innerStart` and `innerEnd` equal `end`. */
export interface RawElement {
  readonly name: string;
  readonly local: string;
  readonly uri: string;
  readonly attributes: Readonly<
    Record<string, { readonly value: string; readonly local: string; readonly uri: string }>
  >;
  readonly selfClosing: boolean;
  readonly start: number;
  readonly innerStart: number;
  innerEnd: number;
  end: number;
  readonly children: RawElement[];
  /** Text and CDATA directly inside, decoded. */
  text: string;
  /** Namespace declarations in force from outside, prefix (`''` = default) → URI. */
  readonly inherited: Readonly<Record<string, string>>;
}

/**
 * Parses XML into elements that remember where they stand in the text, so that it can be cut and edited without rebuilding
 * anything. Throws on malformed input.
 */
export function parseRaw(xml: string): RawElement {
  const parser = new SaxesParser({ xmlns: true });
  const stack: RawElement[] = [];
  const scopes: Readonly<Record<string, string>>[] = [{}];
  let root: RawElement | undefined;
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', (tag) => {
    const innerStart = parser.position;
    const inherited = scopes.at(-1) ?? {};
    const element: RawElement = {
      name: tag.name,
      local: tag.local,
      uri: tag.uri,
      attributes: tag.attributes,
      selfClosing: tag.isSelfClosing,
      // A raw "<" can't stand inside a tag: the last one before its end opens it.
      start: xml.lastIndexOf('<', innerStart - 1),
      innerStart,
      innerEnd: innerStart,
      end: innerStart,
      children: [],
      text: '',
      inherited,
    };
    stack.at(-1)?.children.push(element);
    root ??= element;
    stack.push(element);
    scopes.push({ ...inherited, ...tag.ns });
  });
  const addText = (text: string): void => {
    const top = stack.at(-1);
    if (top !== undefined) top.text += text;
  };
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.on('closetag', () => {
    const element = stack.pop();
    scopes.pop();
    if (element === undefined || element.selfClosing) return;
    element.end = parser.position;
    element.innerEnd = xml.lastIndexOf('<', parser.position - 1);
  });
  parser.write(xml).close();
  if (root === undefined) throw new Error('the text holds no element');
  return root;
}

export function childrenNamed(parent: RawElement, local: string): readonly RawElement[] {
  return parent.children.filter((child) => child.local === local);
}

/** The declarations to add to a start tag so that `wanted` prefixes are bound there. */
export function missingDeclarations(element: RawElement, wanted: Readonly<Record<string, string>>): string {
  return Object.entries(wanted)
    .map(([prefix, uri]) => [prefix === '' ? 'xmlns' : `xmlns:${prefix}`, uri] as const)
    .filter(([attribute]) => element.attributes[attribute] === undefined)
    .map(
      ([attribute, uri]) =>
        ` ${attribute}="${uri.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')}"`,
    )
    .join('');
}

/**
 * Cuts the `importSpec` out of a raw answer to CreateImportSpec, byte for byte; only the namespace declarations of the
 * elements around it are added to its start tag. Undefined if the answer holds none.
 */
export function sliceImportSpec(body: string): string | undefined {
  const root = parseRaw(body);
  const spec = ['Body', 'CreateImportSpecResponse', 'returnval', 'importSpec'].reduce<RawElement | undefined>(
    (element, local) => element && childrenNamed(element, local)[0],
    root,
  );
  if (spec === undefined) return undefined;
  const nameEnd = spec.start + 1 + spec.name.length;
  const inherited = Object.fromEntries(Object.entries(spec.inherited).filter(([prefix]) => !prefix.startsWith('xml')));
  return body.slice(spec.start, nameEnd) + missingDeclarations(spec, inherited) + body.slice(nameEnd, spec.end);
}
