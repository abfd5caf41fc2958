import { VSphereError } from './faults.ts';
import type { RawElement } from './import-spec-slice.ts';
import { childrenNamed, missingDeclarations, parseRaw } from './import-spec-slice.ts';
import type { ImportSpecEdits } from './port.ts';
import { xmlText } from './vim25/encode.ts';
import { types } from './vim25/table.ts';

const vim = 'urn:vim25';
const xsi = 'http://www.w3.org/2001/XMLSchema-instance';
const xsd = 'http://www.w3.org/2001/XMLSchema';

interface Replacement {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Elements of a VM's configSpec that must stand behind `extraConfig`. */
const configSpecOrder: readonly string[] = Object.keys(types.VirtualMachineConfigSpec);
const behindExtraConfig = new Set(configSpecOrder.slice(configSpecOrder.indexOf('extraConfig') + 1));

function fail(why: string): never {
  const message = `The import spec of vCenter can't be edited: ${why}.`;
  throw new VSphereError('PROTOCOL', message, { kind: 'transport', method: 'ImportVApp', message });
}

function parse(xml: string): RawElement {
  try {
    return parseRaw(xml);
  } catch (error) {
    return fail(error instanceof Error ? error.message : 'it is not well-formed');
  }
}

/** Complete in itself, whatever prefixes the spec around it uses. */
function optionXml([key, value]: readonly [string, string]): string {
  const text = (content: string): string => xmlText(content, 'ImportVApp');
  return (
    `<extraConfig xmlns="${vim}" xmlns:xsi="${xsi}" xmlns:xsd="${xsd}" xsi:type="OptionValue">` +
    `<key>${text(key)}</key><value xsi:type="xsd:string">${text(value)}</value></extraConfig>`
  );
}

function insertOptions(spec: RawElement, xml: string, options: ReadonlyMap<string, string>): readonly Replacement[] {
  if (options.size === 0) return [];
  const configSpec = childrenNamed(spec, 'configSpec')[0] ?? fail('it has no configSpec');
  const text = [...options].map(optionXml).join('');
  if (configSpec.selfClosing) {
    const slash = xml.lastIndexOf('/', configSpec.end);
    return [{ from: slash, to: configSpec.end, text: `>${text}</${configSpec.name}>` }];
  }
  const last = childrenNamed(configSpec, 'extraConfig').at(-1);
  const follower = configSpec.children.find((child) => behindExtraConfig.has(child.local));
  const at = last?.end ?? follower?.start ?? configSpec.innerEnd;
  return [{ from: at, to: at, text }];
}

const localType = (element: RawElement): string => {
  const mark = Object.values(element.attributes).find(({ uri, local }) => uri === xsi && local === 'type');
  return mark?.value.split(':').at(-1) ?? '';
};

/** `[datastore] directory/file.vmdk` */
const belowDirectory = /^\s*\[[^\]]*\][^/]*\//;

/**
 * An empty name lets the server pick a free one. A named directory would be the temporary VM's, which a rename does not move:
 * the next import under the same name would meet the files of this one.
 */
function emptyDiskNames(spec: RawElement): readonly Replacement[] {
  return childrenNamed(spec, 'configSpec')
    .flatMap((configSpec) => childrenNamed(configSpec, 'deviceChange'))
    .filter((change) => childrenNamed(change, 'operation').some(({ text }) => text.trim() === 'add'))
    .flatMap((change) => childrenNamed(change, 'device'))
    .filter((device) => localType(device) === 'VirtualDisk')
    .flatMap((disk) => childrenNamed(disk, 'backing'))
    .flatMap((backing) => childrenNamed(backing, 'fileName'))
    .filter(({ text }) => belowDirectory.test(text))
    .map(({ innerStart, innerEnd }) => ({ from: innerStart, to: innerEnd, text: '' }));
}

/** Renames the element to `spec` and binds the namespaces that its content may lean on. */
function renameRoot(spec: RawElement, xml: string): readonly Replacement[] {
  const prefix = spec.name.slice(0, spec.name.length - spec.local.length);
  const nameStart = spec.start + 1;
  const nameEnd = nameStart + spec.name.length;
  const declarations = missingDeclarations(spec, { '': vim, xsi, xsd });
  const opening = { from: nameStart, to: nameEnd, text: `${prefix}spec${declarations}` };
  if (spec.selfClosing) return [opening];
  const closing = { from: spec.innerEnd + 2, to: spec.innerEnd + 2 + spec.name.length, text: `${prefix}spec` };
  return xml.startsWith(spec.name, spec.innerEnd + 2) ? [opening, closing] : fail('its end tag was not found');
}

/**
 * Turns the received `importSpec` element into the `spec` argument of ImportVApp with the edits made and every other byte
 * kept: it holds device types that we don't describe, in an order that matters.
 */
export function editImportSpec(importSpecXml: string, edits: ImportSpecEdits): string {
  const spec = parse(importSpecXml);
  const replacements = [
    ...renameRoot(spec, importSpecXml),
    ...insertOptions(spec, importSpecXml, edits.extraConfig),
    ...(edits.emptyDiskFileNames ? emptyDiskNames(spec) : []),
  ].sort((a, b) => b.from - a.from);
  return replacements.reduce((xml, { from, to, text }) => xml.slice(0, from) + text + xml.slice(to), importSpecXml);
}
