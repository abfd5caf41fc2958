import { describe } from 'node:test';
import { endingContract } from './contract/endings.ts';
import { instanceContract } from './contract/instances.ts';
import { protocolContract } from './contract/protocol.ts';
import { useServer } from './contract/rig.ts';
import { simServer } from './contract/sim-server.ts';
import { volumeContract } from './contract/volumes.ts';

describe('the simulator, as any Incus server', () => {
  const rig = useServer(simServer);
  protocolContract(rig);
  volumeContract(rig);
  instanceContract(rig);
  endingContract(rig);
});
