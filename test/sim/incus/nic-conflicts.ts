import { BlockList } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { Config, Devices, Instance, Network } from './model.ts';
import type { State } from './state.ts';

interface Nic {
  readonly name: string;
  readonly device: string;
  readonly config: Config;
  readonly network: Network;
}

/**
 * Throws where a NIC on a managed bridge that a write adds or changes has a name, a hardware address or an address that another one has
 * there already. As real servers do, it compares with what is stored: two that come at once are not seen before the start.
 */
export function checkAddedNics(state: State, instance: Instance, devices: Devices): void {
  const added = Object.entries(devices).filter(([name, device]) => !isDeepStrictEqual(device, instance.devices[name]));
  for (const nic of bridgedNics(state, instance, Object.fromEntries(added))) check(state, instance, nic, 'add');
}

/** Throws where an instance can't be started for such a NIC. */
export function checkStartedNics(state: State, instance: Instance): void {
  for (const nic of bridgedNics(state, instance, instance.devices)) check(state, instance, nic, 'start');
}

function check(state: State, instance: Instance, nic: Nic, when: 'add' | 'start'): void {
  // Each member of a cluster has its own DHCP server.
  const near = state.instances.filter(({ location }) => location === instance.location);
  for (const other of near)
    for (const known of bridgedNics(state, other, other.devices)) {
      if (other === instance && known.device === nic.device) continue;
      const why = conflict(nic, known);
      if (why !== undefined) throw new Error(`Failed ${when} validation for device "${nic.device}": ${why}`);
    }
}

function bridgedNics(state: State, { project, name }: Instance, devices: Devices): Nic[] {
  return Object.entries(devices).flatMap(([device, config]) => {
    const parent = config['network'] ?? config['parent'];
    const network = state.networksOf(project).find((known) => known.managed && known.name === parent);
    const isBridged = config['type'] === 'nic' && network?.type === 'bridge';
    return isBridged ? [{ name, device, config, network }] : [];
  });
}

function conflict({ name, config, network }: Nic, known: Nic): string | undefined {
  if (network !== known.network || config['vlan'] !== known.config['vlan']) return undefined;
  if (network.config['dns.mode'] !== 'none' && name.toLowerCase() === known.name.toLowerCase())
    return `Instance DNS name "${name.toLowerCase()}" already used on network`;
  const isSame = (key: string): boolean =>
    config[key] !== undefined && config[key].toLowerCase() === known.config[key]?.toLowerCase();
  if (isSame('hwaddr')) return `MAC address "${config['hwaddr'] ?? ''}" already defined on another NIC`;
  return isSame('ipv4.address')
    ? `IP address "${config['ipv4.address'] ?? ''}" already defined on another NIC`
    : undefined;
}

/** Why a network with this address (`10.1.0.1/24`) can't give that address to a NIC; undefined: it can. */
export function addressProblem(network: string, address: string): string | undefined {
  const [own = '', prefix = ''] = network.split('/');
  const subnet = new BlockList();
  subnet.addSubnet(own, Number(prefix));
  if (!subnet.check(address)) return `Device IP address "${address}" not within network subnet`;
  return address === own ? `IP address "${address}" is assigned to parent managed network device` : undefined;
}
