import { etagOf } from './answers.ts';
import type { Instance } from './model.ts';
import type { State } from './state.ts';

const statusCodes = { Running: 103, Stopped: 102, Frozen: 110, Error: 112 } as const;

/** Part that a PUT replaces. */
export function writableOf({ architecture, config, devices, ephemeral, profiles, stateful, description }: Instance) {
  return { architecture, config, devices, ephemeral, profiles, stateful, description };
}

/** As with real servers, a change of the description alone leaves it as it is. */
export const instanceEtag = ({ architecture, config, devices, ephemeral, profiles }: Instance): string =>
  etagOf({ architecture, config, devices, ephemeral, profiles });

/** As it is read. */
export function viewOfInstance(state: State, instance: Instance) {
  const { name, project, type, location, config, devices } = instance;
  const status = state.isThere(location) ? instance.status : 'Error';
  return {
    ...writableOf(instance),
    name,
    project,
    type,
    status,
    status_code: statusCodes[status],
    location,
    created_at: '2026-01-01T00:00:00Z',
    last_used_at: '1970-01-01T00:00:00Z',
    expanded_config: config,
    expanded_devices: devices,
  };
}

/** `processes` is more than 0 once the agent in the guest answers. */
export function stateOfInstance(instance: Instance, agentMs: number | 'never') {
  const isRunning = instance.status === 'Running';
  const upMs = performance.now() - (instance.startedMs ?? Infinity);
  const answers = isRunning && agentMs !== 'never' && upMs >= agentMs;
  return {
    status: instance.status,
    status_code: statusCodes[instance.status],
    processes: answers ? 16 : isRunning ? -1 : 0,
    pid: isRunning ? 4_242 : 0,
    disk: null,
    network: null,
  };
}
