import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { volumeBytes, type Config, type Devices, type Instance, type Volume } from './model.ts';
import { checkAddedNics } from './nic-conflicts.ts';
import type { Work } from './operations.ts';
import { urlOf } from './routes.ts';
import type { Server } from './server.ts';
import { checkConfig, checkDevices, checkLiveChange, type instancePost, type instancePut } from './validate.ts';

export function resourcesOf(project: string, name: string): Work['resources'] {
  return { instances: [urlOf(`/1.0/instances/${encodeURIComponent(name)}`, project)] };
}

/** Takes the instance for one piece of work; fails where another one has it. */
export function occupy(instance: Instance, work: string): void {
  if (instance.busy !== undefined) throw new Error(`Instance is busy running a "${instance.busy}" operation`);
  instance.busy = work;
}

export function release(instance: Instance): void {
  delete instance.busy;
}

/** The instance can be seen from the start on, its disk comes at the end; a failure takes both away. */
export function creation(
  server: Server,
  project: string,
  wanted: z.infer<typeof instancePost>,
  location: string,
): Work {
  const { state, files, journal } = server;
  let made: Instance | undefined;
  return {
    project,
    description: 'Creating instance',
    resources: resourcesOf(project, wanted.name),
    start() {
      if (state.findInstance(project, wanted.name) !== undefined)
        throw new Error(
          `Failed creating instance record: Instance "${wanted.name}" already exists in project "${project}"`,
        );
      const { config, devices } = checked(server, project, wanted);
      made = {
        project,
        name: wanted.name,
        type: wanted.type,
        location,
        architecture: wanted.architecture ?? 'x86_64',
        description: wanted.description ?? '',
        status: 'Stopped',
        config: { ...config, 'volatile.uuid': randomUUID(), 'volatile.uuid.generation': randomUUID() },
        devices,
        profiles: wanted.profiles ?? ['default'],
        ephemeral: wanted.ephemeral ?? false,
        stateful: false,
        ignoresShutdown: false,
        busy: 'create',
      };
      state.instances.push(made);
    },
    async finish() {
      if (made === undefined) return;
      await createRootVolume(server, made);
      release(made);
      journal.note('instance-created', made);
    },
    async undo() {
      state.instances = state.instances.filter((instance) => instance !== made);
      const root = state.volumes.find(({ type, name }) => type === 'virtual-machine' && name === made?.name);
      if (root === undefined || root.project !== project) return;
      state.volumes = state.volumes.filter((volume) => volume !== root);
      await files.remove(root);
    },
  };
}

export async function createRootVolume({ state, files }: Server, instance: Instance): Promise<void> {
  const root = Object.values(instance.devices).find(({ path }) => path === '/');
  const pool = state.pools.get(root?.['pool'] ?? '');
  if (pool === undefined) throw new Error('No root disk device could be found');
  const size = volumeBytes(root?.['size']);
  if (size === undefined) throw new Error(`Invalid size ${root?.['size'] ?? ''}`);
  state.checkRoom(pool, size);
  const volume: Volume = {
    pool: pool.name,
    project: instance.project,
    type: 'virtual-machine',
    name: instance.name,
    contentType: 'block',
    location: instance.location,
    file: files.nextFile(),
    description: '',
    config: {},
    size,
    writer: false,
    received: 0,
  };
  state.volumes.push(volume);
  await files.create(volume);
}

/** Replaces the writable part: what is absent is emptied. */
export function replacement(server: Server, instance: Instance, wanted: z.infer<typeof instancePut>): Work {
  const { project, name } = instance;
  return {
    project,
    description: 'Updating instance',
    resources: resourcesOf(project, name),
    start() {
      const { config, devices } = checked(server, project, wanted);
      checkAddedNics(server.state, instance, devices);
      checkLiveChange(instance, config);
      occupy(instance, 'update');
    },
    finish() {
      const { config, devices } = checked(server, project, wanted);
      instance.config = config;
      instance.devices = devices;
      instance.profiles = wanted.profiles ?? [];
      instance.description = wanted.description ?? '';
      instance.architecture = wanted.architecture ?? instance.architecture;
      instance.ephemeral = wanted.ephemeral ?? false;
      release(instance);
      server.journal.note('instance-updated', instance);
    },
    undo: () => release(instance),
  };
}

function checked(
  { state, settings }: Server,
  project: string,
  wanted: z.infer<typeof instancePut>,
): { readonly config: Config; readonly devices: Devices } {
  const config = { ...wanted.config };
  const devices = structuredClone(wanted.devices ?? {});
  checkConfig(config);
  checkDevices(state, project, devices, settings.extensions);
  const unknown = (wanted.profiles ?? []).find((profile) => profile !== 'default');
  if (unknown !== undefined) throw new Error(`Requested profile "${unknown}" doesn't exist`);
  return { config, devices };
}

/** With its root disk and the volumes that depend on it. */
export function removal(server: Server, instance: Instance): Work {
  const { state, files, journal } = server;
  const { project, name } = instance;
  return {
    project,
    description: 'Deleting instance',
    resources: resourcesOf(project, name),
    start: () => occupy(instance, 'delete'),
    async finish() {
      const depends = ({ type, dependent }: Config): boolean => type === 'disk' && dependent === 'true';
      const sources = Object.values(instance.devices).filter(depends);
      const gone = state
        .disksOf(instance)
        .filter(({ type, name }) => type === 'virtual-machine' || sources.some(({ source }) => source === name));
      state.instances = state.instances.filter((known) => known !== instance);
      state.volumes = state.volumes.filter((volume) => !gone.includes(volume));
      await Promise.all(gone.map((volume) => files.remove(volume)));
      for (const volume of gone) if (volume.type === 'custom') journal.note('volume-deleted', volume);
      journal.note('instance-deleted', instance);
    },
    undo: () => release(instance),
  };
}
