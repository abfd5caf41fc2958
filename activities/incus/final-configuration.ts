import { isDeepStrictEqual } from 'node:util';
import type { TargetNetwork } from '../../workflows/domain/batch/records.ts';
import type { Device, Instance, InstanceChange } from './instances.ts';
import type { FinalConfiguration } from './port.ts';
import { finalNic } from './nics.ts';

const profiles = ['default'];

/**
 * What is to be different at an instance so that it is as wanted; undefined: nothing. The marks stay: until it is handed over, the
 * instance is still ours to delete.
 */
export function finalChange(
  current: Instance,
  final: FinalConfiguration,
  networks: readonly TargetNetwork[],
): InstanceChange | undefined {
  const wanted = {
    config: configOf(current, final),
    devices: devicesOf(current, final, networks),
    profiles,
    description: final.description,
  };
  const { config, devices, description } = current;
  return isDeepStrictEqual({ config, devices, profiles: current.profiles ?? [], description }, wanted)
    ? undefined
    : wanted;
}

/**
 * Takes away NICs whose network is to have another NIC in the end; undefined: there are none. A server that gives the instance a name on
 * the network refuses a second NIC there, and one that the same write takes away still counts.
 */
export function withoutNicsInTheWay(
  current: Instance,
  final: FinalConfiguration,
  networks: readonly TargetNetwork[],
): InstanceChange | undefined {
  const wanted = devicesOf(current, final, networks);
  const isInTheWay = ([name, device]: [string, Device]): boolean =>
    device['type'] === 'nic' &&
    !isDeepStrictEqual(device, wanted[name]) &&
    Object.entries(wanted).some(([other, nic]) => other !== name && nic['type'] === 'nic' && isOnSame(nic, device));
  const devices = Object.entries(current.devices);
  const kept = devices.filter((entry) => !isInTheWay(entry));
  return kept.length === devices.length ? undefined : { devices: Object.fromEntries(kept) };
}

const networkOf = ({ network, parent }: Device): string | undefined => network ?? parent;

const isOnSame = (one: Device, other: Device): boolean => networkOf(one) === networkOf(other);

function configOf({ config }: Instance, final: FinalConfiguration): Record<string, string> {
  return {
    ...Object.fromEntries(Object.entries(config).filter(([key]) => key !== 'migration.stateful')),
    ...final.config,
    'limits.cpu': String(final.cpus),
    'limits.memory': `${final.memory}B`,
    'security.csm': String(final.legacyBoot),
    // There is no secure boot without UEFI.
    'security.secureboot': String(final.secureBoot && !final.legacyBoot),
    'volatile.uuid': final.marks.uuid,
    'volatile.uuid.generation': final.marks.uuid,
    ...(final.tpm ? { 'migration.stateful': 'false' } : {}),
  };
}

function devicesOf(
  { devices }: Instance,
  final: FinalConfiguration,
  networks: readonly TargetNetwork[],
): Record<string, Device> {
  const kept = Object.entries(devices).filter(([name, { type }]) => type !== 'nic' && name !== 'vtpm');
  const nics = final.nics.map((nic, index) => [`eth${index}`, finalNic(nic, index, networks)] as const);
  return {
    ...Object.fromEntries(kept),
    ...Object.fromEntries(nics),
    ...(final.tpm ? { vtpm: { type: 'tpm', path: '/dev/tpm0' } } : {}),
  };
}
