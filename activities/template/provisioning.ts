import type { ImportInput } from '../../workflows/contracts/activities.ts';
import type { MoRef, VSphereSession } from '../vsphere/port.ts';
import { field, fieldOf, list } from './read-vm.ts';

type Provisioning = 'thin' | 'thick' | 'eagerZeroedThick';

/** `inherit` looks at the old template's flat disks; undefined leaves it to the server. */
export async function resolveProvisioning(
  session: VSphereSession,
  wanted: ImportInput['diskProvisioning'],
  prod: MoRef | undefined,
): Promise<Provisioning | undefined> {
  if (wanted === 'default') return undefined;
  if (wanted !== 'inherit') return wanted;
  if (prod === undefined) return undefined;
  const [content] = await session.retrieve([prod], ['config.hardware.device']);
  const backing = list(content?.props.get('config.hardware.device'))
    .map((device) => fieldOf(device, 'backing'))
    .find((candidate) => field(candidate, '_type') === 'VirtualDiskFlatVer2BackingInfo');
  return provisioningOf(backing);
}

function provisioningOf(backing: unknown): Provisioning | undefined {
  const thin = field(backing, 'thinProvisioned');
  if (thin === undefined) return undefined;
  if (thin === 'true') return 'thin';
  return field(backing, 'eagerlyScrub') === 'true' ? 'eagerZeroedThick' : 'thick';
}
