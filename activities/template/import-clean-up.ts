import type { SwapScope } from '../../workflows/contracts/activities.ts';
import type { ImportHeartbeat } from '../../workflows/contracts/template.ts';
import type { ObservedVm } from '../../workflows/domain/template/observation.ts';
import { toWireName } from '../../workflows/domain/template/names.ts';
import { VimFault } from '../vsphere/faults.ts';
import type { MoRef, VSphereSession } from '../vsphere/port.ts';
import { destroyPatiently } from './destroy.ts';
import { readMarker } from './marker.ts';
import { observeNames } from './observe.ts';
import { field, list } from './read-vm.ts';
import type { ImportProgress } from './upload-progress.ts';

const defaultLeaseTimeoutS = 300;
const leaseGraceS = 60;

/**
 * Removes the temp VM that an interrupted attempt left. Its lease belongs to a session that is gone, so nobody can abort it:
 * where it still holds the VM it is waited out.
 */
export async function cleanUpAfter(
  session: VSphereSession,
  scope: SwapScope,
  previous: ImportHeartbeat,
  progress: ImportProgress,
  signal: AbortSignal,
): Promise<void> {
  const { temp } = await observeNames(session, scope, signal);
  if (temp === undefined || !isLeftOver(temp, scope, previous)) return;
  progress.phase = 'waiting-for-lease';
  await destroyPatiently(session, temp.ref, (previous.leaseTimeoutS ?? defaultLeaseTimeoutS) + leaseGraceS, signal);
  progress.phase = 'cleanup';
}

/** Ours and of this operation; anything else is left to the state table. */
function isLeftOver(temp: ObservedVm, scope: SwapScope, previous: ImportHeartbeat): boolean {
  if (!temp.poweredOff) return false;
  return temp.ref.value === previous.entityRef || temp.marker?.opId === scope.opId;
}

/** True when the VM is whole: ours, under the temp name, with all its disks, and no longer held by a lease. */
export async function isVerifiedImport(
  session: VSphereSession,
  scope: SwapScope,
  vm: MoRef,
  disks: number,
): Promise<boolean> {
  try {
    const [content] = await session.retrieve(
      [vm],
      ['name', 'config.extraConfig', 'config.hardware.device', 'disabledMethod'],
    );
    if (content === undefined) return false;
    const { props } = content;
    const marker = readMarker(list(props.get('config.extraConfig')) as { key: string; value: unknown }[], vm.value);
    const found = list(props.get('config.hardware.device')).filter(
      (device) => field(device, '_type') === 'VirtualDisk',
    );
    const isLocked = list(props.get('disabledMethod')).includes('Destroy_Task');
    return (
      props.get('name') === toWireName(scope.names.temp) &&
      marker?.opId === scope.opId &&
      found.length === disks &&
      !isLocked
    );
  } catch (err) {
    if (err instanceof VimFault && err.faultType === 'ManagedObjectNotFound') return false;
    throw err;
  }
}
