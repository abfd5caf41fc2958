import type { NetworkFacts } from '../../../../activities/vsphere/source/network-records.ts';
import { NetworkIndex } from '../../../../activities/vsphere/source/network-records.ts';
import type { VmFacts } from '../../../../activities/vsphere/source/instance-record.ts';

type Device = Record<string, unknown>;

export const controller = (over: Device = {}): Device => ({
  _type: 'ParaVirtualSCSIController',
  key: 1000,
  busNumber: '0',
  sharedBus: 'noSharing',
  ...over,
});

export const disk = (over: Device = {}, backing: Device = {}): Device => ({
  _type: 'VirtualDisk',
  key: 2000,
  controllerKey: 1000,
  unitNumber: 0,
  capacityInKB: 1024,
  capacityInBytes: 1024 * 1024,
  ...over,
  backing: {
    _type: 'VirtualDiskFlatVer2BackingInfo',
    fileName: '[ds1] web/web.vmdk',
    diskMode: 'persistent',
    ...backing,
  },
});

export const nic = (over: Device = {}, backing: Device = {}): Device => ({
  _type: 'VirtualVmxnet3',
  key: 4000,
  macAddress: '00:50:56:AA:BB:01',
  ...over,
  backing: {
    _type: 'VirtualEthernetCardNetworkBackingInfo',
    deviceName: 'VM Network',
    network: { type: 'Network', value: 'network-7' },
    ...backing,
  },
});

export const standardNetwork = (over: Partial<NetworkFacts> = {}): NetworkFacts => ({
  ref: { type: 'Network', value: 'network-7' },
  props: new Map<string, unknown>([['name', 'VM Network']]),
  location: '/DC0/network/VM Network',
  ...over,
});

export const portGroup = (config: Device = {}, location = '/DC0/network/pg-9'): NetworkFacts => ({
  ref: { type: 'DistributedVirtualPortgroup', value: 'dvportgroup-9' },
  props: new Map<string, unknown>([
    ['name', location.split('/').at(-1)],
    ['key', 'dvportgroup-9'],
    ['config', { key: 'dvportgroup-9', ...config }],
  ]),
  location,
});

/** A VM with everything set; `props` are added, undefined takes one away. */
export function vmFacts(props: Record<string, unknown> = {}, over: Partial<VmFacts> = {}): VmFacts {
  const all = new Map<string, unknown>([
    ['name', 'web'],
    ['config.name', 'web'],
    ['config.instanceUuid', '5298CC11-96EA-4F50-B018-6D80BFDAA7D9'],
    ['config.annotation', 'a web server'],
    ['config.guestFullName', 'Ubuntu Linux (64-bit)'],
    ['config.template', false],
    ['config.hardware.numCPU', 2],
    ['config.hardware.memoryMB', 4096],
    ['config.hardware.device', [controller(), disk(), nic()]],
    ['config.firmware', 'efi'],
    ['config.bootOptions', { efiSecureBootEnabled: true }],
    ['config.changeTrackingEnabled', true],
    [
      'config.extraConfig["guestInfo.detailed.data"]',
      {
        key: 'guestInfo.detailed.data',
        value:
          "architecture='X86' bitness='64' distroName='Ubuntu' distroVersion='22.04' prettyName='Ubuntu 22.04.4 LTS'",
      },
    ],
    ['summary.config', { tpmPresent: true }],
    ['runtime.powerState', 'poweredOn'],
    ['runtime.host', { type: 'HostSystem', value: 'host-12' }],
    ['guest.net', [{ deviceConfigId: 4000, macAddress: '00:50:56:aa:bb:01', ipAddress: ['10.0.0.5', 'fe80::1'] }]],
  ]);
  for (const [path, value] of Object.entries(props)) {
    if (value === undefined) all.delete(path);
    else all.set(path, value);
  }
  return {
    ref: { type: 'VirtualMachine', value: 'vm-12' },
    props: all,
    location: '/DC0/vm/web',
    tags: new Map(),
    resourcePool: '',
    networks: new NetworkIndex([standardNetwork()], 'vc1'),
    ...over,
  };
}
