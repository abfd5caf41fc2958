import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Stack } from './stack.ts';

const mib = 1024 * 1024;
const names = [
  'web-1',
  'web-2',
  'web-3',
  'app-1',
  'app-2',
  'app-3',
  'db-1',
  'db-2',
  'mail',
  'proxy',
  'cache',
  'backup',
] as const;

export interface SampleVm {
  readonly name: string;
  readonly ref: string;
}

export interface SampleBatch {
  /** `batch apply -f` takes it. */
  readonly file: string;
  readonly name: string;
  readonly folder: string;
  readonly vms: readonly SampleVm[];
}

/** Larger VMs go to another project: what changes a VM may change where it goes. */
const program = `function placement(instance) {
  if (instance.cpus > 2) set_project('large');
}
`;

export interface SampleBatchOptions {
  readonly windows?: readonly object[];
  /** Guest tools do not run in this one: switching it off hard is for a person to decide. */
  readonly withoutTools?: (typeof names)[number];
}

/** Twelve small VMs in a folder of the vCenter simulator, and the batch file that migrates them. */
export async function sampleBatch(
  stack: Stack,
  { windows = [], withoutTools }: SampleBatchOptions = {},
): Promise<SampleBatch> {
  const { control } = stack.vcsim;
  const folder = '/DC0/vm/shop';
  await control.createFolder('/DC0/vm', 'shop');
  stack.incus.addProject('large', { 'features.networks': 'false', 'features.storage.volumes': 'true' });
  const vms: SampleVm[] = [];
  for (const [index, name] of names.entries()) {
    const ref = await control.createVm({
      name,
      folder,
      poweredOn: name !== 'backup',
      noTools: name === withoutTools,
      disks: [{ size: 4 * mib, seed: index + 1 }],
      nics: [
        {
          network: '/DC0/network/VM Network',
          mac: `00:50:56:00:0d:${index.toString(16).padStart(2, '0')}`,
          ips: [`10.1.0.${10 + index}`],
        },
      ],
      settings: {
        tracking: true,
        extraConfig: {
          'guestInfo.detailed.data':
            "distroName='Ubuntu' prettyName='Ubuntu 24.04 LTS' distroVersion='24.04' architecture='X86' bitness='64'",
        },
      },
    });
    await control.setTrackingFiles(ref, true);
    vms.push({ name, ref });
  }
  const file = join(stack.dir, 'shop.yaml');
  const batch = {
    name: 'shop',
    include_expression: `location startsWith '${folder}/'`,
    migration_windows: windows,
    constraints: [
      {
        name: 'databases',
        description: 'one database at a time',
        include_expression: "name startsWith 'db-'",
        max_concurrent_instances: 1,
      },
    ],
    defaults: { placement: { target: 'lab', target_project: 'default', storage_pool: 'default' } },
    config: { placement_scriptlet: program, background_sync_interval: '10m' },
  };
  await writeFile(file, stringify(batch));
  return { file, name: batch.name, folder, vms };
}
