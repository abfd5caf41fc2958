import type { InstanceRecord, NetworkRecord } from '../../../workflows/domain/batch/records.ts';
import { VSphereError } from '../faults.ts';
import type { MoRef, VSphereSession } from '../port.ts';
import type { SourceCallOptions } from '../source-port.ts';
import { describeVms, networksOf } from './describe-vms.ts';
import { instancePaths } from './instance-record.ts';
import { Places } from './places.ts';
import { readNetworks } from './read-networks.ts';
import type { SourceDeps } from './source-deps.ts';
import { readOptions } from './source-deps.ts';
import { callOptions } from './ticking.ts';
import { isGone } from './vm-ref.ts';

export interface FetchedVm {
  readonly instance: InstanceRecord;
  readonly networks: readonly NetworkRecord[];
}

/** One VM as it is now. Gone = undefined; whatever else keeps it from being described is a failure. */
export async function fetchVm(
  deps: SourceDeps,
  session: VSphereSession,
  vm: MoRef,
  options: SourceCallOptions,
): Promise<FetchedVm | undefined> {
  const contents = await session.retrieve([vm], instancePaths, callOptions(options)).catch((error: unknown) => {
    if (isGone(error, vm)) return [];
    throw error;
  });
  const [content] = contents;
  if (content === undefined) return undefined;
  const read = readOptions(deps, options);
  const places = new Places(session, read);
  const refs = (content.props.get('network') ?? []) as readonly MoRef[];
  const networks = await readNetworks(session, refs, places, deps.name, read);
  const [described] = await describeVms(deps, session, [content], { places, networks }, options);
  if (described?.record !== undefined) {
    return { instance: described.record, networks: networksOf([described.record], networks) };
  }
  const message = `The VM can't be described now. ${described?.why ?? ''}.`;
  throw new VSphereError('PROTOCOL', message, { kind: 'lookup', method: 'RetrievePropertiesEx', message });
}
