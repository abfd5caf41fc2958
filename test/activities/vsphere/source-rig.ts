import { after, afterEach, before } from 'node:test';

import type { VCenterEndpoint, VSphere } from '../../../activities/vsphere/port.ts';
import type { SourceSettings } from '../../../activities/vsphere/source/source-deps.ts';
import type { InventoryPage, Source } from '../../../activities/vsphere/source-port.ts';
import { createSource } from '../../../activities/vsphere/source.ts';
import { createVSphere } from '../../../activities/vsphere/vsphere-adapter.ts';
import type { VcsimControl, VcsimVmSpec } from '../../stack/vcsim-control.ts';
import type { Vcsim, VcsimOptions } from '../../stack/vcsim.ts';
import { startVcsim } from '../../stack/vcsim.ts';
import { endpointOf } from './import-helpers.ts';

export const mib = 1024 * 1024;
export const ubuntu =
  "architecture='X86' bitness='64' distroName='Ubuntu' distroVersion='22.04' prettyName='Ubuntu 22.04.4 LTS'";

/** A source VM by its reference in the simulator and its id in the records. */
export interface SourceVm {
  readonly ref: string;
  readonly id: string;
}

/** One simulator and one client per test file; `source()` is the vCenter as a source. */
export interface SourceRig {
  readonly sim: Vcsim;
  readonly control: VcsimControl;
  readonly vsphere: VSphere;
  source(settings?: SourceSettings, endpoint?: Partial<VCenterEndpoint>): Source;
  /** A VM with guest data, one disk of random content and one card, unless the spec says otherwise. */
  vm(spec: VcsimVmSpec): Promise<SourceVm>;
}

export function sourceRig(options: VcsimOptions = {}): SourceRig {
  let sim: Vcsim | undefined;
  let vsphere: VSphere | undefined;
  let vms = 0;
  const started = (): Vcsim => {
    if (sim === undefined) throw new Error('the simulator runs in tests only');
    return sim;
  };
  const client = (): VSphere => {
    if (vsphere === undefined) throw new Error('the client is there in tests only');
    return vsphere;
  };
  before(async () => {
    sim = await startVcsim({ inventory: { vm: 0 }, ...options });
    vsphere = createVSphere({ allowInsecureTls: false, validateRequests: true });
  });
  after(async () => {
    await vsphere?.close();
    await sim?.stop();
  });
  afterEach(async () => {
    await sim?.control.clearFaults();
    await sim?.control.clearDelays();
    await sim?.control.limitAreaAnswers(0);
  });
  return {
    get sim() {
      return started();
    },
    get control() {
      return started().control;
    },
    get vsphere() {
      return client();
    },
    source: (settings = {}, endpoint = {}) => createSource(client(), endpointOf(started(), endpoint), settings),
    vm: async (spec) => {
      vms += 1;
      const serial = vms.toString(16).padStart(4, '0');
      const mac = `00:50:56:01:${serial.slice(0, 2)}:${serial.slice(2)}`;
      const ref = await started().control.createVm({
        disks: [{ size: 4 * mib, seed: vms }],
        nics: [{ network: '/DC0/network/VM Network', mac, ips: [`10.1.${vms >> 8}.${vms & 255}`] }],
        extraConfig: { 'guestInfo.detailed.data': ubuntu },
        ...spec,
      });
      return { ref, id: `VirtualMachine:${ref}` };
    },
  };
}

/** A whole inventory in one piece. */
export async function readAll(
  source: Source,
  options: Parameters<Source['inventory']>[0] = {},
): Promise<InventoryPage & { readonly pages: number }> {
  const all = { instances: [], networks: [], warnings: [], unread: [], noVms: [] } as {
    [K in keyof InventoryPage]: InventoryPage[K][number][];
  };
  let pages = 0;
  for await (const page of source.inventory(options)) {
    pages += 1;
    all.instances.push(...page.instances);
    all.networks.push(...page.networks);
    all.warnings.push(...page.warnings);
    all.unread.push(...page.unread);
    all.noVms.push(...page.noVms);
  }
  return { ...all, pages };
}
