import { beginCall, type Call } from './call.ts';
import { IncusClient } from './client.ts';
import { createInstance } from './create.ts';
import { deleteInstance } from './deletion.ts';
import { attachedVolumes } from './disk-devices.ts';
import { openDisk } from './disk.ts';
import { Facts } from './facts.ts';
import { finalChange, withoutNicsInTheWay } from './final-configuration.ts';
import { Instances, statusOf, type Place } from './instances.ts';
import { fenceOf, isReleased, marksOf, ownerOf, released, releaserOf, withFence } from './marks.ts';
import { Operations } from './operations.ts';
import type { Target, TargetCallOptions, TargetEndpoint } from './port.ts';
import { Power } from './power.ts';
import type { IncusTransport } from './transport.ts';
import { Volumes } from './volumes.ts';

/** The verbs of a target over the way to it. */
export function targetOver(endpoint: TargetEndpoint, transport: IncusTransport): Target {
  const client = new IncusClient(transport);
  const operations = new Operations(client);
  const instances = new Instances(client, operations);
  const facts = new Facts(client, endpoint.name);
  const volumes = new Volumes(client, operations, facts);
  const power = new Power(client, operations);
  const begin = (what: string, options?: TargetCallOptions): Call => beginCall(endpoint, what, options);
  const at = ({ project, name }: Place): string => `${name} in project ${project}`;

  return {
    async check(options) {
      const { environment, api_extensions } = await client.server(begin('say who it is', options));
      return { version: environment.server_version, extensions: api_extensions };
    },

    facts: (project, options) => facts.of(project, begin(`read the facts of project ${project}`, options)),

    async find(project, name, options) {
      const found = await instances.find({ project, name }, begin(`look for ${at({ project, name })}`, options));
      if (found === undefined) return undefined;
      const { config, status } = found.value;
      const marks = marksOf(config);
      const known = { project, name, fence: fenceOf(config), status: statusOf(status) };
      const releasedBy = releaserOf(config);
      return {
        ...known,
        ...(marks === undefined ? {} : { marks }),
        ...(releasedBy === undefined ? {} : { releasedBy }),
      };
    },

    listOwned: (options) => facts.owned(begin('list the instances of entries', options)),

    create: (instance, options) =>
      createInstance(
        { client, operations, instances, volumes, facts },
        instance,
        begin(`create ${at(instance)}`, options),
      ),

    async setFence(project, name, fence, options) {
      const call = begin(`let only copy pass ${fence} write to ${at({ project, name })}`, options);
      await operations.resume(call);
      await instances.update({ project, name }, call, ({ config }) => {
        if (ownerOf(config) === undefined)
          throw call.failure('NOT_OURS', 'it has no marks of an entry. Nothing was changed.');
        const found = fenceOf(config);
        if (found > fence) throw call.failure('FENCED', `pass ${found} has taken over. This pass must write no more.`);
        return found === fence ? undefined : { config: withFence(config, fence) };
      });
    },

    async readFence(project, name, options) {
      const call = begin(`read which copy pass may write to ${at({ project, name })}`, options);
      return fenceOf((await instances.read({ project, name }, call)).value.config);
    },

    openDisk(project, name, index, options) {
      const place = { project, name };
      const call = begin(`open disk ${index} of ${at(place)}`, options);
      return openDisk({ client, instances, facts }, place, index, options, call);
    },

    state: (project, name, options) =>
      power.state({ project, name }, begin(`read the state of ${at({ project, name })}`, options)),

    async start(project, name, options) {
      const call = begin(`start ${at({ project, name })}`, options);
      await operations.resume(call);
      await power.start({ project, name }, call);
    },

    async stop(project, name, options) {
      const call = begin(`stop ${at({ project, name })}`, options);
      await operations.resume(call);
      await power.stop({ project, name }, call, options.force);
    },

    async configureFinal(final, options) {
      const call = begin(`configure ${at(final)} as it is to stay`, options);
      await operations.resume(call);
      const networks = await facts.networks(final.project, call);
      const read = () => instances.readOwned(final, final.marks, call);
      await instances.update(final, call, (current) => finalChange(current, final, networks), {
        read,
        prepare: async () => {
          // Firmware, processors and memory of a running VM can't be changed.
          await power.stop(final, call, true);
          await instances.update(final, call, (current) => withoutNicsInTheWay(current, final, networks), { read });
        },
      });
    },

    async release(project, name, marks, releasedAt, options) {
      const place = { project, name };
      const call = begin(`hand over ${at(place)}`, options);
      await operations.resume(call);
      await instances.update(
        place,
        call,
        ({ config }) =>
          isReleased(config, marks.uuid) ? undefined : { config: released(config, marks.uuid, releasedAt) },
        {
          read: async () => {
            const found = await instances.read(place, call);
            return isReleased(found.value.config, marks.uuid) ? found : instances.readOwned(place, marks, call);
          },
        },
      );
      const { value } = await instances.read(place, call);
      for (const volume of attachedVolumes(value))
        await volumes.release({ project, ...volume }, marks, releasedAt, call);
    },

    deleteOwned: (project, name, marks, options) =>
      deleteInstance(
        { operations, instances, power, volumes },
        { project, name },
        marks,
        begin(`delete ${at({ project, name })}`, options),
      ),

    close: () => client.close(),
  };
}
