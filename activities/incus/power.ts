import { z } from 'zod';
import type { Call } from './call.ts';
import type { IncusClient } from './client.ts';
import { ensure } from './ensure.ts';
import { instancePath, statusOf, type Place } from './instances.ts';
import type { Operations } from './operations.ts';
import type { InstanceState } from './port.ts';

const state = z.object({ status: z.string(), processes: z.number().default(0) });

/** What starts, stops and says whether it runs. */
export class Power {
  readonly #client: IncusClient;
  readonly #operations: Operations;

  constructor(client: IncusClient, operations: Operations) {
    this.#client = client;
    this.#operations = operations;
  }

  /** Undefined: there is no such instance. */
  async state(place: Place, call: Call): Promise<InstanceState | undefined> {
    const found = await this.#client.read(state, instancePath(place, 'state'), call);
    return found === undefined ? undefined : { status: statusOf(found.value.status), processes: found.value.processes };
  }

  async start(place: Place, call: Call): Promise<void> {
    let status: InstanceState['status'] | undefined;
    await this.#bring(place, call, {
      isThere: async () => {
        status = (await this.state(place, call))?.status;
        if (status === undefined)
          throw call.failure('NOT_FOUND', `project ${place.project} has no instance ${place.name}.`);
        return status === 'running';
      },
      body: () => ({ action: status === 'frozen' ? 'unfreeze' : 'start', timeout: -1, force: false, stateful: false }),
      instead: () => `its status is ${status ?? 'unknown'}`,
    });
  }

  /** One that doesn't exist is stopped. A start that is under way, whoever has begun it, is waited for. */
  async stop(place: Place, call: Call, force: boolean): Promise<void> {
    await this.#operations.settle(place.project, place.name, call);
    let status: InstanceState['status'] | undefined;
    await this.#bring(place, call, {
      isThere: async () => {
        status = (await this.state(place, call))?.status;
        return status === undefined || status === 'stopped';
      },
      // A frozen guest hears no wish to shut down.
      body: () => ({
        action: 'stop',
        timeout: force ? -1 : Math.max(1, Math.floor(call.remainingMs() / 1_000)),
        force: force || status === 'frozen',
        stateful: false,
      }),
      instead: () => `its status is ${status ?? 'unknown'}`,
    });
  }

  async #bring(
    place: Place,
    call: Call,
    {
      isThere,
      body,
      instead,
    }: {
      readonly isThere: () => Promise<boolean>;
      readonly body: () => unknown;
      readonly instead: () => string;
    },
  ): Promise<void> {
    await ensure(call, {
      look: async () => ((await isThere()) ? true : undefined),
      act: () => this.#operations.run({ method: 'PUT', path: instancePath(place, 'state'), body: body() }, call),
      settle: () => this.#operations.settle(place.project, place.name, call),
      instead,
    });
  }
}
