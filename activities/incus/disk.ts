import type { DiskWriter } from '../batch/disk-port.ts';
import type { Call } from './call.ts';
import { pathOf, type IncusClient } from './client.ts';
import { diskVolume } from './disk-devices.ts';
import type { Facts, Pool } from './facts.ts';
import { statusOf, type Instances, type Place } from './instances.ts';
import { NbdClient } from './nbd-client.ts';
import { NbdRefusal } from './nbd-handshake.ts';
import { NbdReplyError, outOfSpace } from './nbd-protocol.ts';
import type { TargetCallOptions } from './port.ts';
import { TargetError } from './target-error.ts';

/** Extension of servers that serve volumes over NBD. */
const extension = 'storage_volume_nbd';

export interface DiskParts {
  readonly client: IncusClient;
  readonly instances: Instances;
  readonly facts: Facts;
}

/** The time of the call is that of opening; the caller's signal ends the open disk too, with its own reason. */
export async function openDisk(
  { client, instances, facts }: DiskParts,
  place: Place,
  index: number,
  { signal, writable }: TargetCallOptions & { readonly writable: boolean },
  call: Call,
): Promise<DiskWriter> {
  const { api_extensions: extensions } = await client.server(call);
  if (!extensions.includes(extension))
    throw call.failure('INVALID', `the server can't serve volumes (it lacks the extension ${extension}).`, {
      next: 'update the server',
    });
  const { value: instance } = await instances.read(place, call);
  const status = statusOf(instance.status);
  if (writable && status !== 'stopped')
    throw call.failure('BUSY', `its status is ${status}, and disks are written only while it is stopped.`, {
      next: 'stop the instance',
    });
  const where = diskVolume(instance, index);
  if (where === undefined) throw call.failure('NOT_FOUND', `${place.name} has no disk ${index}. Nothing was written.`);
  const pool = await facts.pool(where.pool, call);
  const path = pathOf(['storage-pools', where.pool, 'volumes', where.type, where.volume, 'nbd'], {
    project: place.project,
    ...(writable ? { writable: '1' } : {}),
  });
  const socket = await client.upgrade(path, 'nbd', call);
  const unbind = endWith(call.signal, (reason) => socket.destroy(reason));
  const nbd = await NbdClient.open(socket)
    .catch((error: unknown) => {
      call.check();
      throw toDiskError(error, call);
    })
    .finally(unbind);
  return writerOver(nbd, { isZeroed: pool !== undefined && readsAsZeros(pool), writable, signal }, call);
}

async function writerOver(
  nbd: NbdClient,
  { isZeroed, writable, signal }: { isZeroed: boolean; writable: boolean; signal: AbortSignal | undefined },
  call: Call,
): Promise<DiskWriter> {
  const { size: capacity, isReadOnly, canFlush } = nbd.disk;
  if (writable && (isReadOnly || !canFlush)) {
    await nbd.close();
    const why = isReadOnly
      ? 'the server serves it read-only'
      : 'the server can not promise that what is written is kept';
    throw call.failure('INVALID', `${why}. Nothing was written.`);
  }
  const unbind = signal === undefined ? () => undefined : endWith(signal, (reason) => nbd.abort(reason));
  const within = async <T>(start: number, length: number, work: () => Promise<T>): Promise<T> => {
    if (!Number.isSafeInteger(start) || start < 0 || length < 0 || start + length > capacity)
      throw call.failure('INVALID', `bytes ${start} to ${start + length} are not on a disk of ${capacity} bytes.`);
    return await work().catch((error: unknown) => {
      signal?.throwIfAborted();
      throw toDiskError(error, call);
    });
  };
  return {
    capacity,
    isZeroed,
    write: (start, data) => within(start, data.length, () => nbd.write(start, data)),
    zero: (start, length) => within(start, length, () => nbd.zero(start, length)),
    read: (start, length, into) => within(start, length, () => nbd.read(start, length, into)),
    flush: () => within(0, 0, () => nbd.flush()),
    async close() {
      unbind();
      await nbd.close();
    },
  };
}

/** Calls back when the signal is aborted, at once where it is already. Answers how to stop listening. */
function endWith(signal: AbortSignal, end: (reason: Error) => void): () => void {
  const stop = (): void => end(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  return () => signal.removeEventListener('abort', stop);
}

function toDiskError(error: unknown, call: Call): TargetError {
  if (error instanceof TargetError) return error;
  if (error instanceof NbdRefusal) return call.failure('PROTOCOL', `${error.message}.`, { cause: error });
  if (error instanceof NbdReplyError && error.errno === outOfSpace)
    return call.failure('NO_SPACE', `${error.message}. What is written so far stays.`, { cause: error });
  const why = error instanceof Error ? error.message : String(error);
  return call.failure('DISK_CONNECTION', `${why}. What was not flushed must be written again.`, { cause: error });
}

/** Drivers whose fresh volumes read as zeros. A thick logical volume has what was there before. */
const zeroing = ['dir', 'btrfs', 'zfs', 'ceph'];

function readsAsZeros({ driver, config }: Pool): boolean {
  return zeroing.includes(driver) || (driver === 'lvm' && config?.['lvm.use_thinpool'] !== 'false');
}
