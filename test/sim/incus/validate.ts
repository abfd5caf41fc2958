import { z } from 'zod';
import { Refusal } from './answers.ts';
import type { Config, Devices, Instance } from './model.ts';
import { addressProblem } from './nic-conflicts.ts';
import type { State } from './state.ts';

/** Fields of a wrong type are refused at once; unknown ones are ignored. */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Refusal(400, `json: cannot unmarshal field ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
}

export const strings = z.record(z.string(), z.string());
const devices = z.record(z.string(), strings);

export const instancePut = z.object({
  architecture: z.string().optional(),
  config: strings.nullish(),
  devices: devices.nullish(),
  profiles: z.array(z.string()).nullish(),
  ephemeral: z.boolean().optional(),
  stateful: z.boolean().optional(),
  description: z.string().optional(),
});

export const instancePost = instancePut.extend({
  name: z.string(),
  type: z.enum(['virtual-machine', 'container']).default('container'),
  source: z.object({ type: z.string() }),
});

export const statePut = z.object({
  action: z.enum(['start', 'stop', 'restart', 'freeze', 'unfreeze']),
  timeout: z.number().int().default(0),
  force: z.boolean().default(false),
  stateful: z.boolean().default(false),
});

export const volumePut = z.object({ config: strings.nullish(), description: z.string().default('') });

export const volumePost = volumePut.extend({
  name: z.string().min(1),
  type: z.literal('custom').optional(),
  content_type: z.enum(['block', 'filesystem']).default('filesystem'),
});

export const isHostName = (name: string): boolean => /^(?=.{1,63}$)[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?$/.test(name);

const anyKey = /^(user|image|volatile|environment|cloud-init|snapshots|boot)\../;
const knownKeys = [
  'limits.cpu',
  'limits.memory',
  'security.csm',
  'security.secureboot',
  'migration.stateful',
  'agent.nic_config',
  'raw.qemu',
  'cluster.evacuate',
];
const nicKeys = ['type', 'name', 'network', 'nictype', 'parent', 'hwaddr', 'ipv4.address', 'vlan', 'vlan.tagged'];
const diskKeys = ['type', 'path', 'pool', 'source', 'size', 'boot.priority', 'io.bus', 'dependent'];

/** Throws what makes the operation fail. */
export function checkConfig(config: Config): void {
  for (const [key, value] of Object.entries(config)) {
    if (!anyKey.test(key) && !knownKeys.includes(key)) throw new Error(`Unknown configuration key: ${key}`);
    if (/^(security|migration)\./.test(key) && !['true', 'false'].includes(value))
      throw new Error(`Invalid value for a boolean ${value} of ${key}`);
  }
  if (config['security.csm'] === 'true' && config['security.secureboot'] === 'true')
    throw new Error("Secure boot can't be enabled while CSM is turned on");
  if (!/^\d+$/.test(config['limits.cpu'] ?? '1')) throw new Error('Invalid value for limits.cpu');
  if (!/^\d+(B|[kMG]i?B)$/.test(config['limits.memory'] ?? '1GiB')) throw new Error('Invalid value for limits.memory');
}

/** Throws what makes the operation fail. */
export function checkDevices(state: State, project: string, devices: Devices, extensions: readonly string[]): void {
  for (const [name, device] of Object.entries(devices)) {
    const fail = (why: string): never => {
      throw new Error(`Invalid devices: Device validation failed for "${name}": ${why}`);
    };
    switch (device['type']) {
      case 'nic':
        checkKeys(device, nicKeys, fail);
        checkNic(state, project, device, fail);
        break;
      case 'disk':
        checkKeys(
          device,
          extensions.includes('dependent') ? diskKeys : diskKeys.filter((key) => key !== 'dependent'),
          fail,
        );
        checkDisk(state, project, device, fail);
        break;
      case 'tpm':
        checkKeys(device, ['type', 'path', 'pathrm'], fail);
        break;
      default:
        fail(`Unsupported device type ${device['type'] ?? ''}`);
    }
  }
}

function checkKeys(device: Config, known: readonly string[], fail: (why: string) => never): void {
  const unknown = Object.keys(device).find((key) => !known.includes(key) && !key.startsWith('user.'));
  if (unknown !== undefined) fail(`Invalid device option "${unknown}"`);
}

function checkNic(state: State, project: string, device: Config, fail: (why: string) => never): void {
  const { network: name, nictype, parent, hwaddr } = device;
  if (hwaddr !== undefined && !/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(hwaddr)) fail('Invalid value for "hwaddr"');
  if (name === undefined) {
    if (nictype === undefined || parent === undefined) fail('Missing nictype or parent');
    if ('ipv4.address' in device) fail('Cannot specify "ipv4.address" without a managed network');
    return;
  }
  const network = state.networksOf(project).find((known) => known.managed && known.name === name);
  if (network === undefined) return fail(`Failed loading network "${name}": Network not found`);
  const clash = ['nictype', 'parent', ...(network.type === 'physical' ? ['vlan'] : [])].find((key) => key in device);
  if (clash !== undefined) fail(`Cannot use "${clash}" property in conjunction with "network" property`);
  const hasSubnet =
    ['bridge', 'ovn'].includes(network.type) && !['', 'none'].includes(network.config['ipv4.address'] ?? '');
  const address = device['ipv4.address'];
  if (address === undefined) return;
  if (!hasSubnet) return fail('Cannot specify "ipv4.address" when DHCP is disabled on the network');
  const problem = addressProblem(network.config['ipv4.address'] ?? '', address);
  if (problem !== undefined) fail(problem);
}

function checkDisk(state: State, project: string, device: Config, fail: (why: string) => never): void {
  const { pool = '', source = '', path } = device;
  if (!state.pools.has(pool)) fail(`Failed to get storage pool "${pool}": Storage pool not found`);
  if (path === '/') return;
  const volume = state.findVolume(pool, project, 'custom', source);
  if (volume === undefined) return fail(`Failed loading volume "${source}": Storage volume not found`);
  if (volume.contentType !== 'block') fail('Only block volumes can be attached to virtual machines here');
}

const fixedWhileRunning = ['security.csm', 'security.secureboot', 'limits.cpu', 'limits.memory', 'migration.stateful'];

/** Throws where a running machine can't be changed so. */
export function checkLiveChange(instance: Instance, config: Config): void {
  if (instance.status === 'Stopped') return;
  const key = fixedWhileRunning.find((name) => instance.config[name] !== config[name]);
  if (key !== undefined) throw new Error(`Key "${key}" cannot be updated when VM is running`);
}
