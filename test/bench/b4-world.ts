import { WithStartWorkflowOperation, type Client, type Workflow } from '@temporalio/client';
import type { BatchSpecs } from '../../activities/batch/batch-specs.ts';
import type { BatchDeps } from '../../activities/batch/deps.ts';
import { createInventories } from '../../activities/batch/inventories.ts';
import { createConfig, parseConfig } from '../../activities/config.ts';
import type { Target } from '../../activities/incus/port.ts';
import type { Source, SourcePower } from '../../activities/vsphere/source-port.ts';
import { batchId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { specOf } from '../support/batch-scenario.ts';
import type { CopyTransferActivities } from '../../workflows/contracts/batch-activities.ts';
import type { InstanceRecord, NetworkRecord } from '../../workflows/domain/batch/records.ts';

const gib = 1024 ** 3;

export const network: NetworkRecord = {
  uuid: '00000000-0000-5000-8000-000000000001',
  source: 'vc1',
  source_specific_id: 'Network:network-1',
  type: 'standard',
  location: '/DC0/network/lan',
  properties: {},
  placement: { network: 'lan', nictype: 'managed', vlan_id: '' },
};

/** Of the batch of all VMs. */
export const name = 'bench';

export const spec = specOf(name, '/DC0/vm', {
  config: { background_sync_interval: 3_600_000, final_background_sync_limit: 3_600_000 },
});

/** Defines it. */
export async function apply(client: Client, taskQueue: string): Promise<void> {
  await client.workflow.executeUpdateWithStart<Workflow, unknown, [object]>(messages.apply, {
    args: [{ spec, by: 'a benchmark' }],
    startWorkflowOperation: new WithStartWorkflowOperation<Workflow>('batch', {
      taskQueue,
      workflowId: batchId(name),
      args: [{ name }],
      workflowIdConflictPolicy: 'USE_EXISTING',
    }),
  });
}

function uuidOf(index: number): string {
  return `10000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`;
}

export function instanceOf(index: number): InstanceRecord {
  const name = `vm-${String(index).padStart(5, '0')}`;
  return {
    uuid: uuidOf(index),
    source: 'vc1',
    source_type: 'vmware',
    source_specific_id: `VirtualMachine:vm-${index}`,
    location: `/DC0/vm/${name}`,
    name,
    description: '',
    os_template: 'Ubuntu Linux (64-bit)',
    os: 'Ubuntu',
    os_description: 'Ubuntu 24.04',
    os_type: 'linux',
    distribution: 'ubuntu',
    distribution_version: '24.04',
    cpus: 2,
    memory: 4 * gib,
    architecture: 'x86_64',
    config: {},
    secure_boot: false,
    legacy_boot: false,
    tpm: false,
    running: true,
    background_import: true,
    nics: [
      {
        uuid: network.uuid,
        source_specific_id: '4000',
        hardware_address: `02:00:00:${[16, 8, 0].map((shift) => ((index >> shift) & 0xff).toString(16).padStart(2, '0')).join(':')}`,
        location: network.location,
        ipv4_address: '10.0.0.9',
        ipv6_address: '',
      },
    ],
    disks: [
      {
        name: `[ds] ${name}/${name}.vmdk`,
        capacity: 10 * gib,
        shared: false,
        supported: true,
        background_import_verified: true,
      },
    ],
    snapshots: [],
    host: 'HostSystem:host-1',
    last_update_from_source: '2026-01-01T00:00:00.000Z',
  };
}

/** Disks that are copied and compared by doing nothing. */
export const noOpTransfers: CopyTransferActivities = {
  copyDisk: () => Promise.resolve({ bytesRead: 0, bytesWritten: 0 }),
  verifyDisk: () => Promise.resolve({ bytes: 0 }),
};

/** Far sides that do everything at once and nothing at all: what is measured is vmflow and Temporal. */
export function noOpWorld(vms: number, temporal: Client, specs: BatchSpecs): BatchDeps {
  const config = createConfig(
    parseConfig(
      [
        'vcenters: { vc1: { url: "https://localhost/sdk", user: u, passwordEnv: P, source: { hostImportLimit: 0 } } }',
        'targets: { tgt: { url: "http://localhost:1", allowPlainHttp: true } }',
      ].join('\n'),
      'vmflow.yaml',
    ),
    'vmflow.yaml',
    {},
  );
  const power = new Map<string, SourcePower>();
  const indexOf = (vm: string): number => Number(vm.split('-').at(-1));
  const source = {
    // eslint-disable-next-line @typescript-eslint/require-await -- a port that others wait on
    async *inventory() {
      yield {
        instances: Array.from({ length: vms }, (_, index) => instanceOf(index)),
        networks: [network],
        warnings: [],
        unread: [],
        noVms: [],
      };
    },
    fetch: (vm: string) => Promise.resolve({ instance: instanceOf(indexOf(vm)), networks: [network] }),
    power: (vm: string) => Promise.resolve(power.get(vm) ?? 'on'),
    powerOff: (vm: string) => Promise.resolve(void power.set(vm, 'off')),
    powerOn: (vm: string) => Promise.resolve(void power.set(vm, 'on')),
    createSnapshot: () => Promise.resolve({ snapshot: 'snapshot-1' }),
    removeSnapshots: () => Promise.resolve(),
    snapshots: () => Promise.resolve([]),
    snapshotDisks: (vm: string) =>
      Promise.resolve(
        instanceOf(indexOf(vm)).disks.map(({ name, capacity }) => ({ name, capacity, key: 2000, changeId: 'c/1' })),
      ),
    verifyBackgroundImport: () => Promise.resolve({}),
  } as unknown as Source;
  const made = new Map<string, Parameters<Target['create']>[0]>();
  const fences = new Map<string, number>();
  const target = {
    facts: (project: string) =>
      Promise.resolve({
        target: 'tgt',
        project,
        project_exists: true,
        pools: [{ name: 'default', driver: 'dir' }],
        networks: [{ name: 'lan', managed: true, type: 'bridge', ipv4: '' }],
        instances: [...made.keys()],
      }),
    find: (project: string, name: string) => {
      const found = made.get(name);
      return Promise.resolve(
        found === undefined ? undefined : { project, name, marks: found.marks, fence: 0, status: 'stopped' },
      );
    },
    create: (instance: Parameters<Target['create']>[0]) => Promise.resolve(void made.set(instance.name, instance)),
    setFence: (_project: string, name: string, fence: number) => Promise.resolve(void fences.set(name, fence)),
    readFence: (_project: string, name: string) => Promise.resolve(fences.get(name) ?? 0),
    openDisk: () => Promise.resolve({ capacity: 10 * gib, isZeroed: true, close: () => Promise.resolve() }),
    state: () => Promise.resolve({ status: 'running', processes: 0 }),
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    configureFinal: () => Promise.resolve(),
    release: () => Promise.resolve(),
    deleteOwned: (_project: string, name: string) => Promise.resolve(made.delete(name)),
  } as unknown as Target;
  const open = (): Promise<Source> => Promise.resolve(source);
  return {
    config,
    source: open,
    target: () => Promise.resolve(target),
    temporal,
    specs,
    inventories: createInventories(open),
    log: { warn: () => undefined },
  };
}
