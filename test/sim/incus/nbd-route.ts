import { open } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import { Refusal } from './answers.ts';
import type { Effect } from './faults.ts';
import type { Volume } from './model.ts';
import { serveNbd } from './nbd-server.ts';
import { paramsOf } from './routes.ts';
import type { Server } from './server.ts';

const pattern = '/1.0/storage-pools/:pool/volumes/:type/:volume/nbd';

export interface NbdRequest {
  readonly path: string;
  readonly project: string;
  readonly upgrade: string | undefined;
  readonly writable: boolean;
  readonly effect: Effect | undefined;
}

/** The volume that is asked for, taken for its writer; fails where it can't be served so. */
export function claimVolume({ state, settings }: Server, request: NbdRequest): Volume {
  const { pool = '', type = '', volume: name = '' } = paramsOf(pattern, request.path) ?? {};
  if (pool === '' || !settings.extensions.includes('storage_volume_nbd')) throw new Refusal(404, 'not found');
  if (request.upgrade !== 'nbd') throw new Refusal(400, 'Missing or invalid upgrade header');
  if (type !== 'custom' && type !== 'virtual-machine')
    throw new Refusal(400, `Unsupported storage volume type "${type}"`);
  const volume = state.volume(pool, request.project, type, name);
  if (volume.contentType !== 'block') throw new Refusal(400, 'Only block volumes can be served');
  if (!state.isThere(volume.location)) throw new Refusal(503, `Failed to connect to cluster member ${volume.location}`);
  if (!request.writable) return volume;
  if (state.usersOf(volume).some(({ status }) => status !== 'Stopped'))
    throw new Refusal(400, 'Volume is attached to a running instance');
  if (volume.writer) throw new Refusal(409, 'Device or resource busy');
  volume.writer = true;
  return volume;
}

/** Switches the protocol and serves the disk until the client leaves. */
export async function serveVolume(
  { settings, journal, serveDisk }: Server,
  volume: Volume,
  { writable, effect }: NbdRequest,
  socket: Duplex,
): Promise<void> {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: nbd\r\n\r\n');
  journal.note('nbd-opened', volume);
  const { file, size } = volume;
  const handle = await open(file, 'r+');
  try {
    const onWrite = (length: number): void => void (volume.received += length);
    const { exportName } = settings;
    if (serveDisk !== undefined) await serveDisk(socket, { file, size, writable });
    else await serveNbd(socket, { handle, size, writable, exportName, effect, onWrite });
  } finally {
    if (writable) volume.writer = false;
    await handle.close();
    journal.note('nbd-closed', volume);
  }
}
