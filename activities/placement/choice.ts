import { isApiName } from '../../workflows/domain/batch/effective.ts';
import type { DiskRecord, NetworkPlacement, NicRecord } from '../../workflows/domain/batch/records.ts';

/** One thing that was decided about where an instance goes. A later one about the same overrides it. */
export type Choice =
  | { readonly kind: 'target' | 'project'; readonly name: string }
  | { readonly kind: 'pool'; readonly disk: string; readonly pool: string }
  /** `mac` in lower case. */
  | { readonly kind: 'network'; readonly mac: string; readonly network: NetworkPlacement };

/** Longer than any name of a disk that a datastore has. */
const longestQuote = 300;

/** What there is to place. */
export interface Placeable {
  readonly disks: readonly Pick<DiskRecord, 'name' | 'supported'>[];
  readonly nics: readonly Pick<NicRecord, 'hardware_address'>[];
}

/** What was chosen can't be. */
export class ChoiceError extends Error {
  override readonly name = 'ChoiceError';
}

export function chooseTarget(name: string): Choice {
  return { kind: 'target', name: nameOf('target', name) };
}

export function chooseProject(name: string): Choice {
  return { kind: 'project', name: nameOf('project', name) };
}

export function choosePool({ disks }: Placeable, name: string, pool: string): Choice {
  const disk = disks.find((candidate) => candidate.name === name);
  if (disk === undefined)
    throw new ChoiceError(`the VM has no disk ${quoted(name)}; it has ${listed(disks.map((each) => each.name))}`);
  if (!disk.supported) throw new ChoiceError(`disk "${name}" is not migrated: it can't have a pool`);
  return { kind: 'pool', disk: name, pool: nameOf('pool', pool) };
}

/** An empty `nictype` is `managed`. */
export function chooseNetwork({ nics }: Placeable, address: string, wanted: ChosenNetwork): Choice {
  const mac = address.toLowerCase();
  if (!nics.some(({ hardware_address }) => hardware_address.toLowerCase() === mac)) {
    const known = listed(nics.map(({ hardware_address }) => hardware_address));
    throw new ChoiceError(`the VM has no NIC ${quoted(address)}; it has ${known}`);
  }
  return { kind: 'network', mac, network: checkNetwork(wanted) };
}

/** A network as somebody wrote it. */
export interface ChosenNetwork {
  readonly network: string;
  readonly nictype: string;
  readonly vlan_id: string;
}

function checkNetwork({ network, nictype: given, vlan_id }: ChosenNetwork): NetworkPlacement {
  const nictype = given === '' ? 'managed' : given;
  if (nictype !== 'managed' && nictype !== 'bridged' && nictype !== 'physical')
    throw new ChoiceError(`${quoted(nictype)} is no type of NIC: there are managed, bridged and physical`);
  return { network: networkName(network), nictype, vlan_id: vlanFor(nictype, vlan_id) };
}

/** The name; fails with `ChoiceError` when it can't be one. */
export function networkName(name: string): string {
  return nameOf('network', name);
}

/** The VLANs; fails with `ChoiceError` when they are none, or when such a NIC takes none. Empty are no VLANs. */
export function vlanFor(nictype: NetworkPlacement['nictype'], vlans: string): string {
  if (vlans === '') return vlans;
  if (nictype === 'managed')
    throw new ChoiceError(`a managed network has its own VLAN, ${quoted(vlans)} is only for bridged and physical`);
  if (!vlans.split(',').every(isVlan))
    throw new ChoiceError(`${quoted(vlans)} is no VLAN: write 10, or 10,20, or 100-200, each from 1 to 4094`);
  return vlans;
}

function nameOf(kind: string, name: string): string {
  if (name === '') throw new ChoiceError(`the name of the ${kind} is empty`);
  if (!isApiName(name)) throw new ChoiceError(`${quoted(name)} can't be the name of a ${kind}`);
  return name;
}

function isVlan(text: string): boolean {
  const [, first, last = first] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(text) ?? [];
  const [from, to] = [Number(first), Number(last)];
  return from >= 1 && to <= 4_094 && from <= to;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.map(quoted).join(', ');
}

/** What somebody wrote may be as long as they like. */
function quoted(text: string): string {
  return text.length > longestQuote ? `"${text.slice(0, longestQuote)}…"` : `"${text}"`;
}
