import { basename } from 'node:path';

import { scanArchive, type ArchiveScan } from './archive.ts';
import { readDescriptor, type OvfDescriptor } from './descriptor.ts';
import type { OvfDisk } from './disks.ts';
import { readEntry } from './entry-reader.ts';
import { Findings } from './findings.ts';
import { MemberDigests, uploadAlgorithm } from './member-digests.ts';
import type { Member } from './member.ts';
import type { InspectionOptions, RunOptions } from './options.ts';
import { findDescriptor, findReferenced } from './package-members.ts';
import { SourceError } from './source-error.ts';
import { redactedUrl } from './source-url.ts';
import { verifyManifest } from './verify-manifest.ts';
import { vmdkProblem } from './vmdk-format.ts';
import { decodeDescriptor, parseXml } from './xml-tree.ts';

/** A file to upload. */
export interface OvaFile {
  readonly id: string;
  /** As in the descriptor; the server's file items name it. */
  readonly href: string;
  /** As in the tar. */
  readonly entryName: string;
  /** Range in the archive. */
  readonly offset: number;
  readonly size: number;
  /** As vCenter tells it of the uploaded file, 40 hex digits. */
  readonly sha1: string;
}

/** Everything an import needs to know about an OVA. */
export interface OvaInspection {
  /** Of the whole file, 64 hex digits. */
  readonly sha256: string;
  readonly size: number;
  readonly descriptor: { readonly name: string; readonly text: string };
  /** Exactly one name. */
  readonly networks: readonly string[];
  /** Those the virtual machine refers to, in the order of the References. */
  readonly files: readonly OvaFile[];
  /** One per disk the virtual machine gets. */
  readonly disks: readonly OvfDisk[];
  /** Absent when no product section has one or several disagree. */
  readonly productVersion?: string;
  readonly secureBoot: boolean;
  readonly virtualSystemType?: string;
  /** Each begins with its code. */
  readonly warnings: readonly string[];
}

export interface InspectOptions extends InspectionOptions, RunOptions {
  /** Another digest is `OVA_SHA256_MISMATCH`. */
  readonly expectedSha256?: string;
  /** How messages call the OVA; default: the file's name. */
  readonly label?: string;
}

/**
 * Reads an OVA once and says what is in it. Pure function of the file; memory stays flat. Fails with `SourceError`, whose
 * codes but the `SOURCE_…` ones mean that no attempt with the same bytes can succeed.
 */
export async function inspectOva(path: string, options: InspectOptions = {}): Promise<OvaInspection> {
  try {
    return await inspect(path, options);
  } catch (error) {
    throw error instanceof SourceError ? error.about(labelFor(path, options.label)) : error;
  }
}

/** A URL is a fitting label once its query is gone. */
function labelFor(path: string, label: string | undefined): string {
  if (label === undefined) return basename(path);
  return /^https?:/i.test(label) ? redactedUrl(label) : label;
}

async function inspect(path: string, options: InspectOptions): Promise<OvaInspection> {
  const findings = new Findings(options.strictOva ?? false);
  const digests = new MemberDigests(path);
  const manifestMode = options.verifyManifest ?? 'if-present';
  const archive = await scanArchive(path, { ...options, tap: digests.tap });
  refuseOtherDigest(archive, options.expectedSha256);
  const member = findDescriptor(archive.members, findings);
  const text = decodeDescriptor(await readEntry(path, member));
  const ovf = readDescriptor(parseXml(text));
  const files = ovf.files.map((file) => ({ ...file, member: findReferenced(file, archive.members, findings) }));
  const needed = files.filter((file) => file.needed);
  if (manifestMode !== 'off') {
    const required = manifestMode === 'require';
    const wanted = needed.map((file) => file.member);
    const check = { path, members: archive.members, descriptor: member, needed: wanted, required, digests };
    await verifyManifest(check, findings, options);
  }
  const diskFiles = new Set(ovf.disks.map((disk) => disk.fileId));
  for (const file of needed.filter(({ id }) => diskFiles.has(id))) {
    const problem = await vmdkProblem(path, file.member);
    if (problem !== undefined)
      findings.odd('VMDK_FORMAT', `disk "${file.member.rawName}" is no stream-optimised VMDK: ${problem}`);
  }
  const productVersion = checkVersion(ovf, options.targetVersion, findings);
  return {
    sha256: archive.sha256,
    size: archive.size,
    descriptor: { name: member.rawName, text },
    networks: ovf.networks,
    files: await uploadsOf(needed, digests, options),
    disks: ovf.disks,
    secureBoot: ovf.secureBoot,
    ...(productVersion === undefined ? {} : { productVersion }),
    ...(ovf.virtualSystemType === undefined ? {} : { virtualSystemType: ovf.virtualSystemType }),
    warnings: findings.warnings,
  };
}

async function uploadsOf(
  needed: readonly { readonly id: string; readonly href: string; readonly member: Member }[],
  digests: MemberDigests,
  options: RunOptions,
): Promise<OvaFile[]> {
  const files = needed.map(async ({ id, href, member }) => {
    const sha1 = await digests.digest(member, uploadAlgorithm, options);
    return { id, href, entryName: member.rawName, offset: member.offset, size: member.size, sha1 };
  });
  return await Promise.all(files);
}

function refuseOtherDigest(archive: ArchiveScan, expected: string | undefined): void {
  if (expected === undefined || archive.sha256 === expected.toLowerCase()) return;
  throw new SourceError(
    'OVA_SHA256_MISMATCH',
    `its sha256 is ${archive.sha256}, the request says ${expected.toLowerCase()}; check which of the two is outdated`,
  );
}

function checkVersion(ovf: OvfDescriptor, target: string | undefined, findings: Findings): string | undefined {
  const [only, ...others] = ovf.productVersions;
  if (target !== undefined && only !== undefined && (others.length > 0 || only !== target)) {
    const found = ovf.productVersions.map((version) => `"${version}"`).join(', ');
    findings.warn(
      'OVF_VERSION_MISMATCH',
      `the descriptor's product version is ${found}, the target version is "${target}"`,
    );
  }
  return others.length === 0 ? only : undefined;
}
