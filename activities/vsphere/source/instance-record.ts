import { detectOs } from '../../../workflows/domain/batch/os.ts';
import type { InstanceRecord } from '../../../workflows/domain/batch/records.ts';
import type { MoRef } from '../port.ts';
import { diskRecords } from './disk-records.ts';
import { fieldsOf, isFields, isTrue, listOf, numberOf, textOf } from './fields.ts';
import { guestDataKey, parseGuestData } from './guest-data.ts';
import type { NetworkIndex } from './network-records.ts';
import { nicRecords } from './nic-records.ts';

/** What is read of a VM, see `toInstanceRecord`. Keyed paths leave the bulk of the options at the server. */
export const instancePaths: readonly string[] = [
  ...['name', 'parent', 'parentVApp', 'resourcePool', 'network', 'snapshot', 'customValue', 'availableField'],
  ...['config.name', 'config.instanceUuid', 'config.annotation', 'config.guestFullName', 'config.template'],
  ...['config.hardware.numCPU', 'config.hardware.memoryMB', 'config.hardware.device', 'config.firmware'],
  ...['config.bootOptions', 'config.changeTrackingEnabled', `config.extraConfig["${guestDataKey}"]`],
  ...['summary.config', 'runtime.powerState', 'runtime.host', 'guest.net', 'guest.toolsRunningStatus'],
];

export interface VmFacts {
  readonly ref: MoRef;
  readonly props: ReadonlyMap<string, unknown>;
  /** Inventory path. */
  readonly location: string;
  /** Category → names of its tags. */
  readonly tags: ReadonlyMap<string, readonly string[]>;
  /** Name; empty: none. */
  readonly resourcePool: string;
  readonly networks: NetworkIndex;
}

/** Whether a VM can be described at all: one without its host or files has no configuration. */
export const hasConfig = (props: ReadonlyMap<string, unknown>): boolean =>
  textOf(props.get('config.instanceUuid')) !== '';

/** A source VM in the words of a batch. What the source doesn't have is empty or false, never an error. */
export function toInstanceRecord(facts: VmFacts, source: string, at: string): InstanceRecord {
  const { ref, props, location } = facts;
  const text = (path: string): string => textOf(props.get(path));
  const guest = parseGuestData(guestText(props.get(`config.extraConfig["${guestDataKey}"]`)));
  const devices = props.get('config.hardware.device');
  const described = { os: guest.os, os_template: text('config.guestFullName'), description: text('config.annotation') };
  return {
    uuid: text('config.instanceUuid').toLowerCase(),
    source,
    source_type: 'vmware',
    source_specific_id: `${ref.type}:${ref.value}`,
    location,
    // The name in the inventory is what a rename changes at once.
    name: hostName(text('name') || text('config.name')),
    ...described,
    os_description: guest.description,
    ...detectOs(described),
    cpus: numberOf(props.get('config.hardware.numCPU')) ?? 0,
    memory: (numberOf(props.get('config.hardware.memoryMB')) ?? 0) * 1024 * 1024,
    architecture: guest.architecture || 'x86_64',
    config: configOf(facts),
    secure_boot: isTrue(fieldsOf(props.get('config.bootOptions'))['efiSecureBootEnabled']),
    legacy_boot: text('config.firmware') === 'bios',
    tpm: isTrue(fieldsOf(props.get('summary.config'))['tpmPresent']),
    running: text('runtime.powerState') === 'poweredOn',
    background_import: isTrue(props.get('config.changeTrackingEnabled')),
    nics: nicRecords(devices, props.get('guest.net'), facts.networks),
    disks: diskRecords(devices),
    snapshots: snapshotNames(fieldsOf(props.get('snapshot'))['rootSnapshotList']),
    host: hostOf(props.get('runtime.host')),
    ...toolsOf(text('guest.toolsRunningStatus')),
    last_update_from_source: at,
  };
}

/** What a sync tells people about a VM that it could only describe in part; undefined: nothing is missing. */
export function missingFacts({ location, os, nics }: InstanceRecord): string | undefined {
  const missing = [
    ...(os === '' ? ['its operating system'] : []),
    ...(nics.length > 0 && nics.every((nic) => nic.ipv4_address === '' && nic.ipv6_address === '')
      ? ['its addresses']
      : []),
  ];
  const lost = nics.filter(({ uuid }) => uuid === '').map((nic) => nic.hardware_address);
  const parts = [
    ...(missing.length === 0 ? [] : [`the guest does not tell ${missing.join(' and ')}`]),
    ...(lost.length === 0 ? [] : [`the network of ${lost.join(', ')} could not be found`]),
  ];
  return parts.length === 0 ? undefined : `${location}: ${parts.join('; ')}`;
}

/** vCenter writes slash, backslash and percent of a name as `%2f`, `%5c`, `%25`. */
const hostName = (name: string): string => name.replace(/%(2f|5c|25)/gi, '').replace(/[^A-Za-z0-9-]/g, '');

const guestText = (option: unknown): string => textOf(isFields(option) ? option['value'] : option);

const hostOf = (host: unknown): string => {
  const { type, value } = fieldsOf(host);
  return textOf(value) === '' ? '' : `${textOf(type)}:${textOf(value)}`;
};

function configOf({ props, tags, resourcePool }: VmFacts): Record<string, string> {
  const byCategory = [...tags].map(([category, names]) => [`tag.${category}`, names.toSorted().join(',')] as const);
  return Object.fromEntries([
    ...byCategory,
    ...attributesOf(props),
    ...(resourcePool === '' ? [] : [['vmware.resource_pool', resourcePool] as const]),
  ]);
}

/** Custom attributes; the scope is the type of object that they are made for, `global` for all. */
function attributesOf(props: ReadonlyMap<string, unknown>): readonly (readonly [string, string])[] {
  const definitions = new Map(listOf(props.get('availableField')).map((field) => [numberOf(field['key']), field]));
  return listOf(props.get('customValue')).flatMap((entry) => {
    const definition = definitions.get(numberOf(entry['key']));
    if (definition === undefined) return [];
    const scope = textOf(definition['managedObjectType']) || 'global';
    return [[`attribute.${scope}.${textOf(definition['name'])}`, textOf(entry['value'])] as const];
  });
}

function snapshotNames(tree: unknown): readonly { readonly name: string }[] {
  return listOf(tree).flatMap((node) => [{ name: textOf(node['name']) }, ...snapshotNames(node['childSnapshotList'])]);
}

/** Tools that are about to run will. */
function toolsOf(status: string): Pick<InstanceRecord, 'guest_tools'> {
  return status === '' ? {} : { guest_tools: status !== 'guestToolsNotRunning' };
}
