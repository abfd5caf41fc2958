import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { vmopKeys } from '../../../workflows/contracts/vmop.ts';
import { behaviourOf, noDelays } from '../../sim/vm-layer/behaviour.ts';
import type { Move, World } from '../../sim/vm-layer/moves.ts';
import { finalizers, type InstanceStatus, type MachineStatus } from '../../sim/vm-layer/objects.ts';

interface Parts {
  readonly spec?: KubeObject['spec'];
  readonly status?: object;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deleting?: boolean;
  readonly vmUid?: string;
}

function object(uid: string, { spec, status, annotations, deleting = false, vmUid = 'vm-1' }: Parts): KubeObject {
  return {
    metadata: {
      name: 'db-0',
      namespace: 'shop',
      uid,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { [vmopKeys.vmUidLabel]: vmUid },
      finalizers: Object.values(finalizers),
      ...(annotations === undefined ? {} : { annotations }),
      ...(deleting ? { deletionTimestamp: '2026-01-01T00:00:01Z' } : {}),
    },
    ...(spec === undefined ? {} : { spec }),
    ...(status === undefined ? {} : { status: { ...status } }),
  };
}

export const vm = (parts: Parts = {}): KubeObject => object('vm-1', { spec: { runPolicy: 'Manual' }, ...parts });

export const machine = (status: MachineStatus = {}, parts: Parts = {}): KubeObject =>
  object('machine-1', { spec: { runStrategy: 'Manual' }, status: { printableStatus: 'Stopped', ...status }, ...parts });

export const instance = (status: InstanceStatus = { phase: 'Running' }, parts: Parts = {}): KubeObject =>
  object('instance-1', { spec: { terminationGracePeriodSeconds: 60 }, status, ...parts });

/** A VM with a machine and nothing running, but for what is given. */
export function world(
  parts: Partial<Omit<World, 'behaviour'>> & { readonly switches?: Readonly<Record<string, string>> } = {},
): World {
  const { switches = {}, ...rest } = parts;
  return {
    namespace: 'shop',
    name: 'db-0',
    vm: vm(),
    machine: machine(),
    instance: undefined,
    migrations: [],
    behaviour: behaviourOf(switches, noDelays),
    nodes: [{ name: 'node-a' }, { name: 'node-b' }],
    now: '2026-01-01T00:00:00.000Z',
    elapsed: () => 0,
    ...rest,
  };
}

/** What a move does, in a few words. */
export function inWords(move: Move): string {
  if (move === undefined) return 'nothing';
  if ('afterMs' in move) return `later (${move.afterMs} ms)`;
  return `${move.verb} ${move.on}: ${move.why}`;
}
