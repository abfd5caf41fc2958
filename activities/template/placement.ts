import type { Placement } from '../../workflows/contracts/template.ts';
import { fromWireName, toWireName } from '../../workflows/domain/template/names.ts';
import { canonicalFolder, pathSegments } from '../../workflows/domain/template/paths.ts';
import { OperationError } from '../failures.ts';
import type { MoRef, VSphereSession } from '../vsphere/port.ts';
import { asRef, field, list } from './read-vm.ts';

/** The request's placement as references, hosts not yet chosen. */
export interface PlacementRefs {
  readonly datacenter: MoRef;
  readonly cluster: MoRef;
  readonly pool: MoRef;
  readonly datastore: MoRef;
  readonly folder: MoRef;
  readonly network: MoRef;
  readonly hosts: readonly MoRef[];
}

function notFound(what: string, name: string, where: string, candidates: readonly string[] = []): OperationError {
  const known = candidates.length === 0 ? '' : `; there are: ${candidates.slice(0, 20).join(', ')}`;
  return new OperationError(
    'NotFound',
    `there is no ${what} "${name}" in ${where}${known}; nothing was changed in vCenter`,
    {
      code: `${what.toUpperCase().replaceAll(' ', '_')}_NOT_FOUND`,
      facts: { [what.replaceAll(' ', '_')]: name },
    },
  );
}

/** Resolves every name once; from here on all is done by reference. */
export async function resolvePlacement(session: VSphereSession, placement: Placement): Promise<PlacementRefs> {
  const dcPath = `/${pathSegments(placement.datacenter).join('/')}`;
  const datacenter = await session.findByInventoryPath(dcPath);
  if (datacenter?.type !== 'Datacenter') throw notFound('datacenter', placement.datacenter, session.about.fullName);
  const folders = await foldersOf(session, datacenter);
  const folder = await vmFolder(session, placement);
  const cluster = await below(session, folders.host, placement.cluster, dcPath, 'cluster', [
    'ClusterComputeResource',
    'ComputeResource',
  ]);
  const { hosts, networks, datastores, rootPool } = await computeResource(session, cluster);
  const datastore = await datastoreOf(session, folders.datastore, placement, dcPath);
  if (!datastores.some((ref) => ref.value === datastore.value)) {
    throw new OperationError(
      'InvalidRequest',
      `datastore "${placement.datastore}" is not attached to cluster "${placement.cluster}"; nothing was changed in vCenter`,
      {
        code: 'DATASTORE_NOT_IN_CLUSTER',
        next: 'choose a datastore of that cluster',
      },
    );
  }
  return {
    datacenter,
    cluster,
    folder,
    datastore,
    hosts,
    pool:
      placement.resourcePool === undefined ? rootPool : await poolOf(session, rootPool, placement.resourcePool, dcPath),
    network: await networkOf(session, folders.network, networks, placement.network, dcPath),
  };
}

async function foldersOf(
  session: VSphereSession,
  datacenter: MoRef,
): Promise<Record<'host' | 'datastore' | 'network', MoRef>> {
  const [content] = await session.retrieve([datacenter], ['hostFolder', 'datastoreFolder', 'networkFolder']);
  const folder = (name: string): MoRef => {
    const ref = asRef(content?.props.get(name));
    if (ref === undefined)
      throw new OperationError('Forbidden', `can't read ${name} of datacenter ${datacenter.value}`, {
        code: 'NO_PERMISSION',
      });
    return ref;
  };
  return { host: folder('hostFolder'), datastore: folder('datastoreFolder'), network: folder('networkFolder') };
}

async function vmFolder(session: VSphereSession, placement: Placement): Promise<MoRef> {
  const path = canonicalFolder(placement.datacenter, placement.folder);
  const folder = await session.findByInventoryPath(path);
  if (folder?.type !== 'Folder') throw notFound('folder', path, session.about.fullName);
  return folder;
}

/** An absolute path is used as is; a plain name or relative path is looked up step by step below a folder. */
async function below(
  session: VSphereSession,
  root: MoRef,
  name: string,
  dcPath: string,
  what: string,
  types: readonly string[],
): Promise<MoRef> {
  const found = name.startsWith('/') ? await session.findByInventoryPath(name) : await descend(session, root, name);
  if (found === undefined || !types.includes(found.type)) throw notFound(what, name, dcPath);
  return found;
}

async function descend(session: VSphereSession, root: MoRef, path: string): Promise<MoRef | undefined> {
  let current: MoRef | undefined = root;
  for (const segment of pathSegments(path)) {
    if (current === undefined) return undefined;
    current = await session.findChild(current, toWireName(fromWireName(segment)));
  }
  return current === root ? undefined : current;
}

interface ComputeFacts {
  readonly hosts: readonly MoRef[];
  readonly networks: readonly MoRef[];
  readonly datastores: readonly MoRef[];
  readonly rootPool: MoRef;
}

async function computeResource(session: VSphereSession, cluster: MoRef): Promise<ComputeFacts> {
  const [content] = await session.retrieve([cluster], ['host', 'network', 'datastore', 'resourcePool']);
  const refs = (name: string): MoRef[] =>
    list(content?.props.get(name))
      .map(asRef)
      .filter((ref) => ref !== undefined);
  const rootPool = asRef(content?.props.get('resourcePool'));
  if (rootPool === undefined)
    throw new OperationError('Forbidden', `can't read the resource pool of ${cluster.value}`, {
      code: 'NO_PERMISSION',
    });
  return { hosts: refs('host'), networks: refs('network'), datastores: refs('datastore'), rootPool };
}

/** A datastore of another datacenter is refused here: servers answer it late or not at all. */
async function datastoreOf(
  session: VSphereSession,
  folder: MoRef,
  placement: Placement,
  dcPath: string,
): Promise<MoRef> {
  const name = placement.datastore;
  if (name.startsWith('/') && !`${name}/`.startsWith(`${dcPath}/`)) {
    throw new OperationError(
      'InvalidRequest',
      `datastore "${name}" does not belong to datacenter "${placement.datacenter}"; nothing was changed in vCenter`,
      {
        code: 'DATASTORE_FOREIGN',
        next: 'choose a datastore of that datacenter',
      },
    );
  }
  return await below(session, folder, name, dcPath, 'datastore', ['Datastore']);
}

async function poolOf(session: VSphereSession, root: MoRef, name: string, dcPath: string): Promise<MoRef> {
  if (name === 'Resources') return root;
  return await below(session, root, name, dcPath, 'resource pool', ['ResourcePool', 'VirtualApp']);
}

/** A plain name is looked for among the networks of the cluster first; several of one name are listed, never picked. */
async function networkOf(
  session: VSphereSession,
  folder: MoRef,
  networks: readonly MoRef[],
  name: string,
  dcPath: string,
): Promise<MoRef> {
  if (name.startsWith('/')) return await absoluteNetwork(session, name, dcPath);
  const contents = networks.length === 0 ? [] : await session.retrieve(networks, ['name']);
  const named = contents.map(({ ref, props }) => ({
    ref,
    name: fromWireName(field({ name: props.get('name') }, 'name') ?? ''),
  }));
  const matches = named.filter((network) => network.name === name);
  if (matches.length > 1)
    throw ambiguous(
      'network',
      name,
      matches.map(({ ref }) => `${ref.type} ${ref.value}`),
    );
  const found = matches[0]?.ref ?? (await descend(session, folder, name));
  if (found === undefined || found.type === 'Folder')
    throw notFound(
      'network',
      name,
      dcPath,
      named.map((network) => network.name),
    );
  return found;
}

async function absoluteNetwork(session: VSphereSession, path: string, dcPath: string): Promise<MoRef> {
  const found = await session.findByInventoryPath(path);
  if (found === undefined || found.type === 'Folder') throw notFound('network', path, dcPath);
  return found;
}

function ambiguous(what: string, name: string, candidates: readonly string[]): OperationError {
  return new OperationError(
    'InvalidRequest',
    `${what} "${name}" is ambiguous: ${candidates.join(', ')}; nothing was changed in vCenter`,
    {
      code: 'AMBIGUOUS',
      next: `give the absolute path of the ${what}`,
    },
  );
}
