import { z } from 'zod';
import type { Call } from './call.ts';
import { pathOf, type IncusClient, type Read } from './client.ts';
import { ensure } from './ensure.ts';
import type { Facts } from './facts.ts';
import type { Place } from './instances.ts';
import { describeOwner, isOwner, ownerOf, released, volumeMarks, type Owner } from './marks.ts';
import type { Operations } from './operations.ts';
import type { NewDisk } from './port.ts';
import { sizeOf, sizeText } from './sizes.ts';

/** Loose: what isn't named here goes back to the server as it came. A volume written without its size would lose it. */
const volume = z.looseObject({
  name: z.string(),
  content_type: z.string().default(''),
  location: z.string().default(''),
  description: z.string().default(''),
  config: z.record(z.string(), z.string()),
  used_by: z.array(z.string()).nullish(),
});

type Volume = z.infer<typeof volume>;

/** A custom volume. */
interface VolumePlace {
  readonly project: string;
  readonly pool: string;
  readonly name: string;
}

/** Name of the volume of a disk other than the first. */
export const volumeName = (instance: string, index: number): string => `${instance}-disk${index}`;

/** Volumes of the disks besides the root disk, which belongs to its instance. */
export class Volumes {
  readonly #client: IncusClient;
  readonly #operations: Operations;
  readonly #facts: Facts;

  constructor(client: IncusClient, operations: Operations, facts: Facts) {
    this.#client = client;
    this.#operations = operations;
    this.#facts = facts;
  }

  /** Creates an empty volume, or adopts the one that this attempt has made. */
  async ensure(
    place: Place,
    index: number,
    disk: NewDisk,
    { owner, location }: { readonly owner: Owner; readonly location: string },
    call: Call,
  ): Promise<void> {
    const wanted = { project: place.project, pool: disk.pool, name: volumeName(place.name, index) };
    await ensure(call, {
      look: async () => {
        const found = await this.#find(wanted, call);
        if (found === undefined || isStale(found.value, owner)) return undefined;
        checkAdoption(found.value, wanted, disk, owner, call);
        return true;
      },
      act: async () => {
        const found = await this.#find(wanted, call);
        if (found !== undefined && isStale(found.value, owner)) await this.#delete(wanted, found.value, call);
        await this.#create(wanted, disk, owner, location, call);
      },
      settle: () => Promise.resolve(),
      instead: () => `there is no volume ${wanted.name} in the pool ${wanted.pool}`,
    });
  }

  /** Deletes all volumes of this attempt, wherever they are. `keep`: leaves those alone that are in use, else they are `BUSY`. */
  async deleteOwned(project: string, owner: Owner, keep: 'used' | 'none', call: Call): Promise<void> {
    for (const { name: pool } of await this.#facts.pools(call)) {
      const path = pathOf(['storage-pools', pool, 'volumes', 'custom'], { recursion: '1', project });
      const all = (await this.#client.read(z.array(volume), path, call))?.value ?? [];
      for (const found of all.filter(({ config }) => isOwner(config, owner))) {
        if (keep === 'used' && isUsed(found)) continue;
        await this.#deleteUnused({ project, pool, name: found.name }, owner, found, call);
      }
    }
  }

  /** Takes the marks of the entry off a volume; one that has none is left alone. */
  async release(place: VolumePlace, owner: Owner, at: string, call: Call): Promise<void> {
    let current: Read<Volume> | undefined;
    await ensure(call, {
      look: async () => {
        current = await this.#find(place, call);
        return current === undefined || !isOwner(current.value.config, owner) ? true : undefined;
      },
      act: async () => {
        if (current === undefined) return;
        const { value, etag } = current;
        const body = { ...value, config: released(value.config, owner.uuid, at) };
        await this.#operations.run({ method: 'PUT', path: pathTo(place), body, etag }, call);
      },
      settle: () => Promise.resolve(),
      instead: () => `the volume ${place.name} still has its marks`,
    });
  }

  #find(place: VolumePlace, call: Call): Promise<Read<Volume> | undefined> {
    return this.#client.read(volume, pathTo(place), call);
  }

  async #create({ project, pool, name }: VolumePlace, disk: NewDisk, owner: Owner, location: string, call: Call) {
    const body = {
      name,
      type: 'custom',
      content_type: 'block',
      config: { size: sizeText(disk.size), ...volumeMarks(owner) },
      description: disk.disk,
    };
    const path = pathOf(['storage-pools', pool, 'volumes', 'custom'], { project, target: memberOf(location) });
    await this.#operations.run({ method: 'POST', path, body }, call);
  }

  async #deleteUnused(place: VolumePlace, owner: Owner, found: Volume, call: Call): Promise<void> {
    await ensure(call, {
      look: async () => {
        const now = await this.#client.read(volume, pathTo(place, found.location), call);
        if (now === undefined || !isOwner(now.value.config, owner)) return true;
        if (isUsed(now.value))
          throw call.failure('BUSY', `the volume ${place.name} is attached to ${usersOf(now.value)}.`, {
            next: 'detach the volume, or delete it and its instance by hand',
          });
        return undefined;
      },
      act: () => this.#delete(place, found, call),
      settle: () => Promise.resolve(),
      instead: () => `the volume ${place.name} is still there`,
    });
  }

  async #delete(place: VolumePlace, { location }: Volume, call: Call): Promise<void> {
    await this.#operations.run({ method: 'DELETE', path: pathTo(place, location) }, call);
  }
}

/** Left over of an earlier attempt: nobody uses it, and what is in it is of no use either. */
function isStale({ config, used_by }: Volume, owner: Owner): boolean {
  const found = ownerOf(config);
  return found?.uuid === owner.uuid && found.attempt < owner.attempt && (used_by ?? []).length === 0;
}

function checkAdoption(found: Volume, place: VolumePlace, disk: NewDisk, owner: Owner, call: Call): void {
  const where = `the volume ${place.name} in the pool ${place.pool}`;
  if (!isOwner(found.config, owner))
    throw call.failure('FOREIGN_INSTANCE', `${where} exists, and ${describeOwner(found.config)}. It is left alone.`, {
      next: 'rename or remove the volume, or give the instance another name',
    });
  const size = sizeOf(found.config['size']);
  if (found.content_type === 'block' && (size === undefined || size >= disk.size)) return;
  throw call.failure('INVALID', `${where} is no block volume of at least ${disk.size} bytes.`, {
    next: 'delete what was created and begin a new attempt',
  });
}

const isUsed = ({ used_by }: Volume): boolean => (used_by ?? []).length > 0;

const usersOf = ({ used_by }: Volume): string => (used_by ?? []).join(', ');

function pathTo({ project, pool, name }: VolumePlace, location = ''): string {
  return pathOf(['storage-pools', pool, 'volumes', 'custom', name], { project, target: memberOf(location) });
}

/** Servers that are no cluster, and volumes of shared pools, have no member. */
export const memberOf = (location: string): string | undefined =>
  ['', 'none'].includes(location) ? undefined : location;
