import { undiciTransport } from '../../../../activities/incus/incus-adapter.ts';
import { IncusSim } from '../../../sim/incus/incus-sim.ts';
import type { ContractServer } from './rig.ts';

/** The simulator as a server of the contract, a new one for each test. */
export async function simServer(): Promise<ContractServer> {
  let sim = await IncusSim.start({ extensions: ['etag', 'projects'] });
  return {
    endpoint: (more) => sim.endpoint(more),
    transport: (endpoint) => undiciTransport(endpoint),
    addProject(name) {
      sim.addProject(name);
      return Promise.resolve();
    },
    async reset() {
      await sim.stop();
      sim = await IncusSim.start({ extensions: ['etag', 'projects'] });
    },
    stop: () => sim.stop(),
  };
}
