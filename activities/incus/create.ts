import type { Call } from './call.ts';
import { pathOf, type IncusClient } from './client.ts';
import { extraDisk, rootDevice, rootDisk } from './disk-devices.ts';
import { ensure } from './ensure.ts';
import type { Facts } from './facts.ts';
import type { Device, Instance, Instances } from './instances.ts';
import { describeOwner, instanceMarks, isOwner, ownerOf, sourceKey } from './marks.ts';
import { migrationNic } from './nics.ts';
import type { Operations } from './operations.ts';
import type { NewInstance } from './port.ts';
import { sizeOf } from './sizes.ts';
import { TargetError } from './target-error.ts';
import type { Volumes } from './volumes.ts';

export interface CreateParts {
  readonly client: IncusClient;
  readonly operations: Operations;
  readonly instances: Instances;
  readonly volumes: Volumes;
  readonly facts: Facts;
}

/**
 * The instance with its root disk first, then a volume per further disk where the instance is, then the devices for all of them
 * in one write. Each step looks first, so that it doesn't matter where an earlier attempt ended.
 */
export async function createInstance(parts: CreateParts, wanted: NewInstance, call: Call): Promise<void> {
  const { client, operations, instances, volumes } = parts;
  if (wanted.disks.length === 0) throw call.failure('INVALID', 'it has no disk.');
  const { api_extensions: extensions } = await client.server(call);
  await operations.resume(call);
  // A creation of which nobody heard may still be under way, and its instance can already be seen.
  await operations.settle(wanted.project, wanted.name, call);
  const { location } = await ensureInstance(parts, wanted, call);
  for (const [index, disk] of wanted.disks.entries())
    if (index > 0) await volumes.ensure(wanted, index, disk, { owner: wanted.marks, location }, call);
  await instances.update(wanted, call, ({ devices }) => missingDevices(wanted, devices, extensions), {
    read: () => instances.readOwned(wanted, wanted.marks, call),
  });
}

function ensureInstance(
  { operations, instances, facts }: CreateParts,
  wanted: NewInstance,
  call: Call,
): Promise<Instance> {
  return ensure(call, {
    look: async () => {
      const found = (await instances.find(wanted, call))?.value;
      if (found !== undefined) checkAdoption(found, wanted, call);
      return found;
    },
    act: async () => {
      const path = pathOf(['instances'], { project: wanted.project });
      await operations.run({ method: 'POST', path, body: newInstance(wanted) }, call).catch(async (error: unknown) => {
        const isMissing = error instanceof TargetError && error.code === 'NOT_FOUND';
        if (!isMissing || (await facts.hasProject(wanted.project, call))) throw error;
        throw call.failure('PROJECT_GONE', `there is no project ${wanted.project}.`, { status: 404, cause: error });
      });
    },
    settle: () => operations.settle(wanted.project, wanted.name, call),
    instead: () => 'there is no such instance',
  });
}

/** Only what this very attempt has made is taken over. */
function checkAdoption(found: Instance, { marks, disks, name, project }: NewInstance, call: Call): void {
  const owner = ownerOf(found.config);
  const whose = `${name} in project ${project} exists, and ${describeOwner(found.config)}`;
  if (owner?.uuid !== marks.uuid) throw call.failure('FOREIGN_INSTANCE', `an instance ${whose}. It is left alone.`);
  if (!isOwner(found.config, marks))
    throw call.failure('NOT_OURS', `an instance ${whose}, not to attempt ${marks.attempt}. It is left alone.`, {
      next: 'delete what the other attempt has left first',
    });
  const root = found.devices[rootDevice];
  const size = sizeOf(root?.['size']);
  if (root?.['pool'] === disks[0]?.pool && (size === undefined || size >= (disks[0]?.size ?? 0))) return;
  throw call.failure('INVALID', `the root disk of ${name} is in another pool or smaller than it must be.`, {
    next: 'delete what was created and begin a new attempt',
  });
}

function newInstance(wanted: NewInstance) {
  const [root] = wanted.disks;
  return {
    name: wanted.name,
    type: 'virtual-machine',
    source: { type: 'none' },
    architecture: wanted.architecture,
    description: wanted.description,
    profiles: ['default'],
    config: {
      ...wanted.config,
      'limits.cpu': String(wanted.cpus),
      'limits.memory': `${wanted.memory}B`,
      'security.csm': 'false',
      'security.secureboot': 'false',
      'migration.stateful': 'false',
      ...instanceMarks(wanted.marks),
      [sourceKey]: wanted.marks.source,
    },
    devices: {
      ...(root === undefined ? {} : { [rootDevice]: rootDisk(root) }),
      ...(wanted.nic === undefined ? {} : { eth0: migrationNic(wanted.nic) }),
    },
  };
}

function missingDevices(
  { name, disks }: NewInstance,
  devices: Readonly<Record<string, Device>>,
  extensions: readonly string[],
): { readonly devices: Readonly<Record<string, Device>> } | undefined {
  const missing = disks.flatMap((disk, index): [string, Device][] =>
    index === 0 || devices[`disk${index}`] !== undefined
      ? []
      : [[`disk${index}`, extraDisk(name, index, disk, extensions)]],
  );
  return missing.length === 0 ? undefined : { devices: { ...devices, ...Object.fromEntries(missing) } };
}
