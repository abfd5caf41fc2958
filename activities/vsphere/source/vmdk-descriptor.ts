import { vmdkError } from './vmdk-header.ts';

/** The one file with the content of a flat disk. */
export interface FlatExtent {
  /** Bytes. */
  readonly capacity: number;
  /** In the directory of the descriptor. */
  readonly file: string;
}

export const isDescriptor = (start: string): boolean => /^#\s*Disk DescriptorFile/i.test(start);

/** Reads the descriptor of a disk whose content lies in one flat file beside it. */
export function parseFlatDescriptor(text: string): FlatExtent {
  const extents = [...text.matchAll(/^(?:RW|RDONLY)\s+(\d+)\s+(\w+)\s+"([^"]+)"/gm)];
  const [extent] = extents;
  if (extent === undefined) throw vmdkError('its descriptor names no extent');
  if (extents.length > 1) throw vmdkError(`its descriptor names ${extents.length} extents`);
  const [, sectors = '', type = '', file = ''] = extent;
  if (type !== 'VMFS' && type !== 'FLAT') throw vmdkError(`its extent is of type ${type}`);
  if (file.includes('/')) throw vmdkError('its extent lies in another directory');
  return { capacity: Number(sectors) * 512, file };
}
