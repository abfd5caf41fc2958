import type { EntryActivities, EntryScope } from '../../workflows/contracts/batch-activities.ts';
import type { InstanceRecord, Placement } from '../../workflows/domain/batch/records.ts';
import type { FinalNic, NewInstance, OwnershipMarks, TargetCallOptions } from '../incus/port.ts';
import { TargetError } from '../incus/target-error.ts';
import { OperationError } from '../failures.ts';
import type { BatchDeps } from './deps.ts';
import { migrationNetworkOf, overridesOf, placedDisks } from './judge.ts';
import { resuming } from './resuming.ts';

/** Beats while it works, and hands the operation that an earlier attempt has begun to this one. */
async function onTarget<T>(work: (options: TargetCallOptions) => Promise<T>): Promise<T> {
  return await resuming(({ signal, onBegun, earlier }) =>
    work({ signal, onOperation: onBegun, ...(earlier === undefined ? {} : { operationId: earlier }) }),
  );
}

type TargetCalls = Pick<
  EntryActivities,
  | 'createTarget'
  | 'targetState'
  | 'configureTarget'
  | 'startTarget'
  | 'stopTarget'
  | 'deleteTarget'
  | 'releaseTarget'
  | 'adaptGuest'
>;

/** What happens to the target instance of an entry. Each looks first: what is so already is done. */
export function createEntryTarget(deps: BatchDeps): TargetCalls {
  return {
    async createTarget({ scope, record, placement, initialRunning }) {
      const { spec } = await deps.specs.of(scope.batch);
      const target = await deps.target(scope.target);
      const nic = migrationNetworkOf(spec, placement);
      await onTarget(async (options) => {
        await target.create(newInstance(scope, record, placement, initialRunning, nic), options);
        // A copy can begin when every disk takes a write of nothing.
        for (const index of placedDisks(record).keys()) {
          const disk = await target.openDisk(scope.project, scope.name, index, { ...options, writable: true });
          await disk.close();
        }
      });
    },
    async targetState(scope) {
      const target = await deps.target(scope.target);
      const state = await target.state(scope.project, scope.name);
      return { running: state?.status === 'running' };
    },
    async configureTarget({ scope, record, placement }) {
      const target = await deps.target(scope.target);
      const overrides = overridesOf((await deps.specs.of(scope.batch)).spec, scope.uuid);
      await onTarget((options) =>
        target.configureFinal(
          {
            project: scope.project,
            name: scope.name,
            marks: marksOf(scope, false),
            cpus: overrides.cpus ?? record.cpus,
            memory: overrides.memory ?? record.memory,
            legacyBoot: record.legacy_boot,
            secureBoot: record.secure_boot,
            tpm: record.tpm,
            nics: finalNics(record, placement),
            description: record.description,
            config: {},
          },
          options,
        ),
      );
    },
    async startTarget(scope) {
      const target = await deps.target(scope.target);
      await onTarget((options) => target.start(scope.project, scope.name, options));
    },
    async stopTarget(scope) {
      if (scope.target === '') return;
      const target = await deps.target(scope.target);
      await onTarget(async (options) => {
        // Somebody else's instance of that name is none of our business.
        const found = await target.find(scope.project, scope.name, options);
        if (found?.marks?.uuid === scope.uuid || (scope.released === true && found?.releasedBy === scope.uuid))
          await target.stop(scope.project, scope.name, { ...options, force: true });
      });
    },
    async deleteTarget(scope) {
      if (scope.target === '') return;
      const target = await deps.target(scope.target);
      await onTarget(async (options) => {
        try {
          await target.deleteOwned(scope.project, scope.name, scope, options);
        } catch (err) {
          // Whatever has the name now, it isn't what this entry made.
          if (!(err instanceof TargetError && err.code === 'NOT_OURS')) throw err;
          deps.log.warn('an instance that is not of this entry is left alone', { ...scope, error: err.message });
        }
      });
    },
    async releaseTarget(scope) {
      const target = await deps.target(scope.target);
      const at = new Date().toISOString();
      await onTarget((options) => target.release(scope.project, scope.name, marksOf(scope, false), at, options));
    },
    async adaptGuest({ scope, dryRun }) {
      const { adapt } = deps.config.file.targets[scope.target] ?? { adapt: 'none' };
      if (adapt === 'none') return { changes: false };
      if (!dryRun) await writeMarker(deps, scope);
      return { changes: true };
    },
  };
}

/** Stands for an adapted guest where there is none: a block at the end of the root disk, which no source has. */
async function writeMarker(deps: BatchDeps, scope: EntryScope): Promise<void> {
  const target = await deps.target(scope.target);
  await onTarget(async (options) => {
    const disk = await target.openDisk(scope.project, scope.name, 0, { ...options, writable: true });
    try {
      await disk.write(disk.capacity - 512, Buffer.alloc(512, 'vmflow adapted '));
      await disk.flush();
    } finally {
      await disk.close();
    }
  });
}

export function marksOf({ uuid, batch, attempt, source }: EntryScope, running: boolean): OwnershipMarks {
  return { uuid, batch, attempt, running, source };
}

/** Room while it is being filled: nothing runs in it yet. */
const migrationCpus = 2;
const gib = 1024 ** 3;

function newInstance(
  scope: EntryScope,
  record: InstanceRecord,
  placement: Placement,
  initialRunning: boolean,
  nic: NewInstance['nic'],
): NewInstance {
  const isLarge = record.os_type === 'windows' || record.background_import;
  return {
    project: scope.project,
    name: scope.name,
    description: record.description,
    architecture: record.architecture,
    marks: marksOf(scope, initialRunning),
    config: {
      'image.os': record.distribution,
      'image.release': record.distribution_version,
      'image.architecture': record.architecture,
      'image.description': record.os_description,
    },
    cpus: migrationCpus,
    memory: (isLarge ? 8 : 4) * gib,
    disks: placedDisks(record).map((disk) => ({
      disk: disk.name,
      pool: poolOf(placement, disk.name),
      size: disk.capacity,
    })),
    ...(nic === undefined ? {} : { nic: { network: nic.network, nictype: nic.nictype, vlan_id: nic.vlan_id } }),
  };
}

function poolOf(placement: Placement, disk: string): string {
  const pool = placement.storage_pools[disk];
  if (pool !== undefined) return pool;
  throw new OperationError('InvalidRequest', `no storage pool was chosen for disk ${disk}`, {
    code: 'PLACEMENT_FAILED',
  });
}

function finalNics({ nics }: InstanceRecord, { networks }: Placement): FinalNic[] {
  return nics.flatMap(({ hardware_address, ipv4_address }) => {
    const network = networks[hardware_address];
    // One that was added after it was placed, and that a forced resolve has left out.
    if (network === undefined) return [];
    return [
      {
        hwaddr: hardware_address,
        network: network.network,
        nictype: network.nictype,
        vlan_id: network.vlan_id,
        ipv4_address,
      },
    ];
  });
}
