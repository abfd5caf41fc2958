import { toWireName } from './names.ts';

/** Segments of an inventory path without empty ones and `.`; a `/` inside a name is written `%2f`. */
export function pathSegments(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '' && segment !== '.');
}

/** Escapes one path segment unless it already is in wire form. */
function wireSegment(segment: string): string {
  return /%(?:25|2f|5c)/i.test(segment)
    ? segment.replaceAll(/%(25|2f|5c)/gi, (e) => e.toLowerCase())
    : toWireName(segment);
}

/**
 * The one spelling of a VM folder: absolute, no trailing slash, wire-escaped. `folder` may be absent (the datacenter's VM
 * folder), absolute, or start with the datacenter's path or with `vm` below it.
 */
export function canonicalFolder(datacenter: string, folder?: string): string {
  const dc = pathSegments(datacenter).map(wireSegment);
  const parts = pathSegments(folder ?? '').map(wireSegment);
  const below = dc.every((segment, i) => parts[i] === segment) ? parts.slice(dc.length) : parts;
  return `/${[...dc, ...(below.length === 0 ? ['vm'] : below)].join('/')}`;
}

/** True when an explicit folder path lies in the datacenter's VM folder tree (or is given relative to it). */
export function isVmFolderPath(datacenter: string, folder: string | undefined): boolean {
  if (folder === undefined) return true;
  const dc = pathSegments(datacenter).map(wireSegment);
  const rest = pathSegments(canonicalFolder(datacenter, folder)).slice(dc.length);
  return rest[0] === 'vm';
}
