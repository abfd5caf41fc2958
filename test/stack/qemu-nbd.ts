import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { waitFor } from '../support/wait-for.ts';
import { startProcess } from './processes.ts';
import { findTool } from './tool.ts';
import { tools } from './tools.ts';

export interface QemuNbdOptions {
  /** For its socket. */
  readonly dir: string;
  /** The raw image that it serves; its size is the disk's. */
  readonly image: string;
  readonly isReadOnly?: boolean;
  /** Clients at once; more than one makes it offer multi-conn. Default 1. */
  readonly clients?: number;
  /** Blocks of other sizes than the file has. */
  readonly blocks?: { readonly minimum: number; readonly maximum: number };
}

export interface QemuNbd {
  readonly uri: string;
  connect(): Promise<Socket>;
  /** Whatever it did not write yet is lost. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts qemu's own NBD server; it serves one client after the other until it is stopped. */
export async function startQemuNbd(options: QemuNbdOptions): Promise<QemuNbd> {
  const name = join(options.dir, `nbd-${randomUUID().slice(0, 8)}`);
  const socketPath = `${name}.sock`;
  const pidFile = `${name}.pid`;
  const server = await startProcess({
    name: 'qemu-nbd',
    command: await findTool(tools.qemuNbd),
    args: ['--persistent', '--socket', socketPath, '--pid-file', pidFile, ...argumentsFor(options)],
  });
  try {
    await waitFor('qemu-nbd to listen', () => {
      if (!server.isRunning()) throw new Error(server.output());
      return existsSync(pidFile);
    });
  } catch (error) {
    await server.kill();
    throw error;
  }
  const forget = async (): Promise<void> => {
    await Promise.all([socketPath, pidFile].map((path) => rm(path, { force: true })));
  };
  return {
    uri: `nbd+unix:///?socket=${socketPath}`,
    async connect() {
      const socket = connect(socketPath);
      await once(socket, 'connect');
      return socket;
    },
    async kill() {
      await server.kill();
      await forget();
    },
    async stop() {
      await server.stop();
      await forget();
    },
  };
}

function argumentsFor({ image, isReadOnly, clients = 1, blocks }: QemuNbdOptions): string[] {
  const access = [...(isReadOnly === true ? ['--read-only'] : []), '--shared', String(clients), '--discard', 'unmap'];
  if (blocks === undefined) return [...access, '--format', 'raw', image];
  const limits = `align=${blocks.minimum},max-transfer=${blocks.maximum}`;
  const file = 'image.driver=file,image.discard=unmap';
  return [...access, '--image-opts', `driver=blkdebug,discard=unmap,${limits},${file},image.filename=${image}`];
}
