import type { InstanceRecord, NetworkRecord } from '../../../workflows/domain/batch/records.ts';
import type { MoRef, ObjectContent, VSphereSession } from '../port.ts';
import type { SourceCallOptions } from '../source-port.ts';
import { textOf } from './fields.ts';
import { hasConfig, toInstanceRecord } from './instance-record.ts';
import type { NetworkIndex } from './network-records.ts';
import type { Places } from './places.ts';
import type { SourceDeps } from './source-deps.ts';
import { callOptions } from './ticking.ts';
import { placeOf } from './vm-candidates.ts';
import { idOf } from './vm-ref.ts';

/** A VM as a record, or why there is none. */
export type Described =
  | { readonly ref: MoRef; readonly record: InstanceRecord }
  | { readonly ref: MoRef; readonly record?: undefined; readonly why: string };

/** Completes what was read of VMs (`instancePaths`) with their places, pools and tags. */
export async function describeVms(
  deps: SourceDeps,
  session: VSphereSession,
  contents: readonly ObjectContent[],
  { places, networks }: { readonly places: Places; readonly networks: NetworkIndex },
  options: SourceCallOptions,
): Promise<readonly Described[]> {
  const poolOf = ({ props }: ObjectContent): MoRef | undefined => props.get('resourcePool') as MoRef | undefined;
  await places.load(contents.flatMap((content) => [placeOf(content.props), poolOf(content)]));
  const refs = contents.map(({ ref }) => ref);
  const tags = await deps.memory.tagNames.of(session, refs, callOptions(options));
  const at = new Date().toISOString();
  return contents.map((content): Described => {
    const { ref, props } = content;
    if (!hasConfig(props)) return { ref, why: `${idOf(ref)}: it has no configuration` };
    const location = places.pathOf(placeOf(props), textOf(props.get('name')));
    if (location === undefined) return { ref, why: `${idOf(ref)}: the folder it is in could not be read` };
    const resourcePool = places.nameOf(poolOf(content));
    const facts = { ref, props, location, tags: tags.get(ref.value) ?? new Map(), resourcePool, networks };
    return { ref, record: toInstanceRecord(facts, deps.name, at) };
  });
}

/** The networks that these VMs are on, each once. */
export function networksOf(instances: readonly InstanceRecord[], networks: NetworkIndex): readonly NetworkRecord[] {
  const uuids = new Set(instances.flatMap(({ nics }) => nics.map(({ uuid }) => uuid)));
  return [...uuids].map((uuid) => networks.get(uuid)).filter((network) => network !== undefined);
}
