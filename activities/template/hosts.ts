import { OperationError } from '../failures.ts';
import type { MoRef, ObjectContent, VSphereSession } from '../vsphere/port.ts';
import type { PlacementRefs } from './placement.ts';
import { asRef, field, list } from './read-vm.ts';

export interface ChosenHost {
  readonly ref: MoRef;
  readonly name: string;
}

const paths = [
  'name',
  'runtime.connectionState',
  'runtime.powerState',
  'runtime.inMaintenanceMode',
  'runtime.inQuarantineMode',
  'datastore',
  'network',
];

/** Why a host can't take the import; undefined: it can. */
function objection(host: ObjectContent, datastore: MoRef, network: MoRef): string | undefined {
  const { props } = host;
  const has = (name: string, ref: MoRef): boolean =>
    list(props.get(name)).some((entry) => asRef(entry)?.value === ref.value);
  const checks: readonly (readonly [boolean, string])[] = [
    [props.get('runtime.connectionState') === 'connected', `is ${String(props.get('runtime.connectionState'))}`],
    [props.get('runtime.powerState') === 'poweredOn', `is ${String(props.get('runtime.powerState'))}`],
    [props.get('runtime.inMaintenanceMode') !== true, 'is in maintenance mode'],
    [props.get('runtime.inQuarantineMode') !== true, 'is in quarantine'],
    [has('datastore', datastore), 'does not have the datastore'],
    [network.type !== 'Network' || has('network', network), 'does not have the network'],
  ];
  return checks.find(([ok]) => !ok)?.[1];
}

/** The first host, in the server's stable order, that can take the import. `wanted` forces one by name. */
export async function chooseHost(
  session: VSphereSession,
  placement: Pick<PlacementRefs, 'hosts' | 'datastore' | 'network'>,
  wanted: string | undefined,
  excluded: readonly string[] = [],
): Promise<ChosenHost> {
  const contents = placement.hosts.length === 0 ? [] : await session.retrieve(placement.hosts, paths);
  const hosts = contents.map((content) => ({
    content,
    name: field({ name: content.props.get('name') }, 'name') ?? content.ref.value,
  }));
  const candidates = hosts.filter(({ name }) => wanted === undefined || name === wanted || wanted.endsWith(`/${name}`));
  const reasons: string[] = [];
  for (const { content, name } of candidates) {
    const why = excluded.includes(content.ref.value)
      ? 'refused the import before'
      : objection(content, placement.datastore, placement.network);
    if (why === undefined) return { ref: content.ref, name };
    reasons.push(`${name} ${why}`);
  }
  if (candidates.length === 0 && wanted !== undefined) {
    throw new OperationError(
      'NotFound',
      `there is no host "${wanted}" in the cluster; there are: ${hosts.map(({ name }) => name).join(', ')}`,
      { code: 'HOST_NOT_FOUND' },
    );
  }
  throw new OperationError(
    'Unavailable',
    `no host of the cluster can take the import: ${reasons.join('; ') || 'the cluster has none'}`,
    {
      code: 'NO_USABLE_HOST',
      next: 'bring one of these hosts back; the operation tries again by itself',
    },
  );
}
