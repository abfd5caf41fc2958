import type { DiskRecord, InstanceRecord, NetworkRecord, NicRecord } from '../../../workflows/domain/batch/records.ts';
import { bool, int, listOf, record, string, texts, time, type Type } from './type.ts';
import type { ValueMap } from './value.ts';

/** The records that expressions are about. That of an instance with the overrides of its batch applied. */
export interface Subjects {
  readonly instance: InstanceRecord;
  readonly network: NetworkRecord;
  readonly disk: DiskRecord;
  readonly nic: NicRecord;
}

export type Subject = keyof Subjects;

const disk = {
  name: string,
  capacity: int,
  shared: bool,
  supported: bool,
  background_import_verified: bool,
} satisfies Record<keyof DiskRecord, Type>;

const nic = {
  uuid: string,
  source_specific_id: string,
  hardware_address: string,
  location: string,
  ipv4_address: string,
  ipv6_address: string,
} satisfies Record<keyof NicRecord, Type>;

const network = { uuid: string, source_specific_id: string, source: string, type: string, location: string };

/** Neither its host nor its tools are among them: where a VM runs, and what runs in it, at the moment says nothing about it. */
const instance = {
  uuid: string,
  source_specific_id: string,
  location: string,
  name: string,
  description: string,
  os: string,
  os_description: string,
  os_template: string,
  os_type: string,
  distribution: string,
  distribution_version: string,
  source: string,
  source_type: string,
  cpus: int,
  memory: int,
  config: texts,
  architecture: string,
  secure_boot: bool,
  legacy_boot: bool,
  tpm: bool,
  running: bool,
  background_import: bool,
  nics: listOf(record('nic', nic)),
  disks: listOf(record('disk', disk)),
  snapshots: listOf(record('snapshot', { name: string })),
  last_update_from_source: time,
} satisfies Record<keyof Omit<InstanceRecord, 'host' | 'guest_tools'>, Type>;

const names: Readonly<Record<Subject, Readonly<Record<string, Type>>>> = { instance, network, disk, nic };

/** The names that expressions about such a record see, with their types. */
export function namesOf(subject: Subject): Readonly<Record<string, Type>> {
  return names[subject];
}

/** What the names stand for. Only what is named in `namesOf` can be reached. */
export const environmentOf: { readonly [S in Subject]: (record: Subjects[S]) => ValueMap } = {
  instance: ({ nics, disks, snapshots, ...vm }) => ({
    ...vm,
    uuid: vm.uuid.toLowerCase(),
    nics: nics.map(ofNic),
    disks: disks.map((disk) => ({ ...disk })),
    snapshots: snapshots.map(({ name }) => ({ name })),
    last_update_from_source: timeOf(vm.last_update_from_source),
  }),
  network: ({ uuid, source_specific_id, source, type, location }) => ({
    uuid: uuid.toLowerCase(),
    source_specific_id,
    source,
    type,
    location,
  }),
  disk: (record) => ({ ...record }),
  nic: ofNic,
};

function ofNic(record: NicRecord): ValueMap {
  return { ...record, uuid: record.uuid.toLowerCase() };
}

/** A record that was never updated is older than all others. */
function timeOf(instant: string): number {
  const ms = Date.parse(instant);
  return Number.isNaN(ms) ? Date.parse('0001-01-01T00:00:00Z') : ms;
}
