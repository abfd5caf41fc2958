import { SourceError } from './source-error.ts';
import { attribute, childNamed, childrenNamed, childText, type XmlElement } from './xml-tree.ts';

/** CIM resource types that matter here. */
const types = { cpu: 3, memory: 4, network: 10, floppy: 14, cd: 15, dvd: 16, disk: 17 } as const;
const notControllers: ReadonlySet<number> = new Set(Object.values(types));

export interface HardwareItem {
  readonly label: string;
  readonly instanceId: string;
  readonly resourceType: number;
  readonly parent: string | undefined;
  readonly hostResource: string | undefined;
  readonly quantity: string | undefined;
  /** Deployment options the item belongs to; empty: all. */
  readonly configurations: readonly string[];
}

export interface DiskItem extends HardwareItem {
  readonly hostResource: string;
}

export interface Hardware {
  /** `vmx-15`, possibly a list with commas. */
  readonly virtualSystemType: string | undefined;
  readonly secureBoot: boolean;
  readonly items: readonly HardwareItem[];
  /** In document order, all deployment options together. */
  readonly diskItems: readonly DiskItem[];
}

/**
 * Reads the hardware of a VirtualSystem. The checks are those that a server may make too late: the vCenter simulator crashes
 * on what is refused here and then holds its OVF lock for ever. Fails with `OVF_NO_HARDWARE`, `OVF_ITEM`, `OVF_DISK`.
 */
export function readHardware(virtualSystem: XmlElement): Hardware {
  const sections = childrenNamed(virtualSystem, 'VirtualHardwareSection');
  const [first] = sections;
  if (first === undefined) {
    throw new SourceError('OVF_NO_HARDWARE', 'the VirtualSystem has no VirtualHardwareSection');
  }
  const parsed = sections.map((section) => readSection(section));
  const items = (parsed[0] ?? []).map(checkItem);
  for (const other of parsed.slice(1)) other.forEach(checkItem);
  for (const section of parsed) refuseDuplicates(section);
  return {
    virtualSystemType: childText(childNamed(first, 'System'), 'VirtualSystemType'),
    secureBoot: configFlag(first, 'bootOptions.efiSecureBootEnabled'),
    items,
    diskItems: items.filter((item) => item.resourceType === types.disk).map((item) => checkDiskItem(item, items)),
  };
}

function readSection(section: XmlElement): HardwareItem[] {
  if (childNamed(section, 'System') === undefined) {
    throw new SourceError('OVF_NO_HARDWARE', 'the VirtualHardwareSection has no System element');
  }
  return section.children
    .filter((child) => child.local === 'Item' || child.local === 'StorageItem')
    .map((element, index) => readItem(element, index));
}

function readItem(element: XmlElement, index: number): HardwareItem {
  const instanceId = childText(element, 'InstanceID') ?? childText(element, 'InstanceId') ?? '';
  const name = childText(element, 'ElementName') ?? childText(element, 'Caption') ?? `number ${String(index + 1)}`;
  return {
    label: `hardware item "${name}" (InstanceID ${instanceId === '' ? 'missing' : instanceId})`,
    instanceId,
    resourceType: Number(childText(element, 'ResourceType') ?? Number.NaN),
    parent: childText(element, 'Parent'),
    hostResource: childText(element, 'HostResource'),
    quantity: childText(element, 'VirtualQuantity'),
    configurations: (attribute(element, 'configuration') ?? '').split(/\s+/).filter((word) => word !== ''),
  };
}

function checkItem(item: HardwareItem): HardwareItem {
  if (!Number.isInteger(item.resourceType)) {
    throw new SourceError('OVF_ITEM', `${item.label} has no ResourceType`);
  }
  const counts = item.resourceType === types.cpu || item.resourceType === types.memory;
  if (counts && !/^\d+$/.test(item.quantity ?? '')) {
    throw new SourceError('OVF_ITEM', `${item.label} has no VirtualQuantity`);
  }
  if (item.resourceType === types.cd && item.parent === undefined) {
    throw new SourceError('OVF_ITEM', `${item.label} is a CD drive without Parent`);
  }
  return item;
}

/** Items of different deployment options may share an InstanceID: the option's item replaces the general one. */
function refuseDuplicates(items: readonly HardwareItem[]): void {
  const seen = new Set<string>();
  for (const item of items) {
    for (const configuration of item.configurations.length === 0 ? [''] : item.configurations) {
      const key = `${configuration} ${item.instanceId}`;
      if (item.instanceId !== '' && seen.has(key)) {
        throw new SourceError('OVF_DISK', `${item.label} has an InstanceID that another item has, too`);
      }
      seen.add(key);
    }
  }
}

function checkDiskItem(item: HardwareItem, items: readonly HardwareItem[]): DiskItem {
  const { hostResource, parent } = item;
  if (hostResource === undefined) throw new SourceError('OVF_DISK', `${item.label} is a disk without HostResource`);
  if (parent === undefined) throw new SourceError('OVF_DISK', `${item.label} is a disk without Parent`);
  const controller = items.find((candidate) => candidate.instanceId === parent);
  if (controller === undefined || notControllers.has(controller.resourceType)) {
    throw new SourceError('OVF_DISK', `${item.label} is a disk whose Parent "${parent}" is no controller`);
  }
  return { ...item, hostResource };
}

function configFlag(section: XmlElement, key: string): boolean {
  return childrenNamed(section, 'Config').some(
    (config) => attribute(config, 'key') === key && attribute(config, 'value')?.trim().toLowerCase() === 'true',
  );
}
