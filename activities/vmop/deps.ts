import type { Client } from '@temporalio/client';
import type { Config } from '../config.ts';
import { OperationError } from '../failures.ts';
import type { Cluster } from '../kubernetes/port.ts';

/** What the activities of VM operations work with. */
export interface VmopDeps {
  readonly cluster: Cluster;
  readonly settings: Config['file']['operations'];
  /** To end other operations and to bring back lost ones. */
  readonly temporal: Client;
}

/** Stands for the cluster where the configuration names none: whatever is asked of it fails with `InvalidRequest`. */
export function noCluster(configPath: string): Cluster {
  return new Proxy({} as Cluster, {
    get() {
      throw new OperationError('InvalidRequest', "the workers' configuration names no Kubernetes cluster", {
        code: 'CLUSTER_NOT_CONFIGURED',
        next: `add a section "cluster:" to ${configPath} on the workers and restart them`,
      });
    },
  });
}
