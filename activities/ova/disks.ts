import { capacityInBytes } from './capacity.ts';
import type { DiskItem } from './hardware.ts';
import { SourceError } from './source-error.ts';
import { attribute, childNamed, childrenNamed, type XmlElement } from './xml-tree.ts';

/** A `File` of the `References`. */
export interface OvfFile {
  readonly id: string;
  readonly href: string;
  /** As declared; NaN when it is no number. */
  readonly size?: number;
}

/** A disk of the virtual machine. */
export interface OvfDisk {
  readonly diskId: string;
  readonly fileId: string;
  readonly fileHref: string;
  readonly capacityBytes: number;
  readonly populatedBytes?: number;
}

/** Fails with `OVF_DISK`, `OVF_COMPRESSED_FILE`, `OVF_CHUNKED_FILE`. */
export function readFiles(envelope: XmlElement): OvfFile[] {
  const files = childrenNamed(childNamed(envelope, 'References'), 'File').map((element): OvfFile => {
    const id = attribute(element, 'id') ?? '';
    const href = attribute(element, 'href') ?? '';
    if (id === '' || href === '') {
      throw new SourceError('OVF_DISK', `a File of the References has no id or no href (id "${id}", href "${href}")`);
    }
    refusePackedFile(element, href);
    const size = attribute(element, 'size');
    return { id, href, ...(size === undefined ? {} : { size: /^\d+$/.test(size) ? Number(size) : Number.NaN }) };
  });
  refuseRepeated(
    files.map((file) => file.id),
    'File id',
  );
  return files;
}

function refusePackedFile(element: XmlElement, href: string): void {
  const compression = attribute(element, 'compression');
  if (compression !== undefined && compression !== '' && compression !== 'identity') {
    throw new SourceError('OVF_COMPRESSED_FILE', `file "${href}" is stored with compression "${compression}"`);
  }
  if (attribute(element, 'chunkSize') !== undefined) {
    throw new SourceError('OVF_CHUNKED_FILE', `file "${href}" is split into chunks`);
  }
}

function refuseRepeated(ids: readonly string[], what: string): void {
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined) {
    throw new SourceError('OVF_DISK', `the ${what} "${repeated}" is given twice`);
  }
}

/** The `Disk` elements. Whether one is complete matters only when an item uses it. */
export function readDisks(envelope: XmlElement): XmlElement[] {
  const disks = childrenNamed(childNamed(envelope, 'DiskSection'), 'Disk');
  refuseRepeated(
    disks.map((disk) => attribute(disk, 'diskId') ?? ''),
    'diskId',
  );
  return disks;
}

/** The disk behind a disk item, with its file. Fails with `OVF_DISK`, `OVF_CAPACITY`. */
export function diskOf(item: DiskItem, disks: readonly XmlElement[], files: readonly OvfFile[]): OvfDisk {
  const diskId = item.hostResource.replace(/^(?:ovf:)?\/+disk\//, '');
  const disk = disks.find((candidate) => attribute(candidate, 'diskId') === diskId);
  if (disk === undefined) {
    throw new SourceError(
      'OVF_DISK',
      `${item.label} points to "${item.hostResource}", which is no Disk of the descriptor`,
    );
  }
  const fileRef = attribute(disk, 'fileRef');
  if (fileRef === undefined || fileRef === '') {
    throw new SourceError('OVF_DISK', `disk "${diskId}" has no fileRef: an empty disk can't be imported`);
  }
  const file = files.find((candidate) => candidate.id === fileRef);
  if (file === undefined) {
    throw new SourceError(
      'OVF_DISK',
      `disk "${diskId}" has the fileRef "${fileRef}", which is no File of the References`,
    );
  }
  const populated = Number(attribute(disk, 'populatedSize') ?? Number.NaN);
  return {
    diskId,
    fileId: file.id,
    fileHref: file.href,
    capacityBytes: capacityInBytes(diskId, attribute(disk, 'capacity'), attribute(disk, 'capacityAllocationUnits')),
    ...(Number.isFinite(populated) ? { populatedBytes: populated } : {}),
  };
}
