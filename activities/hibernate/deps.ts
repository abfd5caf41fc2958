import type { Client } from '@temporalio/client';
import type { HibernateSettings, Seen } from '../../workflows/contracts/activities.ts';
import type { Cluster } from '../kubernetes/port.ts';
import type { Registry } from '../registry/port.ts';

/** What the activities of sets, their migrations and hibernations work with. */
export interface HibernateDeps {
  readonly cluster: Cluster;
  /** The registry that keeps the snapshots, its secrets read now. Fails with `InvalidRequest` where none is configured. */
  readonly registry: () => Promise<Registry>;
  readonly settings: HibernateSettings;
  /** Priority class of VM Pods; absent: the cluster's default. */
  readonly priorityClass?: string;
  /** To ask the gate, to wake sets, to find out which workflows are open. */
  readonly temporal: Client;
}

export function seen<Look>({ settings }: HibernateDeps, look: Look): Seen<Look> {
  return { at: new Date().toISOString(), look, settings };
}
