import { isIPv4, isIPv6 } from 'node:net';

import type { NicRecord } from '../../../workflows/domain/batch/records.ts';
import type { Fields } from './fields.ts';
import { fieldsOf, listOf, numberOf, textOf } from './fields.ts';
import type { NetworkIndex } from './network-records.ts';

/** The cards among devices, in the order of their keys, with the addresses that the guest tells (`guest.net`). */
export function nicRecords(devices: unknown, guestNets: unknown, networks: NetworkIndex): readonly NicRecord[] {
  const nets = listOf(guestNets);
  return listOf(devices)
    .filter((device) => 'macAddress' in device || 'addressType' in device)
    .sort((one, other) => (numberOf(one['key']) ?? 0) - (numberOf(other['key']) ?? 0))
    .map((device) => toNic(device, nets, networks));
}

function toNic(device: Fields, nets: readonly Fields[], networks: NetworkIndex): NicRecord {
  const backing = fieldsOf(device['backing']);
  const network = networks.of(backing);
  const addresses = addressesOf(netOf(device, backing, nets));
  return {
    uuid: network?.uuid ?? '',
    source_specific_id: textOf(device['key']),
    hardware_address: textOf(device['macAddress']).toLowerCase(),
    location: network?.location ?? '',
    ipv4_address: addresses.find((address) => isIPv4(address)) ?? '',
    ipv6_address: addresses.find((address) => isIPv6(address)) ?? '',
  };
}

/** What the guest says of this card. The name of the network comes last: several cards may be on one. */
function netOf(device: Fields, backing: Fields, nets: readonly Fields[]): Fields | undefined {
  const key = numberOf(device['key']);
  const mac = textOf(device['macAddress']).toLowerCase();
  const name = textOf(backing['deviceName']);
  return (
    nets.find((net) => numberOf(net['deviceConfigId']) === key) ??
    nets.find((net) => mac !== '' && textOf(net['macAddress']).toLowerCase() === mac) ??
    nets.find((net) => name !== '' && textOf(net['network']) === name && !isOfAnother(net))
  );
}

/** A card that the guest can't match to a device has the id -1, or none. */
const isOfAnother = (net: Fields): boolean => (numberOf(net['deviceConfigId']) ?? -1) >= 0;

function addressesOf(net: Fields | undefined): readonly string[] {
  const configured = listOf(fieldsOf(net?.['ipConfig'])['ipAddress']).map((entry) => textOf(entry['ipAddress']));
  const plain = net?.['ipAddress'];
  const listed = (Array.isArray(plain) ? (plain as readonly unknown[]) : [plain]).map(textOf);
  return [...configured, ...listed].filter((address) => address !== '' && !isLinkLocal(address));
}

/** Says nothing about where a VM can be reached. */
const isLinkLocal = (address: string): boolean =>
  address.startsWith('169.254.') || (isIPv6(address) && /^fe[89ab]/i.test(address));
