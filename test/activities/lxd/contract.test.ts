import { describe } from 'node:test';
import { lxdMissing } from '../../stack/lxd.ts';
import { endingContract } from '../incus/contract/endings.ts';
import { instanceContract } from '../incus/contract/instances.ts';
import { protocolContract } from '../incus/contract/protocol.ts';
import { useServer } from '../incus/contract/rig.ts';
import { volumeContract } from '../incus/contract/volumes.ts';
import { lxdServer } from './lxd-server.ts';

const skip = (await lxdMissing()) ?? false;

describe('LXD, as any Incus server', { skip }, () => {
  const rig = useServer(lxdServer);
  protocolContract(rig);
  instanceContract(rig);
  endingContract(rig);
});

describe('LXD and its block volumes, as any Incus server', { skip }, () => {
  volumeContract(useServer(() => lxdServer({ blocks: true })));
});
