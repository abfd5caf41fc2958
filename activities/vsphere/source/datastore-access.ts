import { untilAborted } from '../deadline.ts';
import { VSphereError } from '../faults.ts';
import type { MoRef, VSphereSession } from '../port.ts';
import type { SourceCallOptions } from '../source-port.ts';
import type { DatastoreFile } from '../vm-port.ts';
import type { DatastorePath } from './datastore-path.ts';
import { textOf } from './fields.ts';
import { Places } from './places.ts';
import { readEach } from './read-each.ts';
import type { SourceDeps } from './source-deps.ts';
import { readOptions } from './source-deps.ts';
import { placeOf } from './vm-candidates.ts';
import { idOf } from './vm-ref.ts';

/** A server that sends nothing for this long is given up. */
const stallMs = 60_000;

/** A file of a datastore that belongs to a disk. */
export interface SourceFile extends DatastorePath {
  /** The disk's own file. */
  readonly disk: string;
  /** Says in which datacenter, where several have a datastore of that name. */
  readonly vm: MoRef | undefined;
}

/** Files of datastores. Which datacenter a datastore is in is read once and again after a failure. */
export class DatastoreAccess {
  readonly #deps: SourceDeps;

  constructor(deps: SourceDeps) {
    this.#deps = deps;
  }

  /** Bytes; undefined: there is no such file. */
  size(file: SourceFile, options: SourceCallOptions): Promise<number | undefined> {
    return this.#on(file, options, (session, place) => session.vms.fileSize(place, { ...signalOf(options), stallMs }));
  }

  /** Exactly these bytes; `PROTOCOL` where the file ends before. `into` is used where it is large enough. */
  read(
    file: SourceFile,
    start: number,
    length: number,
    options: SourceCallOptions & { readonly into?: Uint8Array },
  ): Promise<Uint8Array> {
    const { into } = options;
    return this.#on(file, options, (session, place) =>
      session.vms.readFile(place, start, length, { ...signalOf(options), stallMs, into }),
    );
  }

  async #on<T>(
    file: SourceFile,
    options: SourceCallOptions,
    work: (session: VSphereSession, place: DatastoreFile) => Promise<T>,
  ): Promise<T> {
    const { datastore, path, disk, vm } = file;
    const { datacenters } = this.#deps.memory;
    const key = `${vm?.value ?? disk}\0${datastore}`;
    return await this.#deps.withSession(async (session) => {
      let known = datacenters.get(key);
      if (known === undefined) {
        // Others may wait for it as well: it doesn't end with this caller.
        known = findDatacenter(this.#deps, session, file);
        datacenters.set(key, known);
      }
      try {
        return await work(session, { datacenter: await untilAborted(known, options.signal), datastore, path });
      } catch (error) {
        datacenters.delete(key);
        throw error;
      }
    });
  }
}

const signalOf = ({ signal }: SourceCallOptions): { signal: AbortSignal | undefined } => ({ signal });

/** Inventory path of the datacenter that the datastore of this file is in. */
async function findDatacenter(deps: SourceDeps, session: VSphereSession, file: SourceFile): Promise<string> {
  const { datastore, disk, vm } = file;
  if (vm !== undefined) return await datacenterOfVm(deps, session, vm);
  const candidates = await datacentersWith(deps, session, datastore);
  const [only, ...others] = candidates;
  if (only !== undefined && others.length === 0) return only;
  // The disk itself tells, unless each of them has one of that name.
  const sizes = candidates.map((datacenter) =>
    session.vms.fileSize({ datacenter, datastore, path: disk }, { stallMs }),
  );
  const found = await Promise.all(sizes);
  const [first, ...more] = candidates.filter((_, index) => found[index] !== undefined);
  if (first !== undefined && more.length === 0) return first;
  throw unknown(
    `[${datastore}] ${disk}`,
    first === undefined ? 'no datacenter has it' : 'several datacenters have one',
  );
}

async function datacenterOfVm(deps: SourceDeps, session: VSphereSession, vm: MoRef): Promise<string> {
  const places = new Places(session, readOptions(deps, {}));
  const [content] = await session.retrieve([vm], ['parent', 'parentVApp']);
  const place = content === undefined ? undefined : placeOf(content.props);
  await places.load([place]);
  const datacenter = places.datacenterOf(place);
  if (datacenter === undefined) throw unknown(`files of ${idOf(vm)}`, 'the datacenter it is in could not be read');
  return datacenter;
}

/** Inventory paths of the datacenters that have a datastore of this name. */
async function datacentersWith(
  deps: SourceDeps,
  session: VSphereSession,
  datastore: string,
): Promise<readonly string[]> {
  const read = readOptions(deps, {});
  const places = new Places(session, read);
  const refs = await session.vms.list(session.rootFolder, ['Datastore'], read);
  const { found } = await readEach(session, refs, ['name', 'parent'], read);
  const named = found.filter(({ props }) => textOf(props.get('name')) === datastore);
  const parents = named.map(({ props }) => props.get('parent') as MoRef | undefined);
  await places.load(parents);
  const paths = parents.map((parent) => places.datacenterOf(parent)).filter((path) => path !== undefined);
  return [...new Set(paths)];
}

function unknown(what: string, why: string): VSphereError {
  const message = `${what} can't be read: ${why}.`;
  return new VSphereError('PROTOCOL', message, { kind: 'lookup', method: 'GET of a file', message });
}
