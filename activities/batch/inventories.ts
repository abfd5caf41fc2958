import type { InstanceRecord, NetworkRecord } from '../../workflows/domain/batch/records.ts';
import type { InventoryPage, Source, SourceCallOptions } from '../vsphere/source-port.ts';
import { sourceTrouble } from './source-trouble.ts';

/** A worker remembers what it has read of a source this long. */
const freshForMs = 60_000;

export interface Inventory {
  readonly at: number;
  /** In order of uuid; of two with one uuid the one with the first location. */
  readonly instances: readonly InstanceRecord[];
  readonly networks: ReadonlyMap<string, NetworkRecord>;
  readonly warnings: InventoryPage['warnings'];
  readonly unread: readonly string[];
  readonly noVms: readonly string[];
}

/** Whole inventories of sources, shared by those that ask at about the same time. */
export interface Inventories {
  /** `maxAgeMs`: 0 = read now. */
  of(source: string, options?: SourceCallOptions & { readonly maxAgeMs?: number }): Promise<Inventory>;
}

export function createInventories(open: (name: string) => Promise<Source>): Inventories {
  const known = new Map<string, { readonly at: number; readonly inventory: Promise<Inventory> }>();
  return {
    async of(name, { maxAgeMs = freshForMs, ...options } = {}) {
      const last = known.get(name);
      if (last !== undefined && Date.now() - last.at < maxAgeMs) return await last.inventory;
      const inventory = readNamed(open, name, options);
      known.set(name, { at: Date.now(), inventory });
      inventory.catch(() => {
        if (known.get(name)?.inventory === inventory) known.delete(name);
      });
      return await inventory;
    },
  };
}

/** Where several sources are read, a failure has to say which one it is. */
async function readNamed(
  open: (name: string) => Promise<Source>,
  name: string,
  options: SourceCallOptions,
): Promise<Inventory> {
  try {
    return await read(await open(name), options);
  } catch (err) {
    if (options.signal?.aborted === true) throw err;
    throw sourceTrouble(name, err) ?? err;
  }
}

async function read(source: Source, options: SourceCallOptions): Promise<Inventory> {
  const at = Date.now();
  const instances = new Map<string, InstanceRecord>();
  const networks = new Map<string, NetworkRecord>();
  const warnings: InventoryPage['warnings'][number][] = [];
  const unread: string[] = [];
  const noVms: string[] = [];
  for await (const page of source.inventory(options)) {
    for (const network of page.networks) networks.set(network.uuid, network);
    for (const one of page.instances) {
      const other = instances.get(one.uuid);
      if (other === undefined) {
        instances.set(one.uuid, one);
        continue;
      }
      const [kept, left] = one.location < other.location ? [one, other] : [other, one];
      instances.set(one.uuid, kept);
      const message = `${left.location} has the same instance UUID as ${kept.location} (${one.uuid}) and is left out`;
      warnings.push({ type: 'Instances not imported', message });
    }
    warnings.push(...page.warnings);
    unread.push(...page.unread);
    noVms.push(...page.noVms);
  }
  const sorted = [...instances.values()].sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
  return { at, instances: sorted, networks, warnings, unread, noVms };
}
