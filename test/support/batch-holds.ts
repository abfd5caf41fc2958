import type { RecordedRequest } from '../sim/request-log.ts';
import { snapshotRefs } from './batch-invariants.ts';
import type { SourceVm } from './batch-scenario.ts';
import { waitFor } from './wait-for.ts';

/** Calls about one VM that wait, however often they are made, until they may go on. */
export interface Held {
  /** Somebody waits. */
  arrived(): Promise<void>;
  /** What waits goes on, later calls too. */
  readonly release: () => void;
}

/** Before anything is done, after it was done, or while the target does it in the background. */
type At = 'call' | 'answer' | 'operation';

/** Requests to the target about one VM. */
const targetCalls = {
  /** Its root disk is opened for writing: once to see that it can be written, then once per copy. */
  disk: ['GET', (name: string) => new RegExp(`/virtual-machine/${name}/nbd$`), { writable: '1' }],
  /** The second of its disks. */
  secondDisk: ['GET', (name: string) => new RegExp(`/custom/${name}-disk1/nbd$`), { writable: '1' }],
  /** Its configuration is written: once per copy, then as it is to stay, then when it is handed over. */
  configure: ['PUT', (name: string) => new RegExp(`^/1.0/instances/${name}$`)],
  /** It is started or stopped. */
  power: ['PUT', (name: string) => new RegExp(`^/1.0/instances/${name}/state$`)],
  delete: ['DELETE', (name: string) => new RegExp(`^/1.0/instances/${name}$`)],
  /** It is looked at. */
  look: ['GET', (name: string) => new RegExp(`^/1.0/instances/${name}$`)],
} as const;

export type TargetCall = keyof typeof targetCalls;

type Method = 'GET' | 'PUT' | 'DELETE';
type Query = Readonly<Record<string, string>>;

/** Method, path and query of such a request, as faults of the target want them. */
export function targetCall(call: TargetCall, { name }: SourceVm) {
  const [method, path, query = {}] = targetCalls[call] as readonly [Method, (name: string) => RegExp, Query?];
  return { method, path: path(name), query } as const;
}

/** Holds these requests to the target; the first `skip` pass, and all after `times`. */
export function holdTarget(
  vm: SourceVm,
  call: TargetCall,
  {
    skip = 0,
    times = Infinity,
    at = 'call',
  }: { readonly skip?: number; readonly times?: number; readonly at?: At } = {},
): Held {
  const { incus } = vm.rig;
  const where = targetCall(call, vm);
  const { until, release } = gate();
  const kind = ({ call: 'hold', answer: 'hold-answer', operation: 'hold-operation' } as const)[at];
  incus.faults.add({ ...where, skip, times, effect: { kind, until } });
  const seen = (): number => incus.journal.requests(where.method, where.path, where.query).length;
  return {
    async arrived() {
      await waitFor(`${call} of ${vm.name} to be held`, () => seen() > skip);
    },
    release,
  };
}

/** Holds the answer to the creation of its instance, or of the volume of its second disk. */
export function holdCreation(vm: SourceVm, what: 'instance' | 'volume'): Held {
  const { incus } = vm.rig;
  const [path, name] =
    what === 'instance' ? [/^\/1.0\/instances$/, vm.name] : [/\/volumes\/custom$/, `${vm.name}-disk1`];
  const { until, release } = gate();
  incus.faults.add({ method: 'POST', path, name, times: Infinity, effect: { kind: 'hold-answer', until } });
  const isAsked = (): boolean =>
    incus.journal.requests('POST', path).some(({ body }) => (body as { name?: string } | undefined)?.name === name);
  return {
    async arrived() {
      await waitFor(`the creation of ${name}`, isAsked);
    },
    release,
  };
}

/** Holds these calls to the vCenter: SOAP methods on the VM, or reads of its properties that ask for `property`. */
export function holdSource(
  vm: Pick<SourceVm, 'rig' | 'name' | 'ref'>,
  method: string,
  { at = 'call', property = '' }: { readonly at?: 'call' | 'answer'; readonly property?: string } = {},
): Held {
  const { until, release } = gate();
  let isThere = false;
  const pass = async (): Promise<void> => {
    isThere = true;
    await until;
  };
  vm.rig.proxy.addRule({ method, times: Infinity, match: about(vm, property), action: 'hold', at, pass });
  return {
    async arrived() {
      await waitFor(`${method} of ${vm.name} to be held`, () => isThere);
    },
    release,
  };
}

/** Holds the removal of the snapshot that a copy of this VM works with now. */
export async function holdRemoval(vm: SourceVm, at: 'call' | 'answer' = 'call'): Promise<Held> {
  const [ours] = await snapshotRefs(vm);
  if (ours === undefined) throw new Error(`${vm.name} has no snapshot`);
  const { rig, name } = vm;
  return holdSource({ rig, name, ref: ours.ref.replace(/^.*:/, '') }, 'RemoveSnapshot_Task', { at });
}

/** Whether a request to the vCenter is about this VM. */
export function about({ ref }: Pick<SourceVm, 'ref'>, property = ''): (request: RecordedRequest) => boolean {
  return ({ body }) => body.includes(`>${ref}<`) && body.includes(property);
}

function gate(): { readonly until: Promise<void>; readonly release: () => void } {
  let open = (): void => undefined;
  const until = new Promise<void>((resolve) => (open = resolve));
  return { until, release: () => open() };
}
