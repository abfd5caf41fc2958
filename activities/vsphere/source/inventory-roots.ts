import { OperationError } from '../../failures.ts';
import type { CallOptions, MoRef, VSphereSession } from '../port.ts';
import type { SourceDeps } from './source-deps.ts';

/** All objects of these types in the part of the inventory that the configuration names. */
export async function listInventory(
  session: VSphereSession,
  deps: SourceDeps,
  types: readonly string[],
  options: CallOptions,
): Promise<readonly MoRef[]> {
  const found = new Map<string, MoRef>();
  for (const root of await rootsOf(session, deps, options)) {
    for (const ref of await session.vms.list(root, types, options)) found.set(ref.value, ref);
  }
  return [...found.values()];
}

async function rootsOf(
  session: VSphereSession,
  { name, settings: { datacenters = [] } }: SourceDeps,
  options: CallOptions,
): Promise<readonly MoRef[]> {
  if (datacenters.length === 0) return [session.rootFolder];
  return await Promise.all(
    datacenters.map(async (datacenter) => {
      const path = datacenter.startsWith('/') ? datacenter : `/${datacenter}`;
      const found = await session.findByInventoryPath(path, options);
      if (found !== undefined) return found;
      throw new OperationError('InvalidRequest', `source ${name} has no datacenter ${datacenter}`, {
        code: 'NO_DATACENTER',
        next: `correct vcenters.${name}.source.datacenters in vmflow.yaml`,
      });
    }),
  );
}
