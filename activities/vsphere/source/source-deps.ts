import type { VSphereSession } from '../port.ts';
import type { SourceCallOptions } from '../source-port.ts';
import type { ReadEachOptions } from './read-each.ts';
import type { SourceMemory } from './source-memory.ts';
import { callOptions } from './ticking.ts';

export interface SourceSettings {
  /** Budget of one VM that has to be read alone while the inventory is read; default 10 s. */
  readonly syncTimeoutMs?: number;
  /** VMs that are read alone at once; default 1. */
  readonly syncLimit?: number;
  /** Only what is below these; none: everything. */
  readonly datacenters?: readonly string[];
}

/** What the parts of a source work with. */
export interface SourceDeps {
  /** Of the source, as in `vmflow.yaml`. */
  readonly name: string;
  readonly settings: SourceSettings;
  readonly memory: SourceMemory;
  /** Runs `work` on a session that others use as well. */
  readonly withSession: <T>(work: (session: VSphereSession) => Promise<T>) => Promise<T>;
  /** A session of its own, which the caller closes: leases live and die with it. */
  readonly openSession: () => Promise<VSphereSession>;
}

export function readOptions({ settings }: SourceDeps, options: SourceCallOptions): ReadEachOptions {
  const { syncTimeoutMs = 10_000, syncLimit = 1 } = settings;
  return { ...callOptions(options), eachMs: syncTimeoutMs, parallel: syncLimit };
}
