import type { MoRef, VSphereSession } from '../port.ts';
import type { SourceCallOptions } from '../source-port.ts';
import type { DiskDevice } from './disk-records.ts';
import { diskDevices } from './disk-records.ts';
import { callOptions } from './ticking.ts';

const path = 'config.hardware.device';

/** Devices as a snapshot has them, or as the VM has them now. */
export async function readDevices(
  session: VSphereSession,
  holder: MoRef,
  options: SourceCallOptions,
): Promise<unknown> {
  const [content] = await session.retrieve([holder], [path], callOptions(options));
  return content?.props.get(path);
}

export async function readDisks(
  session: VSphereSession,
  holder: MoRef,
  options: SourceCallOptions,
): Promise<readonly DiskDevice[]> {
  return diskDevices(await readDevices(session, holder, options));
}
