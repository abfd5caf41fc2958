import { VSphereError } from '../faults.ts';

/** `[datastore] path` taken apart. */
export interface DatastorePath {
  readonly datastore: string;
  readonly path: string;
}

export function parseDatastorePath(text: string): DatastorePath {
  const [, datastore, path] = /^\[([^\]]+)\] *(\S.*)$/.exec(text) ?? [];
  if (datastore !== undefined && path !== undefined) return { datastore, path };
  const message = `"${text}" is no file of a datastore: a disk without a file of its own can't be read by file.`;
  throw new VSphereError('PROTOCOL', message, { kind: 'lookup', method: 'GET of a file', message });
}

/** Where the content of a disk lies: `x.vmdk` → `x-flat.vmdk`. */
export const flatFileOf = (path: string): string => path.replace(/(\.vmdk)?$/i, '-flat.vmdk');

/** Where its change tracking is kept: `x.vmdk` → `x-ctk.vmdk`. */
export const trackingFileOf = (path: string): string => path.replace(/(\.vmdk)?$/i, '-ctk.vmdk');

/** A file in the directory of another one. */
export const besides = (path: string, name: string): string => path.slice(0, path.lastIndexOf('/') + 1) + name;
