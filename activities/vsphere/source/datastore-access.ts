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

/** A server that sends nothing for this long is given up. */
const stallMs = 60_000;

/** A file of a datastore; `vm` says in which datacenter, where several have a datastore of that name. */
export interface SourceFile extends DatastorePath {
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

  /** Exactly these bytes; `PROTOCOL` where the file ends before. */
  read(file: SourceFile, start: number, length: number, options: SourceCallOptions): Promise<Uint8Array> {
    return this.#on(file, options, (session, place) =>
      session.vms.readFile(place, start, length, { ...signalOf(options), stallMs }),
    );
  }

  async #on<T>(
    file: SourceFile,
    options: SourceCallOptions,
    work: (session: VSphereSession, place: DatastoreFile) => Promise<T>,
  ): Promise<T> {
    const { datastore, path, vm } = file;
    const { datacenters } = this.#deps.memory;
    const key = `${vm?.value ?? ''}\0${datastore}`;
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

/** Inventory path of the datacenter that a datastore of this name is in. */
async function findDatacenter(
  deps: SourceDeps,
  session: VSphereSession,
  { datastore, vm }: SourceFile,
): Promise<string> {
  const read = readOptions(deps, {});
  const places = new Places(session, read);
  if (vm !== undefined) {
    const [content] = await session.retrieve([vm], ['parent', 'parentVApp'], read);
    const place = content === undefined ? undefined : placeOf(content.props);
    await places.load([place]);
    const datacenter = places.datacenterOf(place);
    if (datacenter !== undefined) return datacenter;
  }
  const refs = await session.vms.list(session.rootFolder, ['Datastore'], read);
  const { found } = await readEach(session, refs, ['name', 'parent'], read);
  const named = found.filter(({ props }) => textOf(props.get('name')) === datastore);
  const parents = named.map(({ props }) => props.get('parent') as MoRef | undefined);
  await places.load(parents);
  const [datacenter, ...others] = new Set(parents.map((parent) => places.datacenterOf(parent)));
  if (datacenter !== undefined && others.length === 0) return datacenter;
  const count = others.length === 0 ? 'no datacenter has' : 'several datacenters have';
  const message = `The files of datastore ${datastore} can't be read: ${count} one of that name.`;
  throw new VSphereError('PROTOCOL', message, { kind: 'lookup', method: 'GET of a file', message });
}
