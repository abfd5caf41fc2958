import { undiciTransport } from '../../../activities/incus/incus-adapter.ts';
import { startLxd, type Lxd } from '../../stack/lxd.ts';
import type { ContractServer } from '../incus/contract/rig.ts';
import { asContainers } from './as-containers.ts';

/** LXD as a server of the contract. `blocks`: see `asContainers`. */
export async function lxdServer(options: { readonly blocks?: boolean } = {}): Promise<ContractServer> {
  const lxd = await startLxd();
  return {
    endpoint: (more) => lxd.endpoint(more),
    transport: (endpoint) => asContainers(undiciTransport(endpoint), lxd.image, options),
    async addProject(name) {
      // The image is that of `default`.
      const config = { 'features.images': 'false', 'features.storage.volumes': 'true' };
      await lxd.admin('POST', '/1.0/projects', { name, config });
    },
    reset: () => reset(lxd),
    stop: () => lxd.stop(),
  };
}

async function reset(lxd: Lxd): Promise<void> {
  await lxd.removeInstances();
  for (const { name: project } of (await lxd.admin('GET', '/1.0/projects?recursion=1')) as {
    readonly name: string;
  }[]) {
    for (const pool of ['default', 'fast']) {
      const path = `/1.0/storage-pools/${pool}/volumes/custom`;
      const all = (await lxd.admin('GET', `${path}?project=${project}`)) as string[];
      for (const url of all) await lxd.admin('DELETE', `${url.split('?')[0] ?? ''}?project=${project}`);
    }
    if (project !== 'default') await lxd.admin('DELETE', `/1.0/projects/${project}`);
  }
}
