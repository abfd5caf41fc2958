import type { VcsimDiskSpec, VcsimHardware, VcsimNicSpec, VcsimSettings } from './vcsim-hardware.ts';
import { createVcsimHardware } from './vcsim-hardware.ts';

/** A fault by its vim25 type, injected into matching calls: after `skip` matches, `count` times (default: for ever). */
export interface VcsimFault {
  /** SOAP method, e.g. `Rename_Task`; `*` for any. */
  readonly method: string;
  readonly objectType?: string;
  /** Name that the object has in the inventory at that moment. Reads of properties are about every object that they name. */
  readonly objectName?: string;
  /** vim25 fault type, e.g. `InvalidState`; left out for a rule that only delays. */
  readonly fault?: string;
  /** Values of the fault's own fields, in their wire names. */
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly skip?: number;
  readonly count?: number;
  /** Passes before the answer; holds no lock of the simulator. */
  readonly delayMs?: number;
  /** The call succeeds and its task ends in error; nothing is changed. */
  readonly asTaskError?: boolean;
  /** Share of the matching calls that meet it; default all. */
  readonly probability?: number;
  /**
   * The call begins a task that does nothing, and holds no lock, until `clearFaults`; then it is carried out. For power on and
   * off, and for creating and removing snapshots.
   */
  readonly freeze?: boolean;
  /** `ShutdownGuest` succeeds and the guest does nothing. */
  readonly swallow?: boolean;
}

export interface VcsimRule extends VcsimFault {
  readonly id: number;
  readonly matched: number;
  readonly fired: number;
}

export interface VcsimCall {
  /** SOAP method, or e.g. `REST tag-association attach`. */
  readonly method: string;
  readonly objectType: string;
  readonly object: string;
  readonly name?: string;
  readonly at: string;
}

export interface VcsimCalls {
  readonly counts: Readonly<Record<string, number>>;
  /** Calls that could change something, in order. */
  readonly mutating: readonly VcsimCall[];
}

export interface VcsimSession {
  readonly key: string;
  readonly user: string;
  readonly loginTime: string;
  readonly lastActive: string;
  readonly calls: number;
}

export interface VcsimLease {
  readonly lease: string;
  readonly state: string;
  readonly percent: number;
  readonly entity?: string;
  readonly name?: string;
}

export interface VcsimTransfer {
  readonly method: string;
  readonly file: string;
  readonly lease: string;
  readonly bytes: number;
  /** The whole body came in. */
  readonly done: boolean;
}

export interface VcsimVmSpec {
  readonly name: string;
  /** Inventory path; default `/DC0/vm`. */
  readonly folder?: string;
  readonly datastore?: string;
  readonly pool?: string;
  readonly template?: boolean;
  readonly poweredOn?: boolean;
  readonly snapshot?: string;
  readonly annotation?: string;
  /** `$ref` in a value becomes the VM's own reference. */
  readonly extraConfig?: Readonly<Record<string, string>>;
  /** Product version of its vApp configuration. */
  readonly version?: string;
  readonly diskMiB?: number;
  /** Inventory path of the network that its card is on; without it there is none. */
  readonly network?: string;
  readonly disks?: readonly VcsimDiskSpec[];
  readonly nics?: readonly VcsimNicSpec[];
  /** Inventory path of its host; default any. */
  readonly host?: string;
  /** Guest tools do not run in it. */
  readonly noTools?: boolean;
  readonly settings?: VcsimSettings;
}

export interface VcsimVm {
  readonly ref: string;
  readonly name: string;
  readonly parent: string;
  readonly host?: string;
  readonly template: boolean;
  readonly powerState: 'poweredOn' | 'poweredOff' | 'suspended';
  readonly version?: string;
  readonly annotation?: string;
  readonly extraConfig: Readonly<Record<string, string>>;
  readonly networks: readonly string[];
  readonly disks: readonly { readonly file: string; readonly capacityKiB: number }[];
}

/** What tests do to the simulator behind its clients' backs. Every method fails with what the simulator said. */
export interface VcsimControl extends VcsimHardware {
  readonly url: string;
  /** Adds to the delays in force, by method (call) or task name; a negative number removes one. */
  setDelays(ms: Readonly<Record<string, number>>): Promise<Readonly<Record<string, number>>>;
  /** Back to the delays it was started with. */
  clearDelays(): Promise<void>;
  addFault(fault: VcsimFault): Promise<number>;
  faults(): Promise<readonly VcsimRule[]>;
  /** Frozen tasks go on. */
  clearFaults(): Promise<void>;
  sessions(): Promise<readonly VcsimSession[]>;
  /** Ends the session with this key, or all; answers how many. */
  terminateSessions(key?: string): Promise<number>;
  leases(): Promise<readonly VcsimLease[]>;
  /** Takes one lease away, or all: the next call on it finds nothing. */
  abortLeases(lease?: string): Promise<number>;
  /** Puts one lease into the state error, or all; default fault `Timedout`. */
  failLeases(fault?: string, lease?: string): Promise<number>;
  calls(): Promise<VcsimCalls>;
  clearCalls(): Promise<void>;
  /** Uploads and downloads of disks since the last `clearTransfers`, running ones included. */
  transfers(): Promise<readonly VcsimTransfer[]>;
  clearTransfers(): Promise<void>;
  vms(): Promise<readonly VcsimVm[]>;
  /** The VM of this name, if there is exactly one; undefined if none. */
  vm(name: string): Promise<VcsimVm | undefined>;
  createVm(vm: VcsimVmSpec): Promise<string>;
  renameVm(ref: string, name: string): Promise<void>;
  destroyVm(ref: string): Promise<void>;
  powerOnVm(ref: string): Promise<void>;
  powerOffVm(ref: string): Promise<void>;
  markAsTemplate(ref: string): Promise<void>;
  /** Resolves with the clone's reference when it is complete. */
  cloneVm(ref: string, name: string, folder?: string): Promise<string>;
  createFolder(parent: string, name: string): Promise<string>;
  /** Reference of what has this inventory path. */
  find(path: string): Promise<{ readonly type: string; readonly ref: string } | undefined>;
  /** Moves the hosts whose inventory path matches (`/DC0/host/DC0_C0/*`) in or out of maintenance mode. */
  setMaintenance(hosts: string, on: boolean): Promise<number>;
  /** Settings of the vCenter, e.g. `config.vmacore.soap.sessionTimeout`. */
  setOptions(options: Readonly<Record<string, string>>): Promise<void>;
  /** Urn of the tag; category and tag are created where missing. */
  ensureTag(category: string, name: string): Promise<string>;
  attachTag(urn: string, ref: string): Promise<void>;
  attachedTags(ref: string): Promise<readonly string[]>;
}

export function createVcsimControl(url: string): VcsimControl {
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${url}${path}`, {
      method,
      ...(body === undefined ? {} : { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`The simulator refused ${method} ${path}: ${text.trim()}`);
    return JSON.parse(text) as T;
  };
  const get = <T>(path: string): Promise<T> => call('GET', path);
  const post = <T>(path: string, body: unknown): Promise<T> => call('POST', path, body);
  const clear = (path: string): Promise<void> => done(call('DELETE', path));
  const change = async (operation: string, ref: string, more: object = {}): Promise<string> =>
    (await post<{ ref: string }>('/vms/change', { operation, ref, ...more })).ref;

  return {
    ...createVcsimHardware(call),
    url,
    setDelays: (ms) => post('/delays', ms),
    clearDelays: () => clear('/delays'),
    addFault: async (fault) => (await post<{ id: number }>('/faults', fault)).id,
    faults: () => get('/faults'),
    clearFaults: () => clear('/faults'),
    sessions: () => get('/sessions'),
    terminateSessions: async (key) => (await post<Count>('/sessions/terminate', { key })).count,
    leases: () => get('/lease'),
    abortLeases: async (lease) => (await post<Count>('/lease/abort', { lease })).count,
    failLeases: async (fault, lease) => (await post<Count>('/lease/error', { lease, fault })).count,
    calls: async () => {
      const { counts, mutating } = await get<{ counts: Record<string, number>; mutating: VcsimCall[] | null }>(
        '/calls',
      );
      return { counts, mutating: mutating ?? [] };
    },
    clearCalls: () => clear('/calls'),
    transfers: () => get('/nfc'),
    clearTransfers: () => clear('/nfc'),
    vms: () => get('/vms'),
    vm: async (name) => onlyOne(name, await get<VcsimVm[]>('/vms')),
    createVm: async (vm) => (await post<{ ref: string }>('/vms', vm)).ref,
    renameVm: (ref, name) => done(change('rename', ref, { name })),
    destroyVm: (ref) => done(change('destroy', ref)),
    powerOnVm: (ref) => done(change('powerOn', ref)),
    powerOffVm: (ref) => done(change('powerOff', ref)),
    markAsTemplate: (ref) => done(change('markAsTemplate', ref)),
    cloneVm: (ref, name, folder) => change('clone', ref, { name, folder }),
    createFolder: async (parent, name) => (await post<{ ref: string }>('/folders', { parent, name })).ref,
    find: async (path) => {
      const found = await post<{ type: string; ref: string }>('/find', { path });
      return found.ref === '' ? undefined : found;
    },
    setMaintenance: async (host, on) => (await post<Count>('/maintenance', { host, on })).count,
    setOptions: (options) => done(post('/options', options)),
    ensureTag: async (category, name) => (await post<{ urn: string }>('/tags', { category, name })).urn,
    attachTag: (urn, ref) => done(post('/tags/attach', { urn, ref })),
    attachedTags: async (ref) => (await post<string[] | null>('/tags/attached', { ref })) ?? [],
  };
}

interface Count {
  readonly count: number;
}

function onlyOne(name: string, vms: readonly VcsimVm[]): VcsimVm | undefined {
  const found = vms.filter((vm) => vm.name === name);
  if (found.length > 1) throw new Error(`${found.length} VMs are named ${name}: ask by folder.`);
  return found[0];
}

async function done(answer: Promise<unknown>): Promise<void> {
  await answer;
}
