/** What the simulated server holds. Everything is mutable: handlers and tests change it in place. */

export type Config = Record<string, string>;
export type Devices = Record<string, Config>;

export interface Project {
  readonly name: string;
  description: string;
  config: Config;
}

export interface Pool {
  readonly name: string;
  readonly driver: string;
  config: Config;
  /** Bytes that the sizes of all its volumes together may have. */
  capacity: number;
}

export interface Network {
  readonly name: string;
  readonly project: string;
  managed: boolean;
  type: string;
  config: Config;
}

export type InstanceStatus = 'Stopped' | 'Running' | 'Frozen' | 'Error';

export interface Instance {
  readonly project: string;
  readonly name: string;
  readonly type: 'virtual-machine' | 'container';
  readonly location: string;
  architecture: string;
  description: string;
  status: InstanceStatus;
  config: Config;
  devices: Devices;
  profiles: string[];
  ephemeral: boolean;
  stateful: boolean;
  /** What the server does with it now; nothing else may be done meanwhile. */
  busy?: string;
  /** `performance.now()` of its last start. */
  startedMs?: number;
  /** The guest does nothing when it is asked to shut down. */
  ignoresShutdown: boolean;
}

export interface Volume {
  readonly pool: string;
  /** Where it is, which isn't always where it was asked for: see `features.storage.volumes`. */
  readonly project: string;
  readonly type: 'virtual-machine' | 'custom';
  readonly name: string;
  readonly contentType: 'block' | 'filesystem';
  readonly location: string;
  readonly file: string;
  description: string;
  config: Config;
  /** Bytes of the file. */
  size: number;
  /** One writer at a time. */
  writer: boolean;
  /** Bytes of data that clients have sent it over NBD. */
  received: number;
}

/** Sizes of volumes without one. */
export const defaultVolumeSize = 10 * 2 ** 30;

export const sizeBlock = 8_192;

const units: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** Bytes of a volume of this size: whole blocks. Undefined: that is no size. */
export function volumeBytes(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return defaultVolumeSize;
  const [, digits, unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(text) ?? [];
  const factor = units[unit];
  if (digits === undefined || factor === undefined) return undefined;
  return Math.ceil((Number(digits) * factor) / sizeBlock) * sizeBlock;
}
