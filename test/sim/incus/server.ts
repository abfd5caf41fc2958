import type { Duplex } from 'node:stream';
import type { Journal } from './journal.ts';
import type { OperationBook } from './operations.ts';
import type { State } from './state.ts';
import type { VolumeFiles } from './volume-files.ts';

/** How the server behaves; may be changed at any time. */
export interface Settings {
  /** How long an operation takes. */
  operationMs: number;
  /** How long an ended operation is known. */
  operationKeptMs: number;
  /** After a start, until the agent in the guest answers. */
  agentMs: number | 'never';
  /** How a taken instance name is refused. */
  existingName: 'operation' | 400 | 409;
  /** Whether an instance can be seen before its creation is over. */
  visibleWhileCreating: boolean;
  /** Volumes are created, changed and deleted in the background. */
  asyncVolumes: boolean;
  /** Under which name disks are served over NBD. */
  exportName: string;
  extensions: string[];
  version: string;
}

export const defaultSettings: Settings = {
  operationMs: 5,
  operationKeptMs: 5_000,
  agentMs: 50,
  existingName: 'operation',
  visibleWhileCreating: true,
  asyncVolumes: false,
  exportName: '',
  extensions: ['etag', 'operation_wait', 'virtual-machines', 'storage_volume_nbd', 'dependent'],
  version: '7.0',
};

/** Speaks NBD on a connection until the client leaves. */
export type ServeDisk = (
  socket: Duplex,
  disk: { readonly file: string; readonly size: number; readonly writable: boolean },
) => Promise<void>;

/** What handlers work with. */
export interface Server {
  readonly state: State;
  readonly settings: Settings;
  readonly operations: OperationBook;
  readonly files: VolumeFiles;
  readonly journal: Journal;
  /** Another NBD server than the simulated one. */
  readonly serveDisk: ServeDisk | undefined;
}
