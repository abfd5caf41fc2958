import type {
  InstanceRecord,
  NetworkPlacement,
  NetworkRecord,
  NicRecord,
} from '../../workflows/domain/batch/records.ts';
import { ChoiceError, networkName, vlanFor } from './choice.ts';
import type { Chosen } from './chosen.ts';
import { PlacementError } from './placement-error.ts';

/** Parts of placements by network uuid, `<source>/<source_specific_id>` or inventory path. */
export type NetworkOverrides = Readonly<Record<string, Partial<NetworkPlacement>>>;

/** A network of the source and where its NICs go. */
export interface PlacedNetwork {
  readonly record: NetworkRecord;
  /** Names of the overrides that say so. */
  readonly overriddenBy: readonly string[];
}

/**
 * The networks that the instance's NICs are on, each once, with the batch's overrides as their placement. Where several of its
 * names are overridden, the more exact one wins: uuid, then id at the source, then path. Fails with `PlacementError` for a NIC
 * whose network is not among those known.
 */
export function networksOf(
  { nics, name }: InstanceRecord,
  known: readonly NetworkRecord[],
  overrides: NetworkOverrides,
): ReadonlyMap<string, PlacedNetwork> {
  return new Map(
    nics.map((nic) => {
      const record = known.find(({ uuid }) => uuid === nic.uuid);
      if (record !== undefined) return [nic.uuid, withOverrides(record, overrides)];
      const which = `NIC ${nic.hardware_address} of ${name} is on network "${nic.location}" (${nic.uuid})`;
      throw new PlacementError(`${which}, which the inventory of the source doesn't have: read the source again`);
    }),
  );
}

/** Where a NIC goes unless rules or program say otherwise. */
export function chooseByNetwork(nic: NicRecord, { record, overriddenBy }: PlacedNetwork): Chosen {
  const mac = nic.hardware_address.toLowerCase();
  const why =
    overriddenBy.length === 0
      ? `network ${record.location} at the source`
      : `network_overrides of ${overriddenBy.map((key) => `"${key}"`).join(' and ')}`;
  return { choice: { kind: 'network', mac, network: record.placement }, why };
}

function withOverrides(record: NetworkRecord, overrides: NetworkOverrides): PlacedNetwork {
  const { location, source, source_specific_id, uuid } = record;
  const overriddenBy = [location, `${source}/${source_specific_id}`, uuid].filter((key) =>
    Object.hasOwn(overrides, key),
  );
  if (overriddenBy.length === 0) return { record, overriddenBy };
  const said = Object.assign({}, ...overriddenBy.map((key) => filled(overrides[key]))) as Partial<NetworkPlacement>;
  try {
    return { record: { ...record, placement: merged(record.placement, said) }, overriddenBy };
  } catch (err) {
    if (!(err instanceof ChoiceError)) throw err;
    throw new PlacementError(`network_overrides["${overriddenBy.at(-1) ?? ''}"]: ${err.message}`, { cause: err });
  }
}

/** Empty fields say nothing. */
function filled(override: Partial<NetworkPlacement> = {}): Partial<NetworkPlacement> {
  return Object.fromEntries(Object.entries(override).filter(([, value]) => value !== ''));
}

/** What is not said stays, except that the VLAN of a port group is not meant for the managed network that takes its place. */
function merged(computed: NetworkPlacement, said: Partial<NetworkPlacement>): NetworkPlacement {
  const nictype = said.nictype ?? computed.nictype;
  const usual = nictype === 'managed' ? '' : computed.vlan_id;
  return {
    network: said.network === undefined ? computed.network : networkName(said.network),
    nictype,
    vlan_id: said.vlan_id === undefined ? usual : vlanFor(nictype, said.vlan_id),
  };
}
