import type { NetworkPlacement, NetworkRecord } from '../../../workflows/domain/batch/records.ts';
import type { MoRef } from '../port.ts';
import type { Fields } from './fields.ts';
import { fieldsOf, listOf, numberOf, textOf, typeOf } from './fields.ts';
import { uuidV5 } from './uuid-v5.ts';

/** A network of the inventory as it was read. */
export interface NetworkFacts {
  readonly ref: MoRef;
  /** For `DistributedVirtualPortgroup` with `key` and `config`, for `OpaqueNetwork` with `summary`. */
  readonly props: ReadonlyMap<string, unknown>;
  /** Inventory path. */
  readonly location: string;
}

/** Ids of networks, the same in every process: they name networks in batches. */
const namespace = 'f3b2a1de-6f0c-5a0e-9d5b-3c1f0a7e4b62';

const idOf = (ref: MoRef): string => `${ref.type}:${ref.value}`.replace(/\s/g, '_');

export function toNetworkRecord({ ref, props, location }: NetworkFacts, source: string): NetworkRecord {
  const source_specific_id = idOf(ref);
  const config = fieldsOf(props.get('config'));
  const type = typeOfNetwork(ref, config);
  const vlans = type === 'distributed' ? vlansOf(config) : {};
  const properties = type === 'distributed' ? vlans : segmentOf(config, fieldsOf(props.get('summary')));
  return {
    uuid: uuidV5(namespace, `${source}\0${source_specific_id}`),
    source,
    source_specific_id,
    type,
    location,
    properties,
    placement: placementOf(type, location, vlans),
  };
}

function typeOfNetwork(ref: MoRef, config: Fields): NetworkRecord['type'] {
  if (ref.type === 'OpaqueNetwork') return 'nsx';
  if (ref.type !== 'DistributedVirtualPortgroup') return 'standard';
  return textOf(config['backingType']) === 'nsx' ? 'nsx-distributed' : 'distributed';
}

type Properties = Record<string, string>;

const present = (properties: Properties): Properties =>
  Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== ''));

function segmentOf(config: Fields, summary: Fields): Properties {
  return present({
    segment_id: textOf(config['segmentId']) || textOf(summary['opaqueNetworkId']),
    transport_zone_uuid: textOf(config['transportZoneUuid']),
  });
}

/** `vlan_id` of a port group with one VLAN, `vlan_ranges` (`10,20-29`) of a trunk; neither without VLANs. */
function vlansOf(config: Fields): Properties {
  const vlan = fieldsOf(fieldsOf(config['defaultPortConfig'])['vlan']);
  if (typeOf(vlan) === 'VmwareDistributedVirtualSwitchTrunkVlanSpec') {
    return present({ vlan_ranges: listOf(vlan['vlanId']).map(rangeText).join(',') });
  }
  const id = numberOf(vlan['vlanId']) ?? numberOf(vlan['pvlanId']) ?? 0;
  // 0 stands for frames without a tag.
  return id === 0 ? {} : { vlan_id: String(id) };
}

const rangeText = ({ start, end }: Fields): string =>
  textOf(start) === textOf(end) ? textOf(start) : `${textOf(start)}-${textOf(end)}`;

function placementOf(type: NetworkRecord['type'], location: string, vlans: Properties): NetworkPlacement {
  const network = (location.split('/').at(-1) ?? '').replaceAll(' ', '-');
  if (type !== 'distributed') return { network, nictype: 'managed', vlan_id: '' };
  return { network, nictype: 'physical', vlan_id: vlans['vlan_ranges'] ?? vlans['vlan_id'] ?? '' };
}

/** Finds the network that a card is connected to. */
export class NetworkIndex {
  readonly #byKey = new Map<string, NetworkRecord>();
  readonly #byUuid = new Map<string, NetworkRecord>();
  readonly #namesakes = new Set<string>();

  constructor(networks: readonly NetworkFacts[], source: string) {
    for (const network of networks) {
      const record = toNetworkRecord(network, source);
      this.#byUuid.set(record.uuid, record);
      for (const key of keysOf(network)) this.#byKey.set(key, record);
      if (record.type !== 'standard') continue;
      const name = `name ${textOf(network.props.get('name'))}`;
      // Several datacenters may have a network of this name.
      if (this.#byKey.has(name)) this.#namesakes.add(name);
      this.#byKey.set(name, record);
    }
  }

  get(uuid: string): NetworkRecord | undefined {
    return this.#byUuid.get(uuid);
  }

  /** By the backing of the card; undefined: it is on none that was read. */
  of(backing: Fields): NetworkRecord | undefined {
    for (const key of keysOfBacking(backing)) {
      const found = this.#namesakes.has(key) ? undefined : this.#byKey.get(key);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

function keysOf({ ref, props }: NetworkFacts): readonly string[] {
  const config = fieldsOf(props.get('config'));
  const ids = [
    ['ref', ref.value],
    ['port group', textOf(props.get('key')) || textOf(config['key'])],
    ['opaque', textOf(fieldsOf(props.get('summary'))['opaqueNetworkId'])],
  ] as const;
  return ids.filter(([, id]) => id !== '').map(([kind, id]) => `${kind} ${id}`);
}

function keysOfBacking(backing: Fields): readonly string[] {
  const network = backing['network'] as MoRef | undefined;
  const ids = [
    ['ref', textOf(network?.value)],
    ['port group', textOf(fieldsOf(backing['port'])['portgroupKey'])],
    ['opaque', textOf(backing['opaqueNetworkId'])],
    ['name', textOf(backing['deviceName'])],
  ] as const;
  return ids.filter(([, id]) => id !== '').map(([kind, id]) => `${kind} ${id}`);
}
