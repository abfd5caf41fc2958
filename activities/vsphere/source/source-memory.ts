import type { VSphere } from '../port.ts';
import { TagNames } from './tag-names.ts';

/** What is remembered of a vCenter between calls. */
export interface SourceMemory {
  readonly tagNames: TagNames;
  /** Inventory path of the datacenter of a datastore, by where it was asked for. */
  readonly datacenters: Map<string, Promise<string>>;
}

const memories = new WeakMap<VSphere, Map<string, SourceMemory>>();

export function memoryOf(vsphere: VSphere, name: string): SourceMemory {
  const known = memories.get(vsphere) ?? new Map<string, SourceMemory>();
  memories.set(vsphere, known);
  const memory = known.get(name) ?? { tagNames: new TagNames(), datacenters: new Map() };
  known.set(name, memory);
  return memory;
}
