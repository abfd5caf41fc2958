import type { TargetNetwork } from '../../workflows/domain/batch/records.ts';
import type { Device } from './instances.ts';
import type { FinalNic, NewInstance } from './port.ts';

/** Types of managed networks that give out addresses. */
const addressing = ['bridge', 'ovn'];

type Connection = NonNullable<NewInstance['nic']>;

/** The NIC during the migration. */
export function migrationNic(nic: Connection): Device {
  return nic.nictype === 'managed' ? { type: 'nic', network: nic.network } : { type: 'nic', ...parentOf(nic) };
}

/** A NIC as it is to stay, for `eth<index>`. `networks` are those of the project. */
export function finalNic(nic: FinalNic, index: number, networks: readonly TargetNetwork[]): Device {
  const network = networks.find(({ name, managed }) => managed && name === nic.network);
  return {
    type: 'nic',
    name: `eth${index}`,
    hwaddr: nic.hwaddr,
    ...(isByNetwork(nic, network) ? { network: nic.network } : parentOf(nic)),
    ...(hasFixedAddress(nic, network) ? { 'ipv4.address': nic.ipv4_address } : {}),
  };
}

/** A physical NIC on a managed physical network takes parent and VLAN from it; naming them besides is refused. */
function isByNetwork(nic: FinalNic, network: TargetNetwork | undefined): boolean {
  return nic.nictype === 'managed' || (nic.nictype === 'physical' && network?.type === 'physical');
}

function hasFixedAddress(nic: FinalNic, network: TargetNetwork | undefined): boolean {
  if (nic.nictype !== 'managed' || nic.ipv4_address === '' || network === undefined) return false;
  return addressing.includes(network.type) && !['', 'none'].includes(network.ipv4);
}

function parentOf({ nictype, network, vlan_id }: Connection): Device {
  const vlan = vlan_id === '' ? {} : { [/[,-]/.test(vlan_id) ? 'vlan.tagged' : 'vlan']: vlan_id };
  return { nictype, parent: network, ...vlan };
}
