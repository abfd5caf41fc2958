import type { MoRef, VSphereSession } from '../port.ts';
import { textOf } from './fields.ts';
import type { NetworkFacts } from './network-records.ts';
import { NetworkIndex } from './network-records.ts';
import type { Places } from './places.ts';
import type { ReadEachOptions } from './read-each.ts';
import { readEach } from './read-each.ts';

/** A server refuses a whole read for a path that a type doesn't have: each type is asked for its own. */
const pathsOf = (type: string): readonly string[] => {
  if (type === 'DistributedVirtualPortgroup') return ['name', 'parent', 'key', 'config'];
  return type === 'OpaqueNetwork' ? ['name', 'parent', 'summary'] : ['name', 'parent'];
};

/** Reads these networks. One that can't be read is not among them, which shows at the VMs on it. */
export async function readNetworks(
  session: VSphereSession,
  refs: readonly MoRef[],
  places: Places,
  source: string,
  options: ReadEachOptions,
): Promise<NetworkIndex> {
  const found: { ref: MoRef; props: ReadonlyMap<string, unknown> }[] = [];
  for (const type of new Set(refs.map((ref) => ref.type))) {
    const ofType = refs.filter((ref) => ref.type === type);
    found.push(...(await readEach(session, ofType, pathsOf(type), options)).found);
  }
  const parentOf = (props: ReadonlyMap<string, unknown>): MoRef | undefined => props.get('parent') as MoRef | undefined;
  await places.load(found.map(({ props }) => parentOf(props)));
  const facts = found.flatMap(({ ref, props }): NetworkFacts[] => {
    const location = places.pathOf(parentOf(props), textOf(props.get('name')));
    return location === undefined ? [] : [{ ref, props, location }];
  });
  return new NetworkIndex(facts, source);
}
