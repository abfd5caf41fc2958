import { z } from 'zod';
import type { Call } from './call.ts';
import { pathOf, type IncusClient, type Read } from './client.ts';
import { ensure } from './ensure.ts';
import { describeOwner, isOwner, type Config, type Owner } from './marks.ts';
import type { Operations } from './operations.ts';
import type { InstanceStatus } from './port.ts';
import type { TargetError } from './target-error.ts';

export type Device = Readonly<Record<string, string>>;

const strings = z.record(z.string(), z.string());

/** Loose: what isn't named here goes back to the server as it came. */
const instance = z.looseObject({
  name: z.string(),
  project: z.string().optional(),
  status: z.string(),
  location: z.string().default(''),
  description: z.string().default(''),
  profiles: z.array(z.string()).nullish(),
  config: strings,
  devices: z.record(z.string(), strings).default({}),
});

export const instanceList = z.array(instance);

export type Instance = z.infer<typeof instance>;

/** Where an instance is. */
export interface Place {
  readonly project: string;
  readonly name: string;
}

/** What a change makes of an instance; what is absent stays. */
export interface InstanceChange {
  readonly config?: Config;
  readonly devices?: Readonly<Record<string, Device>>;
  readonly profiles?: readonly string[];
  readonly description?: string;
}

export const instancePath = ({ project, name }: Place, ...more: readonly string[]): string =>
  pathOf(['instances', name, ...more], { project });

export function statusOf(status: string): InstanceStatus {
  return statuses[status.toLowerCase()] ?? 'unknown';
}

const statuses: Readonly<Record<string, InstanceStatus>> = {
  running: 'running',
  ready: 'running',
  stopped: 'stopped',
  frozen: 'frozen',
  error: 'error',
};

/** Reads and writes instances as a whole. */
export class Instances {
  readonly #client: IncusClient;
  readonly #operations: Operations;

  constructor(client: IncusClient, operations: Operations) {
    this.#client = client;
    this.#operations = operations;
  }

  find(place: Place, call: Call): Promise<Read<Instance> | undefined> {
    return this.#client.read(instance, instancePath(place), call);
  }

  /** Fails with `NOT_FOUND`. */
  async read(place: Place, call: Call): Promise<Read<Instance>> {
    const found = await this.find(place, call);
    if (found !== undefined) return found;
    throw call.failure('NOT_FOUND', `project ${place.project} has no instance ${place.name}.`, { status: 404 });
  }

  /** Fails with `NOT_OURS` where the instance doesn't belong to this attempt of this entry. */
  async readOwned(place: Place, owner: Owner, call: Call): Promise<Read<Instance>> {
    const found = await this.read(place, call);
    if (isOwner(found.value.config, owner)) return found;
    throw notOurs(found.value, owner, call);
  }

  /**
   * Reads, changes and writes until it reads back as wanted. `change` says what is to be different; undefined: nothing is.
   * `prepare` runs before each write.
   */
  async update(
    place: Place,
    call: Call,
    change: (current: Instance) => InstanceChange | undefined,
    {
      read = () => this.read(place, call),
      prepare = () => Promise.resolve(),
    }: {
      readonly read?: () => Promise<Read<Instance>>;
      readonly prepare?: (current: Instance) => Promise<void>;
    } = {},
  ): Promise<void> {
    let current: Read<Instance> | undefined;
    await ensure(call, {
      look: async () => {
        current = await read();
        return change(current.value) === undefined ? true : undefined;
      },
      act: async () => {
        if (current !== undefined) await prepare(current.value);
        // What was prepared may have changed it.
        const { value, etag } = await read();
        const body = { ...value, ...change(value) };
        await this.#operations.run({ method: 'PUT', path: instancePath(place), body, etag }, call);
      },
      settle: () => this.#operations.settle(place.project, place.name, call),
      instead: () => 'it reads back differently from what was written',
    });
  }
}

export function notOurs({ name, config }: Pick<Instance, 'name' | 'config'>, owner: Owner, call: Call): TargetError {
  const why = `${name} is not of attempt ${owner.attempt} of the entry ${owner.uuid}: ${describeOwner(config)}.`;
  return call.failure('NOT_OURS', `${why} Nothing was changed.`);
}
