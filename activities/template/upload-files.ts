import { byteCounter } from '../transfer-metrics.ts';
import type { ImportProgress } from './upload-progress.ts';
import type { LocalSource } from './deps.ts';
import { openEntry } from '../ova/entry-reader.ts';
import type { OvaFile } from '../ova/inspect.ts';
import { OperationError } from '../failures.ts';
import { VSphereError } from '../vsphere/faults.ts';
import { uploadRing } from '../vsphere/upload-stream.ts';
import type {
  ImportFileItem,
  LeaseDeviceUrl,
  LeaseInfo,
  LeaseManifestEntry,
  MoRef,
  VSphereSession,
} from '../vsphere/port.ts';

interface Upload {
  readonly file: OvaFile;
  readonly item: ImportFileItem;
  readonly device: LeaseDeviceUrl;
}

export interface UploadContext {
  readonly session: VSphereSession;
  readonly lease: MoRef;
  readonly progress: ImportProgress;
  readonly signal: AbortSignal;
  readonly stallMs: number;
}

/** Joins what the import wants, where the lease takes it and where it lies in the OVA. */
export function matchFiles(fileItems: readonly ImportFileItem[], lease: LeaseInfo, local: LocalSource): Upload[] {
  const uploads = fileItems.map((item) => {
    const device = lease.deviceUrls.find((candidate) => candidate.importKey === item.deviceId);
    const file = local.inspection.files.find((candidate) => candidate.href === item.path);
    if (device === undefined || file === undefined)
      throw mapping(`no ${device === undefined ? 'address' : 'file in the OVA'} for "${item.path}"`);
    return { item, device, file };
  });
  const unused = lease.deviceUrls.filter((device) => !fileItems.some((item) => item.deviceId === device.importKey));
  if (unused.length > 0) throw mapping(`the lease has ${unused.length} addresses that no file belongs to`);
  if (local.inspection.disks.length > 0 && uploads.length === 0) throw mapping('the lease has no address to upload to');
  return uploads;
}

function mapping(why: string): VSphereError {
  return new VSphereError('LEASE_MAPPING', `the import lease doesn't fit the OVA: ${why}`, {
    kind: 'lease-error',
    message: why,
  });
}

/** Uploads one after the other in the order vCenter asked for; each is compared with what the server says it got. */
export async function uploadFiles(
  context: UploadContext,
  local: LocalSource,
  uploads: readonly Upload[],
): Promise<string[]> {
  const { progress } = context;
  progress.phase = 'uploading';
  progress.fileCount = uploads.length;
  progress.totalBytes = uploads.reduce((sum, { file }) => sum + file.size, 0);
  const warnings: string[] = [];
  let before = 0;
  for (const [index, upload] of uploads.entries()) {
    progress.fileIndex = index;
    progress.fileBytes = upload.file.size;
    await send(context, local, upload, before);
    before += upload.file.size;
    progress.sent(before);
    const manifest = await context.session.leaseManifest(context.lease, { signal: context.signal });
    const warning = compare(manifest, upload);
    if (warning !== undefined) warnings.push(warning);
  }
  return warnings;
}

async function send(
  { session, progress, signal, stallMs }: UploadContext,
  local: LocalSource,
  upload: Upload,
  before: number,
): Promise<void> {
  const { item, file, device } = upload;
  const count = byteCounter('template-upload');
  let counted = 0;
  await session.upload(device, {
    method: item.create ? 'PUT' : 'POST',
    ...(item.create ? { overwrite: true } : { contentType: 'application/x-vnd.vmware-streamVmdk' }),
    length: file.size,
    body: openEntry(local.path, file, uploadRing),
    stallMs,
    signal,
    onSent(bytes) {
      progress.sent(before + bytes);
      count(bytes - counted);
      counted = bytes;
    },
  });
}

/**
 * The server's own record of the file against what was inspected. A difference makes the upload worthless; no record is only a
 * warning.
 */
function compare(manifest: readonly LeaseManifestEntry[], { device, file }: Upload): string | undefined {
  const entry = manifest.find(({ key }) => key === device.key);
  if (entry === undefined) return `UPLOAD_UNCONFIRMED: the server has no record of ${file.href}`;
  const digest = entry.sha1 ?? (entry.checksumType?.toLowerCase() === 'sha1' ? entry.checksum : undefined);
  if (entry.size === file.size && (digest === undefined || digest.toLowerCase() === file.sha1)) return undefined;
  throw new OperationError(
    'Unavailable',
    `the server got something else than was sent for ${file.href} (${entry.size} of ${file.size} bytes); it is imported again`,
    {
      code: 'UPLOAD_CORRUPT',
      facts: { file: file.href, sentBytes: file.size, receivedBytes: entry.size },
    },
  );
}
