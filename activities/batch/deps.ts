import type { Client } from '@temporalio/client';
import type { Config } from '../config.ts';
import type { Liveness } from '../heartbeat.ts';
import type { Target } from '../incus/port.ts';
import type { Source } from '../vsphere/source-port.ts';
import type { BatchSpecs } from './batch-specs.ts';
import type { Inventories } from './inventories.ts';

/** What the activities of batches, their entries and copies work with. */
export interface BatchDeps {
  readonly config: Config;
  /** A source (vCenter) of the configuration; fails with `InvalidRequest` where there is none of that name. */
  readonly source: (name: string) => Promise<Source>;
  /** A target of the configuration, its secrets read now. */
  readonly target: (name: string) => Promise<Target>;
  /** To ask batches, to start and tell migrations. */
  readonly temporal: Client;
  readonly specs: BatchSpecs;
  readonly inventories: Inventories;
  readonly log: { warn(message: string, facts?: object): void };
  readonly liveness?: Liveness;
}
