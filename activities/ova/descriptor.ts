import { diskOf, readFiles, readDisks, type OvfDisk, type OvfFile } from './disks.ts';
import { readHardware, type HardwareItem } from './hardware.ts';
import { SourceError } from './source-error.ts';
import { attribute, childNamed, childrenNamed, childText, descendants, type XmlElement } from './xml-tree.ts';

const envelopeNamespaces: ReadonlySet<string> = new Set([
  'http://schemas.dmtf.org/ovf/envelope/1',
  'http://schemas.dmtf.org/ovf/envelope/2',
  'http://www.vmware.com/schema/ovf/1/envelope',
]);

export interface ReferencedFile extends OvfFile {
  /** Named by a disk or, as `ovf:/file/<id>`, by something else of the virtual system. */
  readonly needed: boolean;
}

export interface OvfDescriptor {
  /** All of the References, in their order. */
  readonly files: readonly ReferencedFile[];
  /** One per disk the virtual machine gets, in the order of its items. */
  readonly disks: readonly OvfDisk[];
  /** Exactly one. */
  readonly networks: readonly string[];
  /** Of all product sections, each once. */
  readonly productVersions: readonly string[];
  readonly secureBoot: boolean;
  readonly virtualSystemType?: string;
}

/** Reads what an import needs and refuses what no import may meet. Fails with the codes `OVF_…` besides the sizes'. */
export function readDescriptor(envelope: XmlElement): OvfDescriptor {
  if (envelope.local !== 'Envelope' || !envelopeNamespaces.has(envelope.uri)) {
    throw new SourceError(
      'OVF_XML',
      `the descriptor's root element is "${envelope.local}" of namespace "${envelope.uri}", not an OVF Envelope`,
    );
  }
  const system = onlyVirtualSystem(envelope);
  const hardware = readHardware(system);
  const networks = readNetworks(envelope);
  const files = readFiles(envelope);
  const listed = readDisks(envelope);
  const used = hardware.diskItems.map((item) => ({ item, disk: diskOf(item, listed, files) }));
  const needed = new Set([...used.map(({ disk }) => disk.fileId), ...filesNamedIn(system)]);
  const option = selectedOption(envelope);
  return {
    files: files.map((file) => ({ ...file, needed: needed.has(file.id) })),
    disks: used.filter(({ item }) => isInEffect(item, option)).map(({ disk }) => disk),
    networks,
    productVersions: productVersions(system),
    secureBoot: hardware.secureBoot,
    ...(hardware.virtualSystemType === undefined ? {} : { virtualSystemType: hardware.virtualSystemType }),
  };
}

function onlyVirtualSystem(envelope: XmlElement): XmlElement {
  const systems = childrenNamed(envelope, 'VirtualSystem');
  const [system] = systems;
  if (childNamed(envelope, 'VirtualSystemCollection') !== undefined || systems.length > 1) {
    throw new SourceError(
      'OVF_COLLECTION',
      'the descriptor describes a collection of virtual machines (vApp); a template is made from exactly one',
    );
  }
  if (system === undefined) throw new SourceError('OVF_NO_VIRTUAL_SYSTEM', 'the descriptor has no VirtualSystem');
  return system;
}

function readNetworks(envelope: XmlElement): string[] {
  const names = childrenNamed(childNamed(envelope, 'NetworkSection'), 'Network').map(
    (network) => attribute(network, 'name') ?? '',
  );
  if (names.length !== 1 || names[0] === '') {
    const listed = names.map((name) => `"${name}"`).join(', ');
    throw new SourceError(
      'OVF_NETWORKS',
      `the descriptor must have exactly one named network, it has ${names.length === 0 ? 'none' : listed}`,
    );
  }
  return names;
}

function productVersions(system: XmlElement): string[] {
  const versions = childrenNamed(system, 'ProductSection').flatMap((product) => childText(product, 'Version') ?? []);
  return [...new Set(versions)];
}

/** What CD drives, NVRAM and the like refer to. */
function filesNamedIn(system: XmlElement): string[] {
  const named = (value: string): string[] => /^ovf:\/+file\/(.+)$/.exec(value.trim())?.slice(1) ?? [];
  return [...descendants(system)].flatMap((element) => [
    ...named(element.text),
    ...element.attributes.flatMap(({ value }) => named(value)),
  ]);
}

/** The deployment option an import without a choice gets. */
function selectedOption(envelope: XmlElement): string | undefined {
  const options = childrenNamed(childNamed(envelope, 'DeploymentOptionSection'), 'Configuration');
  const chosen = options.find((option) => attribute(option, 'default') === 'true') ?? options[0];
  return chosen === undefined ? undefined : attribute(chosen, 'id');
}

const isInEffect = (item: HardwareItem, option: string | undefined): boolean =>
  item.configurations.length === 0 || option === undefined || item.configurations.includes(option);
