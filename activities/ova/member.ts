import { posix } from 'node:path';

/** One entry of the tar. */
export interface Member {
  /** As stored, for messages. */
  readonly rawName: string;
  /** Without leading `./`. */
  readonly name: string;
  /** tar-stream's word: `file`, `symlink`, `directory` …; undefined for types it doesn't know. */
  readonly type: string | undefined;
  /** First byte of the data in the archive. */
  readonly offset: number;
  readonly size: number;
}

/** Removes `./` prefixes, which tar writers add freely. */
export const plainName = (name: string): string => name.replace(/^(?:\.\/+)+/, '');

export const isRegularFile = (member: Member): boolean => member.type === 'file' || member.type === 'contiguous-file';

/** Absolute or leading out of the archive. */
export const isUnsafeName = (name: string): boolean =>
  name.startsWith('/') || /^[a-z]:[\\/]/i.test(name) || name.split(/[\\/]/).includes('..');

/** The name once everything unsafe is stripped: a descriptor called `/x.ovf` must be found to be refused. */
const harmlessName = (name: string): string => posix.normalize(`/${name}`).slice(1);

const isTopLevel = (member: Member): boolean => !harmlessName(member.name).includes('/');

/** Files of one kind at the top level. AppleDouble companions (`._x.ovf`), which macOS' tar adds, don't count. */
export function topLevelFiles(members: readonly Member[], extension: string): Member[] {
  return members.filter(
    (member) =>
      member.type !== 'directory' &&
      isTopLevel(member) &&
      member.name.toLowerCase().endsWith(extension) &&
      !harmlessName(member.name).startsWith('._'),
  );
}

/** The members' names as one readable list. */
export function listMembers(members: readonly Member[]): string {
  if (members.length === 0) return 'it has no members';
  const shown = members.slice(0, 20).map((member) => `"${member.rawName}"`);
  const rest = members.length - shown.length;
  return `it has ${shown.join(', ')}${rest > 0 ? ` and ${String(rest)} more` : ''}`;
}
