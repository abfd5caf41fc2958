import type { OwnershipMarks } from './port.ts';

/** Keys of instances and volumes while they belong to an entry. With the dot: `user.migration_source` stays for ever. */
const prefix = 'user.migration.';

const keys = {
  uuid: `${prefix}uuid`,
  batch: `${prefix}batch`,
  attempt: `${prefix}attempt`,
  running: `${prefix}running`,
  source: `${prefix}source`,
  fence: `${prefix}fence`,
} as const;

const migrated = { uuid: 'user.migrated.uuid', at: 'user.migrated.at' } as const;

/** Where an instance came from and the name of a disk at the source; stays for ever. */
export const sourceKey = 'user.migration_source';

export type Config = Readonly<Record<string, string>>;

/** Which entry and attempt something belongs to. */
export type Owner = Pick<OwnershipMarks, 'uuid' | 'attempt'>;

export function instanceMarks(marks: OwnershipMarks): Config {
  return {
    [keys.uuid]: marks.uuid,
    [keys.batch]: marks.batch,
    [keys.attempt]: String(marks.attempt),
    [keys.running]: String(marks.running),
    [keys.source]: marks.source,
  };
}

export function volumeMarks({ uuid, attempt }: Owner): Config {
  return { [keys.uuid]: uuid, [keys.attempt]: String(attempt) };
}

/** Undefined: it belongs to no entry. */
export function ownerOf(config: Config): Owner | undefined {
  const uuid = config[keys.uuid] ?? '';
  const attempt = count(config[keys.attempt]);
  return uuid === '' || attempt === undefined ? undefined : { uuid, attempt };
}

/** Undefined: it belongs to no entry. */
export function marksOf(config: Config): OwnershipMarks | undefined {
  const owner = ownerOf(config);
  if (owner === undefined) return undefined;
  return {
    ...owner,
    batch: config[keys.batch] ?? '',
    running: config[keys.running] === 'true',
    source: config[keys.source] ?? '',
  };
}

export function isOwner(config: Config, { uuid, attempt }: Owner): boolean {
  const owner = ownerOf(config);
  return owner?.uuid === uuid && owner.attempt === attempt;
}

/** 0: none was set. */
export function fenceOf(config: Config): number {
  return count(config[keys.fence]) ?? 0;
}

export function withFence(config: Config, fence: number): Config {
  return { ...config, [keys.fence]: String(fence) };
}

/** The entry that has handed it over; undefined: none has, or it belongs to another one by now. */
export function releaserOf(config: Config): string | undefined {
  return ownerOf(config) === undefined ? config[migrated.uuid] : undefined;
}

export function isReleased(config: Config, uuid: string): boolean {
  return releaserOf(config) === uuid;
}

/** From then on nothing of ours deletes it. */
export function released(config: Config, uuid: string, at: string): Config {
  const rest = Object.entries(config).filter(([key]) => !key.startsWith(prefix));
  return { ...Object.fromEntries(rest), [migrated.uuid]: uuid, [migrated.at]: at };
}

/** Whose something is, for people. */
export function describeOwner(config: Config): string {
  const owner = ownerOf(config);
  if (owner !== undefined) return `it belongs to attempt ${owner.attempt} of the entry ${owner.uuid}`;
  const uuid = config[migrated.uuid];
  return uuid === undefined ? 'it has no marks of vmflow' : `it is the finished migration of ${uuid}`;
}

const count = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
